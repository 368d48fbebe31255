// Time as a value. Rooms that decide (http, cache, shield) take a `Now` and never read a clock; only base and daemon-side
// code calls `Clock::now()`. Threads: any.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace weir::base {

using Duration = std::chrono::nanoseconds;

// Monotonic time since an unspecified start; never steps. Every deadline is a `boost::asio::basic_waitable_timer<Clock>`.
struct Clock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock, duration>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

using SteadyTime = Clock::time_point;
// Calendar time, UTC, as whole and fractional seconds since 1970.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// The moment at which a decision is taken. Wall time is for comparing with dates in messages, steady time for all arithmetic.
struct Now {
  WallTime wall{};
  SteadyTime steady{};
};

// Reads both clocks. In the shipped binary these are the machine's; tests link `clock_turned.cpp`, which adds an offset.
Now read_clock() noexcept;

constexpr std::int64_t whole_seconds(Duration d) noexcept { return std::chrono::duration_cast<std::chrono::seconds>(d).count(); }

}  // namespace weir::base
