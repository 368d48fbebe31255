// "May I reuse this": RFC 9111 section 4 and SPEC FRS, SRV-5, STL-1, STL-2, COA-14, MODE-1 in one pure function, and nowhere
// else. Whether the variant fits (Vary) was decided by the look-up. Every branch is a row in its table test.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/cache/facts.hpp"
#include "weir/cache/mode.hpp"
#include "weir/cache/rules.hpp"
#include "weir/http/cache_control.hpp"
#include "weir/http/message.hpp"

namespace weir::cache {

// What was said about an entry after it was stored: the strongest invalidation with a number above the entry's, and when.
enum class Invalidation : std::uint8_t { hard, invalid, soft, none };
struct Overrule {
  Invalidation mode = Invalidation::none;
  base::SteadyTime at{};  // soft: stale from then, the windows run from then
};

// The request as far as reuse depends on it. Built once; Cache-Control is parsed only if the field is there.
struct Asker {
  bool has_authorization = false;
  bool has_cookie_credential = false;
  bool only_if_cached = false;
  bool no_store = false;
  bool no_cache = false;  // with `client.honor_revalidation`; and with If-Match or If-Unmodified-Since, whatever that says
  // Only with `client.honor_revalidation`:
  std::optional<http::DeltaSeconds> max_age, min_fresh, max_stale;
  bool max_stale_any = false;
};
// `has_authorization` is set for any Authorization field: a caller whose key names it clears it again (COA-8).
Asker asker_of(http::Request const& request, bool has_cookie_credential, ClientRules const& rules);

enum class Verdict : std::uint8_t {
  must_validate,           // usable only after the origin said 304 (or sent anew); see `stale_if_error`
  unusable,                // not for this asker, or gone: as if nothing were stored
  stale_while_revalidate,  // serve now, refresh in the background
  stale_allowed,           // the client's max-stale permits it
  fresh,
};
// Also the word for logs and explain.
enum class ReuseReason : std::uint8_t {
  unknown,
  fresh,
  expired,
  no_cache,
  invalidated,
  purged,
  soft_purged,
  request_no_cache,
  request_max_age,
  request_min_fresh,
  request_max_stale,
  within_stale_while_revalidate,
  authorization,
  cookie,
  bypass_mode,
};
std::string_view label(ReuseReason reason) noexcept;
std::string_view label(Verdict verdict) noexcept;
std::string_view label(Invalidation mode) noexcept;

struct Reuse {
  Verdict verdict = Verdict::must_validate;
  ReuseReason reason = ReuseReason::unknown;
  base::Duration age{};            // current_age (RFC 9111 4.2.3)
  base::Duration ttl{};            // lifetime - age; negative: stale for so long
  bool stale_if_error = false;     // may be served when the origin fails now (STL-2, MODE-1)
  bool stale_in_incident = false;  // that only because of the mode
};

Reuse reuse(Asker const& asker, Facts const& facts, Overrule const& overrule, base::Now now, Mode mode) noexcept;

base::Duration current_age(Facts const& facts, base::SteadyTime now) noexcept;
// FRS-3: past 75 % of its lifetime; before that no hit asks for a refresh.
bool nears_expiry(Facts const& facts, base::SteadyTime now) noexcept;
// FRS-3: how likely a hit starts a refresh now, 0 to 1.
double early_refresh_chance(Facts const& facts, base::SteadyTime now) noexcept;
// FRS-3: `random` in (0, 1].
bool wants_early_refresh(Facts const& facts, base::SteadyTime now, double random) noexcept;

}  // namespace weir::cache
