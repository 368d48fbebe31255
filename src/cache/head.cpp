#include "weir/cache/head.hpp"

#include <algorithm>
#include <charconv>

#include "weir/cache/freshness.hpp"
#include "weir/http/date.hpp"
#include "weir/http/etag.hpp"

namespace weir::cache {
namespace {

using http::FieldId;

// RFC 9110 7.6.1, RFC 9111 3.1; framing belongs to whoever sends the head, Date and Via are written anew.
bool is_never_kept(FieldId id) noexcept {
  switch (id) {
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::te:
    case FieldId::trailer:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authentication_info:
    case FieldId::proxy_authorization:
    case FieldId::content_length:
    case FieldId::weir_cache_control:
      return true;
    default:
      return false;
  }
}

bool is_surrogate_tag(FieldId id) noexcept {
  return id == FieldId::surrogate_key || id == FieldId::cache_tag || id == FieldId::cache_groups;
}

bool is_named(std::vector<std::string> const* names, std::string_view name) noexcept {
  return names != nullptr &&
         std::ranges::any_of(*names, [&](auto const& other) { return http::equal_ignoring_case(other, name); });
}

bool is_kept(http::Field const& field, http::Fields all, HeadOptions const& options) noexcept {
  if (is_never_kept(field.id) || field.id == FieldId::date) return false;
  if (options.for_store && field.id == FieldId::age) return false;
  if (!options.expose_tags && is_surrogate_tag(field.id)) return false;
  if (is_named(options.without, field.name) || all.list_contains(FieldId::connection, field.name)) return false;
  return http::is_token(field.name) && http::is_field_value(field.value);
}

Slice append_line(std::string_view name, std::string_view value, std::string& out) {
  out.append(name).append(": ");
  Slice const slice{.offset = static_cast<std::uint32_t>(out.size()), .size = static_cast<std::uint32_t>(value.size())};
  out.append(value).append("\r\n");
  return slice;
}

void append_date_line(http::Fields fields, base::WallTime received, std::string& out) {
  auto const given = fields.only(FieldId::date);
  if (given && http::parse_date(*given, received)) {
    append_line("Date", *given, out);
    return;
  }
  char text[http::date_size];
  http::write_date(received, text);
  append_line("Date", {text, sizeof text}, out);
}

// `from`: what the fields that were received came in, for Via.
void append_fields(http::Fields fields, int from_version, HeadOptions const& options, base::WallTime received, Facts* facts,
                   std::string& out) {
  if (facts != nullptr) facts->etag = facts->last_modified = {};
  append_date_line(fields, received, out);
  for (auto const& field : fields) {
    if (!is_kept(field, fields, options)) continue;
    auto const slice = append_line(field.name, field.value, out);
    if (facts == nullptr) continue;
    // The first line counts, empty or not; nothing stands at offset 0 but the status line.
    if (field.id == FieldId::etag && facts->etag.offset == 0) facts->etag = slice;
    if (field.id == FieldId::last_modified && last_modified_of(fields, received)) facts->last_modified = slice;
  }
  append_line("Via", from_version == 10 ? "1.0 weir" : "1.1 weir", out);
}

// What a 304 may not say about a stored body: how it is coded and cut, and the digest of its bytes (RFC 9111 3.2; the
// Content-Digest of a 304 is that of its own content, which is none: RFC 9530 2).
bool is_body_bound(http::Field const& field) noexcept {
  if (field.id == FieldId::content_encoding || field.id == FieldId::content_range) return true;
  return http::equal_ignoring_case(field.name, "content-md5") || http::equal_ignoring_case(field.name, "content-digest");
}

bool contains_name(http::Fields fields, http::Field const& field) noexcept {
  if (field.id != FieldId::other) return fields.has(field.id);
  return std::ranges::any_of(fields, [&](auto const& other) { return http::equal_ignoring_case(other.name, field.name); });
}

}  // namespace

std::string build_head(http::Response const& response, HeadOptions const& options, base::WallTime received, Facts* facts) {
  auto const reason = http::is_field_value(response.reason) ? response.reason : http::reason_phrase(response.status);
  std::string out;
  out.reserve(500);
  out += "HTTP/1.1 ";
  out.append(std::to_string(response.status)).append(" ").append(reason).append("\r\n");
  append_fields(response.fields, response.version, options, received, facts, out);
  return out;
}

std::vector<http::Field> freshened_fields(std::string_view stored_head, http::Fields not_modified) {
  auto const stored = parse_head_fields(stored_head);
  bool const has_etag = http::Fields(stored).has(FieldId::etag);
  auto const updates = [&](http::Field const& field) {
    return !is_body_bound(field) && !is_never_kept(field.id) && !(has_etag && field.id == FieldId::etag) &&
           !not_modified.list_contains(FieldId::connection, field.name);
  };
  std::vector<http::Field> merged;
  // Date and Via tell of the exchange, which is now the 304's.
  for (auto const& field : stored) {
    bool const replaced =
        field.id == FieldId::date || field.id == FieldId::via || (updates(field) && contains_name(not_modified, field));
    if (!replaced) merged.push_back(field);
  }
  for (auto const& field : not_modified) {
    if (updates(field) || field.id == FieldId::weir_cache_control) merged.push_back(field);
  }
  return merged;
}

std::string freshen_head(std::string_view stored_head, http::Response const& not_modified, HeadOptions const& options,
                         base::WallTime received, Facts* facts) {
  std::string out(stored_head.substr(0, stored_head.find("\r\n")));
  out += "\r\n";
  append_fields(freshened_fields(stored_head, not_modified.fields), not_modified.version, options, received, facts, out);
  return out;
}

bool not_modified_matches(std::string_view stored_etag, std::string_view stored_last_modified,
                          http::Response const& not_modified) noexcept {
  auto const etag = not_modified.fields.first(FieldId::etag);
  auto const modified = not_modified.fields.first(FieldId::last_modified);
  if (!etag) return !modified || stored_last_modified.empty() || *modified == stored_last_modified;
  if (stored_etag.empty()) return !http::is_strong_etag(*etag);
  return http::weak_match(stored_etag, *etag);
}

bool head_is_about(std::string_view stored_etag, std::string_view stored_last_modified, std::uint64_t stored_size,
                   http::Response const& head) noexcept {
  auto const etag = head.fields.first(FieldId::etag);
  if (etag && !http::weak_match(stored_etag, *etag)) return false;
  auto const modified = head.fields.first(FieldId::last_modified);
  if (modified && *modified != stored_last_modified) return false;
  return !head.fields.has(FieldId::content_length) || head.framing.length == stored_size;
}

int parse_head_status(std::string_view head) noexcept {
  int status = 0;
  auto const space = head.substr(0, head.find("\r\n")).find(' ');
  if (space == std::string_view::npos) return 0;
  auto const result = std::from_chars(head.data() + space + 1, head.data() + head.size(), status);
  return result.ec == std::errc() && status >= 100 && status <= 999 ? status : 0;
}

std::vector<http::Field> parse_head_fields(std::string_view head) {
  std::vector<http::Field> fields;
  auto const next_line = [&head]() {
    auto const end = head.find("\r\n");
    auto const line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 2);
    return line;
  };
  next_line();
  while (!head.empty()) {
    auto const line = next_line();
    auto const colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    auto const name = line.substr(0, colon);
    fields.push_back({.id = http::field_id(name), .name = name, .value = http::trim(line.substr(colon + 1))});
  }
  return fields;
}

}  // namespace weir::cache
