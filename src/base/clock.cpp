#include "weir/base/clock.hpp"

namespace weir::base {

Clock::time_point Clock::now() noexcept {
  return time_point(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

Now read_clock() noexcept {
  return {std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()), Clock::now()};
}

}  // namespace weir::base
