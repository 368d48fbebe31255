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

void ServerClock::set(base::SteadyTime asked, base::SteadyTime answered, std::int64_t there) noexcept {
  Moment const said{asked + (answered - asked) / 2, there};
  std::lock_guard const lock(mutex_);
  auto const apart = minus(to_there(moment_, said.here), there);
  constexpr auto most = std::chrono::duration_cast<std::chrono::microseconds>(tolerance).count();
  if (moment_.there == 0 || apart > most || apart < -most) moment_ = said;
}

Moment ServerClock::moment() const noexcept {
  std::lock_guard const lock(mutex_);
  return moment_;
}

}  // namespace weir::store
