// Cache-Control of requests and responses as a value (RFC 9111 5.2, 5861, 8246), and the targeted fields of RFC 9213 which
// are Dictionaries of RFC 9651. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/field.hpp"

namespace weir::http {

// Seconds, clamped at 2^31 (RFC 9111 1.2.2).
using DeltaSeconds = std::uint32_t;
inline constexpr DeltaSeconds max_delta = 0x80000000U;

struct CacheControl {
  bool present = false;      // any line at all
  bool conflicting = false;  // a delta directive twice with different values, or one that does not parse: stale (FRS-1)
  bool no_store = false, no_cache = false, private_ = false, public_ = false, must_revalidate = false,
       proxy_revalidate = false, must_understand = false, no_transform = false, immutable = false, only_if_cached = false;
  bool max_stale_any = false;  // max-stale without a value
  std::optional<DeltaSeconds> max_age, s_maxage, max_stale, min_fresh, stale_while_revalidate, stale_if_error;
  std::vector<std::string> no_cache_fields, private_fields;  // qualified forms; then the plain flag is not set; lower case
};

// Over all `Cache-Control` lines. Unknown directives are ignored; names ignore case; token and quoted-string arguments
// are alike. A request's or a response's, the grammar is the same. Allocates only for qualified forms.
CacheControl parse_cache_control(Fields fields);

// STO-4, RFC 9213 2: the lines of `name` as one Dictionary. Nothing if there is no line, it does not parse, or it is
// empty. A member whose value has the wrong type is ignored, as an unknown one is.
std::optional<CacheControl> parse_targeted(Fields fields, std::string_view name);

}  // namespace weir::http
