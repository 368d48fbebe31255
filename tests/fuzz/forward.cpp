// links: weir_proxy
// A policy, drawn from the first bytes, and a request as text: in strict mode the key can be rebuilt from the forwarded
// request alone and nothing else is in it; in every mode a variant is selected by what the origin got (FWD-2, KEY-6).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../unit/proxy/rebuild.hpp"
#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"

namespace {

using namespace weir;

std::string_view take(std::string_view& text, char end) {
  auto const at = text.find(end);
  auto const part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

// As the loader would settle it.
config::Policy policy_of(std::uint8_t first, std::uint8_t second) {
  config::Policy policy;
  auto const bit = [](std::uint8_t byte, int n) { return (byte >> n & 1) != 0; };
  policy.forward.mode = bit(first, 0)   ? config::ForwardMode::strict
                        : bit(first, 1) ? config::ForwardMode::all
                                        : config::ForwardMode::guarded;
  for (auto const& [n, name] : {std::pair{2, "x-tenant"}, {3, "accept-language"}, {4, "cookie"}, {5, "authorization"}})
    if (bit(first, n)) policy.key.headers.emplace_back(name);
  if (bit(first, 6)) policy.key.cookies = {"lang", "cur"};
  if (bit(first, 7)) policy.key.languages = {"de", "en"};
  policy.key.normalize_path = bit(second, 0);
  policy.key.query_sort = bit(second, 1);
  if (bit(second, 2)) policy.key.query_drop = cache::tracking_parameters();
  if (bit(second, 3)) policy.cookies.mode = cache::CookieMode::ignore;
  if (bit(second, 4)) policy.cookies.ignore = cache::analytics_cookies();
  if (bit(second, 5)) policy.forward.allow = {"x-kind", "user-agent"};
  if (bit(second, 6)) policy.headers.request.set = {{"X-Kind", "set"}};
  policy.cookies.only_keyed = bit(first, 0) && !bit(first, 4) && !bit(second, 3);
  return policy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2) return 0;
  auto const policy = policy_of(data[0], data[1]);
  std::string_view text(reinterpret_cast<char const*>(data) + 2, size - 2);
  http::Request request;
  request.method = "GET";
  request.method_id = http::Method::get;
  request.scheme = size % 2 == 0 ? "http" : "https";
  auto const line = take(text, '\n');
  auto const target = http::parse_target(line);
  auto const host = take(text, '\n');
  if (!target || target->form != http::TargetForm::origin || !http::is_host(host)) return 0;
  request.authority = host;
  request.path = target->path;
  request.query = target->query;
  request.has_query = target->has_query;
  std::vector<http::Field> came;
  while (!text.empty() && came.size() < 100) {
    auto value = take(text, '\n');
    auto const name = take(value, ':');
    if (http::is_token(name) && http::is_field_value(value)) came.push_back({http::field_id(name), name, http::trim(value)});
  }
  std::vector<http::Field> edited;
  proxy::edit_fields(came, policy.headers.request, edited);
  request.fields = edited;

  proxy::test::Trip const trip(request, policy, size % 3 == 0);
  if (policy.forward.mode == config::ForwardMode::strict) {
    WEIR_ASSERT(proxy::test::key_from_forwarded(trip.forward, policy.key) == cache::view(trip.key));
    WEIR_ASSERT(proxy::test::stowaway(trip.forward, policy).empty());
  }
  for (auto const& field : came) {
    if (field.id == http::FieldId::forwarded || field.id == http::FieldId::x_request_id) continue;
    auto const name = http::lower(field.name);
    WEIR_ASSERT(proxy::test::selecting_value(trip.seen, name, policy.key) ==
                proxy::test::selecting_value(trip.forward.fields.fields(), name, policy.key));
  }
  return 0;
}
