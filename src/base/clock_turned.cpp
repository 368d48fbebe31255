#include "weir/base/clock.hpp"
#include "weir/base/turned_clock.hpp"

#include <atomic>

namespace weir::base {
namespace {

std::atomic<std::int64_t> steady_offset{0};
std::atomic<std::int64_t> wall_offset{0};

}  // namespace

Clock::time_point Clock::now() noexcept {
  auto const real = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
  return time_point(real + Duration(steady_offset.load(std::memory_order_acquire)));
}

Now read_clock() noexcept {
  auto const real = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return {real + Duration(wall_offset.load(std::memory_order_acquire)), Clock::now()};
}

void turn_clock(Duration by) noexcept {
  steady_offset.fetch_add(by.count(), std::memory_order_acq_rel);
  wall_offset.fetch_add(by.count(), std::memory_order_acq_rel);
}

void step_wall_clock(Duration by) noexcept { wall_offset.fetch_add(by.count(), std::memory_order_acq_rel); }

}  // namespace weir::base
