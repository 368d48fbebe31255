#include "weir/cache/cookies.hpp"

#include <algorithm>

namespace weir::cache {
namespace {

bool is_keyed(Cookie const& cookie, std::span<std::string const> keyed) noexcept {
  return !cookie.name.empty() && std::ranges::any_of(keyed, [&](auto const& name) { return name == cookie.name; });
}

bool is_ignored(Cookie const& cookie, CookieRules const& rules) noexcept {
  if (rules.mode == CookieMode::ignore || rules.only_keyed) return true;
  return !cookie.name.empty() && std::ranges::any_of(rules.ignore, [&](auto const& p) { return p.matches(cookie.name); });
}

}  // namespace

CookieUse use_of(Cookie const& cookie, KeyRules const& key, CookieRules const& cookies) noexcept {
  if (is_keyed(cookie, key.cookies)) return CookieUse::keyed;
  if (is_ignored(cookie, cookies)) return CookieUse::ignored;
  // COA-8: where the whole field is keyed, equal credentials share.
  bool const all_keyed = std::ranges::any_of(key.headers, [](auto const& name) { return name == "cookie"; });
  return all_keyed ? CookieUse::keyed : CookieUse::credential;
}

CookieView classify_cookies(http::Fields request, KeyRules const& key, CookieRules const& cookies) noexcept {
  CookieView view;
  for_each_cookie(request, [&](Cookie const& cookie) {
    view.has_credential = use_of(cookie, key, cookies) == CookieUse::credential;
    return !view.has_credential;
  });
  return view;
}

std::vector<NamePattern> const& analytics_cookies() {
  static std::vector<NamePattern> const names{
      {"_ga", true},   {"_gid", false}, {"_gat", true}, {"_gcl_", true}, {"_fbp", false},
      {"_fbc", false}, {"__utm", true}, {"_hj", true},  {"_pk_", true},
  };
  return names;
}

}  // namespace weir::cache
