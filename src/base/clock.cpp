#include "weir/base/clock.hpp"

#include <ctime>

namespace weir::base {

Clock::time_point Clock::now() noexcept {
  return time_point(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

// The calendar as of the kernel's last tick, at most some milliseconds old: what it is compared with has whole seconds, and
// it costs a fifth of the exact one.
Now read_clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return {WallTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)), Clock::now()};
}

}  // namespace weir::base
