// HTTP-date in its three forms (RFC 9110 5.6.7): IMF-fixdate, RFC 850, asctime; in any case, and UTC for GMT (RFC 9111 4.2).
// Threads: pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::http {

// Dates outside `-max_date` to `max_date` (1823 to 2116; "Expires: ... 9999" is common) are moved to the nearer end, so that
// the difference of any two fits a `base::Duration`.
inline constexpr base::WallTime max_date{std::chrono::seconds(4'611'686'018)};

// Whole seconds. A two-digit year more than 50 years ahead of `now` is in the past. Nothing for anything else, a wrong
// day of month or a leap second over 60; the day's name must be one but is not checked against the date.
std::optional<base::WallTime> parse_date(std::string_view text, base::WallTime now) noexcept;

inline constexpr std::size_t date_size = 29;
// Writes IMF-fixdate, exactly `date_size` bytes, no NUL.
void write_date(base::WallTime time, char* out) noexcept;

}  // namespace weir::http
