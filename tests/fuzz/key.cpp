// links: weir_cache
// Two requests, as text with a NUL between: their keys are equal exactly if what is keyed is; and any bytes may be
// described.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/selecting_value.hpp"
#include "weir/http/target.hpp"

namespace {

using namespace weir;

cache::KeyRules const& rules() {
  static cache::KeyRules const rules = [] {
    cache::KeyRules r;
    r.normalize_path = true;
    r.query_sort = true;
    r.query_drop = cache::tracking_parameters();
    r.headers = {"x-tenant", "accept-encoding"};
    r.cookies = {"lang"};
    return r;
  }();
  return rules;
}

// Lines: method, target, host, tenant, cookie; missing ones are absent.
struct Wire {
  std::vector<http::Field> lines;
  http::Request request;
  std::string storage;
  cache::ForwardTarget target;
  cache::KeyBytes key;
  bool good = false;
};

void read(std::string_view text, Wire& wire) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < 5) {
    auto const end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  if (lines.size() < 3 || !http::is_token(lines[0]) || !http::is_host(lines[2])) return;
  auto const target = http::parse_target(lines[1]);
  if (!target) return;
  auto& request = wire.request;
  request.method = lines[0];
  request.method_id = http::method_of(lines[0]);
  request.scheme = target->scheme.empty() ? "http" : target->scheme;
  request.authority = target->authority.empty() ? lines[2] : target->authority;
  request.path = target->path;
  request.query = target->query;
  request.has_query = target->has_query;
  if (lines.size() > 3) wire.lines.push_back({http::FieldId::other, "X-Tenant", http::trim(lines[3])});
  if (lines.size() > 4) wire.lines.push_back({http::FieldId::cookie, "Cookie", http::trim(lines[4])});
  request.fields = wire.lines;
  wire.target = cache::rewrite_target(request, rules(), wire.storage);
  cache::append_primary_key(request, wire.target, rules(), nullptr, wire.key);
  wire.good = true;
}

std::vector<std::string> keyed_parts(Wire const& wire) {
  bool const get = wire.request.method_id == http::Method::get || wire.request.method_id == http::Method::head;
  std::vector<std::string> parts{get ? "" : std::string(wire.request.method),
                                 http::lower(wire.request.scheme),
                                 "",
                                 std::string(wire.target.path),
                                 wire.target.has_query ? "?" : "",
                                 std::string(wire.target.query)};
  http::append_normalized_host(wire.request.authority, parts[1], parts[2]);
  cache::KeyBytes tenant;
  bool const present = cache::append_selecting_value(wire.request.fields, "x-tenant", rules(), tenant);
  parts.emplace_back(present ? "+" : "-");
  parts.emplace_back(cache::view(tenant));
  cache::for_each_cookie(wire.request.fields, [&](cache::Cookie const& cookie) {
    if (cookie.name == "lang") parts.emplace_back(cookie.value);
    return true;
  });
  return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  cache::describe_key(text);
  cache::partition_of(text);

  auto const middle = text.find('\0');
  if (middle == std::string_view::npos) return 0;
  Wire left;
  Wire right;
  read(text.substr(0, middle), left);
  read(text.substr(middle + 1), right);
  if (!left.good || !right.good) return 0;
  WEIR_ASSERT((cache::view(left.key) == cache::view(right.key)) == (keyed_parts(left) == keyed_parts(right)));
  WEIR_ASSERT(!cache::describe_key(cache::view(left.key)).empty());
  return 0;
}
