// What a decision needs to know of a stored response, worked out once when it is stored, so that reuse is arithmetic.
// Plain data, immutable once stored.
#pragma once

#include <cstdint>

#include "weir/base/clock.hpp"

namespace weir::cache {

// A slice of the stored head's bytes.
struct Slice {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct Facts {
  std::uint16_t status = 0;

  // Freshness (FRS-1). All on the monotonic clock.
  base::SteadyTime response_time{};      // when the head (or the validating 304) arrived
  base::Duration initial_age{};          // RFC 9111 4.2.3 corrected_initial_age, at response_time
  base::Duration lifetime{};             // after jitter; 0: never fresh
  base::Duration fetch_time{};           // request to end of head; for early refresh
  // Windows behind `lifetime`; 0: none. Already cleared where something forbids them (STL-1).
  base::Duration stale_while_revalidate{};
  base::Duration stale_if_error{};

  // Order (STO-6, COA-14).
  std::uint64_t purge_number = 0;        // of its node when the fetch began
  std::uint64_t began = 0;               // fetches of this process in the order they began; 0 is before all

  // What the origin said.
  bool no_cache = false;                 // validate before every reuse
  bool must_revalidate = false;          // must-, proxy-revalidate or s-maxage: never stale (RFC 9111 5.2.2.2, .8, .10)
  bool forbids_incident_stale = false;   // must-, proxy-revalidate or no-cache, for MODE-1
  bool shared_explicitly = false;        // public or s-maxage: may be given to requests with a cookie (FWD-3)
  bool authorized = false;               // public, s-maxage or must-revalidate: reusable for Authorization (RFC 9111 3.5)
  bool heuristic = false;                // lifetime was guessed
  bool immutable = false;                // RFC 8246
  bool policy_not_in_head = false;       // it came from Weir-Cache-Control, which the stored head does not carry

  // Validators, in the stored head; size 0: none.
  Slice etag;
  Slice last_modified;
  base::WallTime date{};                 // Date, or the time of receipt
};

}  // namespace weir::cache
