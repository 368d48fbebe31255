// The client's own conditionals and range, evaluated against a stored or arriving 200 (SRV-1, SRV-3; RFC 9110 13, 14).
// Only for GET and HEAD. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/http/message.hpp"
#include "weir/http/range.hpp"

namespace weir::cache {

enum class Cut : std::uint8_t { whole, not_modified, precondition_failed, partial, unsatisfiable };

struct Selection {
  Cut cut = Cut::whole;
  http::ByteRange range;            // for `partial`
};

struct Representation {
  int status = 200;                 // conditionals and ranges apply to 200 only (304 also to other 2xx by etag is not done)
  std::string_view etag;
  std::string_view last_modified;
  base::WallTime date{};            // If-Modified-Since compares with this where there is no Last-Modified
  std::optional<std::uint64_t> size;  // unknown: ranges are ignored
};

// If-Match and If-Unmodified-Since, then If-None-Match else If-Modified-Since, then Range with If-Range.
Selection select(http::Request const& request, Representation const& representation, base::WallTime now) noexcept;

// Whether any of these fields is there at all: the hit path asks this first.
bool has_conditionals(http::Fields request) noexcept;

}  // namespace weir::cache
