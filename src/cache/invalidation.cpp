#include "weir/cache/invalidation.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/container/small_vector.hpp>

#include "weir/http/target.hpp"

namespace weir::cache {
namespace {

// RFC 3986 5.2.4, of a path that begins with '/'.
std::string without_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    auto const end = std::min(path.find('/', 1), path.size());
    auto const segment = path.substr(0, end);
    path.remove_prefix(end);
    bool const up = segment == "/..";
    if (up) out.resize(out.empty() ? 0 : out.rfind('/'));
    if (!up && segment != "/.")
      out += segment;
    else if (path.empty())
      out += '/';
  }
  return out;
}

bool is_scheme(std::string_view text) noexcept {
  if (text.empty() || !((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z')) return false;
  for (char const c : text) {
    bool const alphanumeric = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
    if (!alphanumeric && c != '+' && c != '-' && c != '.') return false;
  }
  return true;
}

bool same_host(std::string_view a, std::string_view b, std::string_view scheme) {
  boost::container::small_vector<char, 256> left;
  boost::container::small_vector<char, 256> right;
  std::string_view const known = http::equal_ignoring_case(scheme, "https") ? "https" : "http";
  http::append_normalized_host(a, known, left);
  http::append_normalized_host(b, known, right);
  return left == right;
}

struct Reference {
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};

Reference split(std::string_view rest) noexcept {
  auto const mark = rest.find('?');
  if (mark == std::string_view::npos) return {.path = rest, .query = {}};
  return {.path = rest.substr(0, mark), .query = rest.substr(mark + 1), .has_query = true};
}

// RFC 3986 5.2.2 against the request's URI. Nothing for another origin and for what no request could ask.
std::optional<UriParts> resolve_same_origin(http::Request const& request, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  if (auto const colon = reference.find_first_of(":/?"); colon != std::string_view::npos && reference[colon] == ':') {
    auto const scheme = reference.substr(0, colon);
    if (!is_scheme(scheme) || !http::equal_ignoring_case(scheme, request.scheme)) return std::nullopt;
    reference.remove_prefix(colon + 1);
    if (!reference.starts_with("//")) return std::nullopt;
  }
  bool const names_host = reference.starts_with("//");
  if (names_host) {
    auto const rest = reference.substr(2);
    auto const end = std::min(rest.find_first_of("/?"), rest.size());
    auto const authority = rest.substr(0, end);
    if (!http::is_host(authority) || !same_host(authority, request.authority, request.scheme)) return std::nullopt;
    reference = rest.substr(end);
  }

  auto const parts = split(reference);
  UriParts uri{.path = {}, .query = std::string(parts.query), .has_query = parts.has_query};
  if (parts.path.empty() && !names_host) {
    uri.path = request.path;
    if (!parts.has_query) {
      uri.query = request.query;
      uri.has_query = request.has_query;
    }
  } else if (parts.path.empty()) {
    uri.path = "/";
  } else if (parts.path.front() == '/') {
    uri.path = without_dot_segments(parts.path);
  } else {
    auto const directory = request.path.substr(0, request.path.rfind('/') + 1);
    uri.path = without_dot_segments(std::string(directory.empty() ? "/" : directory).append(parts.path));
  }
  std::string const target = uri.has_query ? uri.path + "?" + uri.query : uri.path;
  auto const parsed = http::parse_target(target);
  if (!parsed || parsed->form != http::TargetForm::origin) return std::nullopt;
  return uri;
}

}  // namespace

bool invalidates(http::Method method, int status) noexcept {
  return !http::is_safe(method) && status >= 200 && status <= 399;
}

std::vector<UriParts> invalidated_locations(http::Request const& request, http::Response const& response) {
  std::vector<UriParts> uris;
  for (auto const id : std::array{http::FieldId::location, http::FieldId::content_location}) {
    auto const reference = response.fields.only(id);
    if (!reference) continue;
    if (auto uri = resolve_same_origin(request, *reference)) uris.push_back(std::move(*uri));
  }
  return uris;
}

bool content_location_is_target(http::Request const& request, http::Response const& response) {
  auto const reference = response.fields.only(http::FieldId::content_location);
  if (!reference) return false;
  auto const uri = resolve_same_origin(request, *reference);
  return uri && uri->path == request.path && uri->has_query == request.has_query && uri->query == request.query;
}

}  // namespace weir::cache
