// A policy drawn from two bytes, as the loader would settle it.
#pragma once

#include <utility>

#include "input.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/cache/key.hpp"
#include "weir/config/settings.hpp"

namespace weir::fuzz {

inline config::Policy policy_of(std::uint8_t first, std::uint8_t second) {
  config::Policy policy;
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

}  // namespace weir::fuzz
