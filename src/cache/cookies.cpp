#include "weir/cache/cookies.hpp"

#include <algorithm>

namespace weir::cache {
namespace {

bool is_keyed(Cookie const& cookie, std::span<std::string const> keyed) noexcept {
  return !cookie.name.empty() && std::ranges::any_of(keyed, [&](auto const& name) { return name == cookie.name; });
}

bool is_ignored(Cookie const& cookie, CookieRules const& rules) noexcept {
  if (rules.mode == CookieMode::ignore) return true;
  return !cookie.name.empty() && std::ranges::any_of(rules.ignore, [&](auto const& p) { return p.matches(cookie.name); });
}

}  // namespace

CookieView classify_cookies(http::Fields request, KeyRules const& key, CookieRules const& cookies) noexcept {
  CookieView view;
  for_each_cookie(request, [&](Cookie const& cookie) {
    view.has_credential = !is_keyed(cookie, key.cookies) && !is_ignored(cookie, cookies);
    return !view.has_credential;
  });
  return view;
}

std::string forwarded_cookies(http::Fields request, CookieRules const& cookies, std::span<std::string const> keyed) {
  std::string out;
  for_each_cookie(request, [&](Cookie const& cookie) {
    if (is_keyed(cookie, keyed) || !is_ignored(cookie, cookies)) {
      if (!out.empty()) out += "; ";
      out += cookie.text;
    }
    return true;
  });
  return out;
}

std::vector<NamePattern> const& analytics_cookies() {
  static std::vector<NamePattern> const names{
      {"_ga", true},   {"_gid", false}, {"_gat", true}, {"_gcl_", true}, {"_fbp", false},
      {"_fbc", false}, {"__utm", true}, {"_hj", true},  {"_pk_", true},
  };
  return names;
}

}  // namespace weir::cache
