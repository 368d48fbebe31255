#include "weir/store/server_clock.hpp"

#include <algorithm>
#include <limits>

namespace weir::store {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t ns_in_us = 1000;

std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? lowest : highest;
  return sum;
}

std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return b < 0 ? highest : lowest;
  return difference;
}

}  // namespace

std::int64_t to_there(Moment const& moment, base::SteadyTime time) noexcept {
  base::Duration const since(minus(time.time_since_epoch().count(), moment.here.time_since_epoch().count()));
  return plus(moment.there, std::chrono::floor<std::chrono::microseconds>(since).count());
}

base::SteadyTime to_here(Moment const& moment, std::int64_t time) noexcept {
  auto const since = std::clamp(minus(time, moment.there), lowest / ns_in_us, highest / ns_in_us);
  return base::SteadyTime(base::Duration(plus(moment.here.time_since_epoch().count(), since * ns_in_us)));
}

}  // namespace weir::store
