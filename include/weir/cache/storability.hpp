// May this response be stored, may it be shared, and for how long is it fresh: RFC 9111 section 3 and SPEC STO-1 to STO-4,
// FRS-1, FRS-2, FRS-4, STL-1. A pure function of request, response head, times and rules; every branch is a row in its
// table test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/facts.hpp"
#include "weir/cache/head.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/rules.hpp"
#include "weir/cache/vary.hpp"
#include "weir/http/message.hpp"

namespace weir::cache {

// Why not; also the label of weir_not_stored_total. `unknown` is the safe first value and is never the answer.
enum class NotStored : std::uint8_t {
  unknown, method, status, partial, no_store, request_no_store, private_, authorization, cookie, set_cookie, vary_star,
  vary_fields, vary_forbidden, no_freshness, too_large, event_stream, identity_forbidden, invalidated, broken, memory,
};
inline constexpr std::size_t not_stored_count = 20;
std::string_view label(NotStored reason) noexcept;  // "request-no-store"

// Who asked, as far as storing depends on it.
struct Requester {
  http::Method method = http::Method::get;
  http::Fields fields;              // as forwarded
  bool has_authorization = false;   // not keyed
  bool has_cookie_credential = false;
  bool no_store = false;            // Cache-Control of the request as it came
  bool identity_forbidden = false;  // KEY-5
  // Of a POST: whose URI the Content-Location must name (RFC 9110 9.3.3). Null: a POST's answer is not stored.
  http::Request const* request = nullptr;
  // COA-12: a read whose route keys its body, asked about as `get`. Its answer is shared while it arrives, whatever it says
  // of freshness, and kept for so long after that; errors only if `keeps_errors`.
  std::optional<base::Duration> kept_for;
  bool keeps_errors = false;
};

struct FetchTimes {
  base::Now request;                // just before the request was sent
  base::Now response;               // when the head was complete
  std::uint64_t purge_number = 0;
  std::uint64_t began = 0;
};

struct Storability {
  bool store = false;               // may be put in the store and given to others under the rules of reuse
  // May be given to those who waited before the head came (COA-17 included: not fresh on arrival but storable). Equals
  // `store` today; named so that readers need not know that.
  bool share = false;
  bool fresh_on_arrival = false;    // only then may newcomers join after the head
  bool keep = true;                 // false: gone with its flight (COA-12)
  NotStored reason = NotStored::unknown;
  // STO-5: leaves a hit-for-miss marker. Not after a request with credentials or a POST, whose answer says nothing about
  // what others get, and not for 500, 502, 503, 504, which go to all who wait (COA-5): a marker would end coalescing in
  // front of an origin in trouble.
  bool response_caused = false;
  Facts facts;                      // etag and last_modified slices are set later, by `build_head`
  VaryNames vary;
  std::vector<std::string> fields_not_stored;  // STO-3: qualified no-cache and private; and Set-Cookie under `strip`
  bool strip_set_cookie = false;    // removed for all, the leader too
};

// `jitter` is a fresh random number in [0, 1). `no-cache` alone counts as freshness information where the status is
// heuristically cacheable: such an answer is stored, never fresh, and shared with those who waited for it (COA-17).
// `override_ttl` (FRS-4) does not apply to answers to credentials, nor to stored Set-Cookie without `ignore_cache_control`;
// it overrules `no-cache`. `ignore_cache_control` lifts neither the rules for credentials nor `set_cookie`.
Storability storability(Requester const& requester, http::Response const& response, FetchTimes const& times,
                        KeyRules const& key, StorableRules const& storable, FreshnessRules const& freshness, double jitter);

// The same for a stored response that this 304 validated (`not_modified_matches` said yes), as RFC 9111 4.3.4 freshens it:
// directives and Vary of the merged fields, age and Date of the 304.
Storability storability_freshened(Requester const& requester, std::string_view stored_head, Facts const& stored,
                                  http::Response const& not_modified, FetchTimes const& times, KeyRules const& key,
                                  StorableRules const& storable, FreshnessRules const& freshness, double jitter);

}  // namespace weir::cache
