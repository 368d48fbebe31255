// links: weir_proxy
// Cookie lines, and what becomes of them: read as by a plain reader, whatever is ignored reaches neither key nor origin, and
// nothing that is forwarded without being keyed goes unnoticed as a credential (FWD-3, KEY-4).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/proxy/rebuild.hpp"
#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/cookies.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

struct Read {
  std::string text, name, value;
  bool operator==(Read const&) const = default;
};

std::string trimmed(std::string const& text) {
  auto const from = text.find_first_not_of(" \t");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::vector<Read> read_plainly(std::vector<http::Field> const& lines) {
  std::vector<Read> cookies;
  for (auto const& line : lines) {
    std::string rest(line.value);
    for (std::size_t end = 0; end != std::string::npos; rest.erase(0, end + 1)) {
      end = rest.find(';');
      auto const text = trimmed(rest.substr(0, end));
      auto const equals = text.find('=');
      if (!text.empty())
        cookies.push_back({text, equals == std::string::npos ? "" : text.substr(0, equals),
                           equals == std::string::npos ? "" : text.substr(equals + 1)});
      if (end == std::string::npos) break;
    }
  }
  return cookies;
}

std::vector<Read> read(http::Fields fields) {
  std::vector<Read> cookies;
  cache::for_each_cookie(fields, [&](cache::Cookie const& cookie) {
    cookies.push_back({std::string(cookie.text), std::string(cookie.name), std::string(cookie.value)});
    return true;
  });
  return cookies;
}

config::Policy policy_of(std::uint8_t flags) {
  config::Policy policy;
  if (bit(flags, 0)) policy.key.cookies = {"lang", "currency"};
  if (bit(flags, 1)) policy.cookies.ignore = cache::analytics_cookies();
  if (bit(flags, 2)) policy.cookies.mode = cache::CookieMode::ignore;
  if (bit(flags, 3)) policy.forward.mode = config::ForwardMode::strict;
  policy.cookies.only_keyed = bit(flags, 3) && !bit(flags, 2);
  return policy;
}

http::Request request_of(std::vector<http::Field> const& fields) {
  http::Request request;
  request.method = "GET";
  request.method_id = http::Method::get;
  request.scheme = "http";
  request.authority = "shop.example";
  request.path = "/";
  request.fields = fields;
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const policy = policy_of(take_byte(text));
  std::vector<http::Field> lines;
  while (!text.empty() && lines.size() < 16) {
    auto const value = take(text, '\n');
    if (http::is_field_value(value)) lines.push_back({http::FieldId::cookie, "Cookie", http::trim(value)});
  }
  auto const cookies = read(http::Fields(lines));
  WEIR_ASSERT(cookies == read_plainly(lines));

  std::vector<http::Field> stay;
  bool credential = false;
  for (auto const& cookie : cookies) {
    auto const use = cache::use_of({cookie.text, cookie.name, cookie.value}, policy.key, policy.cookies);
    credential = credential || use == cache::CookieUse::credential;
    if (use != cache::CookieUse::ignored) stay.push_back({http::FieldId::cookie, "Cookie", cookie.text});
  }
  WEIR_ASSERT(cache::classify_cookies(http::Fields(lines), policy.key, policy.cookies).has_credential == credential);

  proxy::test::Trip const whole(request_of(lines), policy, false);
  proxy::test::Trip const without(request_of(stay), policy, false);
  WEIR_ASSERT(cache::view(whole.key) == cache::view(without.key));
  WEIR_ASSERT(proxy::test::head_without_id(whole.forward) == proxy::test::head_without_id(without.forward));
  auto const forwarded = read(whole.forward.fields.fields());
  for (auto const& cookie : forwarded) {
    bool const keyed = std::ranges::find(policy.key.cookies, cookie.name) != policy.key.cookies.end();
    WEIR_ASSERT(std::ranges::find(cookies, cookie) != cookies.end());
    WEIR_ASSERT(keyed || credential);
  }
  if (policy.forward.mode != config::ForwardMode::strict) WEIR_ASSERT(forwarded == read(http::Fields(stay)));

  // FWD-7: a fetch for nobody has none but the keyed ones.
  proxy::test::Trip const for_nobody(request_of(lines), policy, false, proxy::ForwardAs::background);
  for (auto const& cookie : read(for_nobody.forward.fields.fields()))
    WEIR_ASSERT(std::ranges::find(policy.key.cookies, cookie.name) != policy.key.cookies.end());
  return 0;
}
