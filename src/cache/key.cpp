#include "weir/cache/key.hpp"

#include <algorithm>

#include "parts.hpp"
#include "weir/base/hash.hpp"
#include "weir/http/target.hpp"

namespace weir::cache {
namespace {

void append_lower(std::string_view text, Bytes& out) {
  auto* at = make_room(text.size(), out);
  for (char const c : text) *at++ = http::to_lower(c);
}

void append_url(std::string_view scheme, std::string_view authority, ForwardTarget const& target, Bytes& out) {
  if (scheme == "http" || scheme == "https") {
    append_part(tag::scheme, scheme, out);
  } else {
    auto const begin = begin_part(tag::scheme, out);
    append_lower(scheme, out);
    end_part(begin, out);
  }
  if (http::is_normalized_host(authority)) {
    append_part(tag::host, authority, out);
  } else {
    // The default port is that of the scheme in lower case.
    std::string_view const known = http::equal_ignoring_case(scheme, "https") ? "https" : "http";
    auto const begin = begin_part(tag::host, out);
    http::append_normalized_host(authority, known, out);
    end_part(begin, out);
  }
  append_part(tag::path, target.path, out);
  if (target.has_query) append_part(tag::query, target.query, out);
}

void append_value_if_present(char part_tag, http::Fields fields, std::string_view name, KeyRules const& rules, Bytes& out) {
  auto const before = out.size();
  auto const begin = begin_part(part_tag, out);
  if (append_selecting_value(fields, name, rules, out)) {
    end_part(begin, out);
  } else {
    out.resize(before);
  }
}

void append_keyed_cookie(http::Fields fields, std::string_view name, Bytes& out) {
  append_part(tag::cookie, name, out);
  for_each_cookie(fields, [&](Cookie const& cookie) {
    if (cookie.name == name) append_part(tag::value, cookie.value, out);
    return true;
  });
}

// For people: bytes that are no printable ASCII as \xNN.
void append_printable(std::string_view bytes, std::string& out) {
  static constexpr char digits[] = "0123456789abcdef";
  for (char const c : bytes) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
}

void describe_part(Part const& part, std::string& out) {
  switch (part.tag) {
    case tag::get:
      out += "GET ";
      return;
    case tag::method:
      append_printable(part.bytes, out);
      out += ' ';
      return;
    case tag::scheme:
      append_printable(part.bytes, out);
      out += "://";
      return;
    case tag::host:
    case tag::path:
      append_printable(part.bytes, out);
      return;
    case tag::query:
      out += '?';
      append_printable(part.bytes, out);
      return;
    case tag::header:
    case tag::selecting:
      out += ' ';
      append_printable(part.bytes, out);
      return;
    case tag::cookie:
      out += " cookie:";
      append_printable(part.bytes, out);
      return;
    case tag::value:
      out += '=';
      append_printable(part.bytes, out);
      return;
    case tag::content_type:
      out += " content-type=";
      append_printable(part.bytes, out);
      return;
    case tag::content_encoding:
      out += " content-encoding=";
      append_printable(part.bytes, out);
      return;
    case tag::digest:
      out += " body=";
      out += base::to_hex(part.bytes);
      return;
    default:
      return;
  }
}

}  // namespace

void append_primary_key(http::Request const& request, http::Fields fields, ForwardTarget const& target,
                        KeyRules const& rules, BodyDigest const* digest, KeyBytes& out) {
  bool const get = request.method_id == http::Method::get || request.method_id == http::Method::head;
  append_part(get ? tag::get : tag::method, get ? std::string_view() : request.method, out);
  append_url(request.scheme, request.authority, target, out);
  for (auto const& name : rules.headers) {
    append_part(tag::header, name, out);
    append_value_if_present(tag::value, fields, name, rules, out);
  }
  for (auto const& name : rules.cookies) append_keyed_cookie(fields, name, out);
  if (digest != nullptr) {
    append_part(tag::digest, {reinterpret_cast<char const*>(digest->data()), digest->size()}, out);
    append_value_if_present(tag::content_type, fields, "content-type", rules, out);
    append_value_if_present(tag::content_encoding, fields, "content-encoding", rules, out);
  }
}

void append_url_key(std::string_view scheme, std::string_view authority, ForwardTarget const& target, KeyBytes& out) {
  append_part(tag::get, {}, out);
  append_url(scheme, authority, target, out);
}

KeyUrl url_of(std::string_view key) noexcept {
  KeyUrl url;
  while (auto const part = take_part(key)) {
    if (part->tag == tag::scheme) url.scheme = part->bytes;
    if (part->tag == tag::host) url.authority = part->bytes;
    if (part->tag == tag::path) url.path = part->bytes;
    if (part->tag == tag::query) {
      url.query = part->bytes;
      url.has_query = true;
    }
  }
  return url;
}

std::string_view url_part(std::string_view key) noexcept {
  auto rest = key;
  auto size = std::size_t{0};
  while (auto const part = take_part(rest)) {
    bool const of_url = part->tag == tag::get || part->tag == tag::method || part->tag == tag::scheme ||
                        part->tag == tag::host || part->tag == tag::path || part->tag == tag::query;
    if (!of_url) break;
    size = key.size() - rest.size();
  }
  return key.substr(0, size);
}

std::string describe_key(std::string_view key) {
  std::string out;
  while (auto const part = take_part(key)) describe_part(*part, out);
  return out;
}

std::vector<std::pair<std::string, std::optional<std::string>>> key_parts(std::string_view key) {
  std::vector<std::pair<std::string, std::optional<std::string>>> parts;
  while (auto const part = take_part(key)) {
    std::string text;
    append_printable(part->bytes, text);
    switch (part->tag) {
      case tag::get:
        parts.emplace_back("method", "GET");
        break;
      case tag::method:
        parts.emplace_back("method", std::move(text));
        break;
      case tag::scheme:
        parts.emplace_back("scheme", std::move(text));
        break;
      case tag::host:
        parts.emplace_back("host", std::move(text));
        break;
      case tag::path:
        parts.emplace_back("path", std::move(text));
        break;
      case tag::query:
        parts.emplace_back("query", std::move(text));
        break;
      case tag::header:
        parts.emplace_back("header " + text, std::nullopt);
        break;
      case tag::cookie:
        parts.emplace_back("cookie " + text, std::nullopt);
        break;
      case tag::value: {
        if (parts.empty()) break;
        auto& value = parts.back().second;
        value = value ? *value + ", " + text : std::move(text);
        break;
      }
      case tag::digest:
        parts.emplace_back("body", base::to_hex(part->bytes));
        break;
      case tag::content_type:
        parts.emplace_back("content-type", std::move(text));
        break;
      case tag::content_encoding:
        parts.emplace_back("content-encoding", std::move(text));
        break;
      default:
        break;
    }
  }
  return parts;
}

std::string partition_of(std::string_view key) {
  std::string out;
  out.reserve(key.size());
  while (auto const part = take_part(key)) {
    if (part->tag == tag::scheme)
      out.append(part->bytes).append("://");
    else if (part->tag == tag::host || part->tag == tag::path)
      out += part->bytes;
    if (part->tag == tag::path) break;
  }
  return out;
}

bool has_authorization_credential(http::Fields request, KeyRules const& rules) noexcept {
  return request.has(http::FieldId::authorization) &&
         std::ranges::none_of(rules.headers, [](auto const& name) { return name == "authorization"; });
}

}  // namespace weir::cache
