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
  NotStored reason = NotStored::unknown;
  bool response_caused = false;     // STO-5: leaves a hit-for-miss marker
  Facts facts;                      // etag and last_modified slices are set later, by `build_head`
  VaryNames vary;
  std::vector<std::string> fields_not_stored;  // STO-3: qualified no-cache and private; and Set-Cookie under `strip`
  bool strip_set_cookie = false;    // removed for all, the leader too
};

// `jitter` is a fresh random number in [0, 1). `body_length`: known complete length, if any (for max_object).
Storability storability(Requester const& requester, http::Response const& response, FetchTimes const& times,
                        KeyRules const& key, StorableRules const& storable, FreshnessRules const& freshness, double jitter);

// The head as stored and sent (status line and field lines, no blank line): without hop-by-hop fields, those named in
// Connection, proxy authentication fields, Age, Content-Length, Transfer-Encoding, Weir-Cache-Control, surrogate tags
// unless `expose_tags`, and `without`. Adds Date (of receipt) if there is none and "Via: <version> weir". Framing fields are
// not in it: whoever sends it adds them. `facts` gets the slices of ETag and Last-Modified, if given.
struct HeadOptions {
  std::vector<std::string> const* without = nullptr;
  bool for_store = true;            // false: Age stays (a response that is passed on, not stored)
  bool expose_tags = false;
};
std::string build_head(http::Response const& response, HeadOptions const& options, base::WallTime received, Facts* facts);

// RFC 9111 4.3.4: the stored head updated by a 304's fields (never framing, coding, Content-Type-changing length fields),
// Date and the rest replaced. `stored_head` as `build_head` made it.
std::string freshen_head(std::string_view stored_head, http::Response const& not_modified, HeadOptions const& options,
                         base::WallTime received, Facts* facts);
// SRV-2: whether this 304 is about the stored response: its strong ETag, if it has one, equals the stored one.
bool not_modified_matches(std::string_view stored_etag, http::Response const& not_modified) noexcept;

// The field lines of a head made by `build_head`, as views into it.
std::vector<http::Field> parse_head_fields(std::string_view head);

}  // namespace weir::cache
