// Which directives decide about a response: those of a targeted field or of Cache-Control (STO-4; RFC 9213), with the force
// of must-understand (RFC 9111 5.2.2.3). Threads: pure.
#pragma once

#include "weir/cache/facts.hpp"
#include "weir/cache/rules.hpp"
#include "weir/http/cache_control.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

struct Policy {
  http::CacheControl directives;  // `no_store` only where it is in force; private fields of a strict Cache-Control included
  bool targeted = false;          // a targeted field decides alone: Expires has no say (RFC 9213 2.2)
  bool not_in_head = false;       // it is Weir-Cache-Control (Facts::policy_not_in_head)
  bool not_understood = false;    // must-understand, and the status is not one of RFC 9110
};

// `ignore_cache_control` leaves Cache-Control out, not a targeted field: that one was meant for us.
// `stored`: a response was validated by a 304 and `fields` are the merged ones. If they have no targeted field and the
// stored policy is not in the stored head, what was decided when it was stored stays in force.
Policy policy_of(http::Fields fields, int status, StorableRules const& rules, Facts const* stored = nullptr);

// Statuses whose meaning for a cache RFC 9110 section 15 defines.
bool is_understood(int status) noexcept;
// RFC 9110 15.1.
bool is_heuristically_cacheable(int status) noexcept;
// 500, 502, 503, 504: the origin's trouble rather than a resource (STO-1, COA-5).
bool is_origin_error(int status) noexcept;

}  // namespace weir::cache
