// What a decision needs to know of a stored response, worked out once when it is stored, so that reuse is arithmetic.
// Plain data, immutable once stored.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::cache {

// A slice of the stored head's bytes.
struct Slice {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

// Where a lifetime came from, for explain. In the order of FRS-1.
enum class LifetimeSource : std::uint8_t {
  unknown,  // none, or another node's
  s_maxage,
  max_age,
  expires,
  last_modified,  // guessed
  default_ttl,
  override_ttl,
  collapse_ttl,
  conflict,  // directives that contradict each other: none
};
std::string_view label(LifetimeSource source) noexcept;  // "s-maxage", as the directive, field or setting is called

struct Facts {
  // In one word, as there may be millions.
  std::uint16_t status = 0;
  // What the origin said.
  bool no_cache : 1 = false;               // validate before every reuse
  bool must_revalidate : 1 = false;        // must-, proxy-revalidate or s-maxage: never stale (RFC 9111 5.2.2.2, .8, .10)
  bool forbids_incident_stale : 1 = false; // must-, proxy-revalidate or no-cache, for MODE-1
  bool shared_explicitly : 1 = false;      // public or s-maxage: may be given to requests with a cookie (FWD-3)
  bool authorized : 1 = false;             // public, s-maxage or must-revalidate: reusable for Authorization (RFC 9111 3.5)
  bool heuristic : 1 = false;              // lifetime was guessed
  bool immutable : 1 = false;              // RFC 8246
  bool policy_not_in_head : 1 = false;     // it came from Weir-Cache-Control, which the stored head does not carry
  LifetimeSource lifetime_source : 4 = LifetimeSource::unknown;
  std::chrono::duration<std::uint32_t, std::milli> fetch_time{};  // request to end of head; for early refresh

  // Freshness (FRS-1). All on the monotonic clock.
  base::SteadyTime response_time{};      // when the head (or the validating 304) arrived
  base::Duration initial_age{};          // RFC 9111 4.2.3 corrected_initial_age, at response_time
  base::Duration lifetime{};             // after jitter; 0: never fresh
  // Windows behind `lifetime`; 0: none. Already cleared where something forbids them (STL-1).
  base::Duration stale_while_revalidate{};
  base::Duration stale_if_error{};

  // Order (STO-6, COA-14).
  std::uint64_t purge_number = 0;        // of its node when the fetch began
  std::uint64_t began = 0;               // fetches of this process in the order they began; 0 is before all

  // Validators, in the stored head; size 0: none.
  Slice etag;
  Slice last_modified;
  base::WallTime date{};                 // Date, or the time of receipt
};

}  // namespace weir::cache
