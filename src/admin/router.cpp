#include "weir/admin/router.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <openssl/crypto.h>

#include "weir/base/hash.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::admin {
namespace {

using http::FieldId;

// Digests are compared, in constant time: neither the length nor a common prefix of the token shows in the time taken.
bool shows_token(http::Request const& request, std::string_view token) {
  constexpr std::string_view scheme = "bearer ";
  auto const value = request.fields.only(FieldId::authorization);
  if (!value || value->size() < scheme.size()) return false;
  if (!http::equal_ignoring_case(value->substr(0, scheme.size()), scheme)) return false;
  auto const shown = base::sha256(http::trim(value->substr(scheme.size())));
  auto const expected = base::sha256(token);
  return CRYPTO_memcmp(shown.data(), expected.data(), expected.size()) == 0;
}

bool is_json(http::Request const& request) {
  auto const value = request.fields.only(FieldId::content_type);
  return value && http::equal_ignoring_case(http::trim(value->substr(0, value->find(';'))), "application/json");
}

Answer unknown_path(http::Request const& request) {
  return problem(404, "unknown-path", "there is no call at " + std::string(request.path));
}

Answer wrong_method(http::Request const& request, std::string allow) {
  Answer answer = problem(405, "wrong-method", std::string(request.path) + " takes " + allow);
  answer.fields.emplace_back("Allow", std::move(allow));
  return answer;
}

Answer token_wanted() {
  Answer answer = problem(401, "token-required", "show the token of admin.token_file as Authorization: Bearer");
  answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

// OBS-5: a page in the operator's browser must not reach a call that changes anything. A browser names the page in Origin,
// and cannot send this media type to another site without asking first.
std::optional<Answer> refuse_change(http::Request const& request) {
  if (request.fields.has(FieldId::origin)) {
    return problem(403, "origin-present", "calls that change anything take no Origin field");
  }
  if (request.has_body() && !is_json(request)) {
    return problem(415, "not-json", "calls that change anything take Content-Type: application/json or an empty body");
  }
  return std::nullopt;
}

// OBS-5: a page can have its own name lead here (DNS rebinding), and then reads our answers as its own. No page is at home
// at this address or at `localhost`.
bool may_be_a_page(http::Request const& request) {
  auto const authority = request.authority;
  bool const bracketed = authority.starts_with('[');
  auto const name = bracketed ? authority.substr(1, authority.find(']') - 1) : authority.substr(0, authority.find(':'));
  if (name.empty() || http::equal_ignoring_case(name, "localhost")) return false;
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  return error.failed();
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    int const high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    int const low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

Answer json(int status, std::string body) { return {.status = status, .body = std::move(body)}; }

Answer problem(int status, std::string_view error, std::string_view detail) {
  boost::json::object const body{{"error", error}, {"detail", observe::valid_utf8(detail)}};
  return json(status, boost::json::serialize(body) + "\n");
}

Router::Routed Router::route(http::Request const& request, std::string_view token, bool browsable) const {
  std::string_view const method = request.method_id == http::Method::head ? "GET" : request.method;
  std::string allow;
  for (auto const& endpoint : endpoints_) {
    if (endpoint.path != request.path) continue;
    if (endpoint.method != method) {
      if (!allow.empty()) allow += ", ";
      allow += endpoint.method == "GET" ? "GET, HEAD" : endpoint.method;
      continue;
    }
    if (endpoint.needs_token && !token.empty() && !shows_token(request, token)) return {.refusal = token_wanted()};
    if (browsable && token.empty() && !endpoint.any_host && may_be_a_page(request))
      return {.refusal = problem(421, "host-is-a-name", "call by an address or localhost, or set admin.token")};
    if (endpoint.changes) {
      if (auto refusal = refuse_change(request)) return {.refusal = *std::move(refusal)};
    }
    return {.endpoint = &endpoint};
  }
  return {.refusal = allow.empty() ? unknown_path(request) : wrong_method(request, std::move(allow))};
}

namespace {

// The raw value of the first `name`, and what is left of the query behind it.
std::optional<std::string_view> take_value(std::string_view& query, std::string_view name) noexcept {
  while (!query.empty()) {
    auto const segment = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), segment.size() + 1));
    auto const equals = segment.find('=');
    if (segment.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string_view() : segment.substr(equals + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  auto const value = take_value(query, name);
  return value ? decode(*value) : std::nullopt;
}

std::optional<std::vector<std::string>> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  while (auto const raw = take_value(query, name)) {
    auto value = decode(*raw);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

}  // namespace weir::admin
