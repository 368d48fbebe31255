// How old a response is when it arrives and how long it is fresh: the arithmetic of RFC 9111 4.2 and FRS-1, FRS-2, STL-1.
//
// Age. The apparent age (our clock at receipt minus Date) counts only if Via shows an HTTP/1.0 hop. An HTTP/1.1 cache must
// send Age with what it answers from its store, so without such a hop Age alone tells how long caches held the response, and
// the apparent age would measure nothing but the difference of two clocks: an origin an hour behind would switch the cache
// off for every lifetime under an hour (FRS-1). An origin ahead of us has no apparent age anyway. Expires is compared with
// the origin's own Date, so its clock cancels out there.
// Threads: pure.
#pragma once

#include <optional>

#include "weir/base/clock.hpp"
#include "weir/cache/policy.hpp"
#include "weir/cache/rules.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

// The response's Date; the time of receipt if there is none, or several, or it does not parse.
base::WallTime date_of(http::Fields response, base::WallTime received) noexcept;
// Valid as a date and single, else nothing.
std::optional<base::WallTime> last_modified_of(http::Fields response, base::WallTime received) noexcept;

// corrected_initial_age of RFC 9111 4.2.3 with the remark above. `request`: just before it was sent. Of several Age lines
// the first valid one counts, of a list its first member (RFC 9111 5.1).
base::Duration initial_age(http::Fields response, base::Now request, base::Now received) noexcept;

struct Lifetime {
  base::Duration value{};      // before jitter; 0 to 2^31 s
  bool is_explicit = false;    // the origin gave an expiration time, even a past or broken one
  bool heuristic = false;
  LifetimeSource source = LifetimeSource::unknown;
};
// FRS-1 without `override_ttl`. Explicit: s-maxage, max-age, Expires minus Date; conflicting or broken ones are 0. Else, where
// the status or `public` permits a guess: a share of the age since Last-Modified, else `default_ttl`.
Lifetime lifetime_from_origin(http::Fields response, int status, Policy const& policy, FreshnessRules const& rules,
                              base::WallTime received);

// FRS-2. `random` in [0, 1).
base::Duration with_jitter(base::Duration lifetime, FreshnessRules const& rules, double random) noexcept;

// STL-1.
struct StaleWindows {
  base::Duration while_revalidate{};
  base::Duration if_error{};
};
StaleWindows stale_windows(http::CacheControl const& directives, int status, FreshnessRules const& rules) noexcept;

// A duration from a setting, within the bounds of a delta (RFC 9111 1.2.2): sums of a few do not overflow.
base::Duration clamp_delta(base::Duration duration) noexcept;

}  // namespace weir::cache
