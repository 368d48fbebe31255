// Writing to what somebody else may have stopped reading (OBS-4): a full pipe is waited for so long, and no longer when all
// is to end. Threads: the writer's, but for `stop`.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "weir/base/clock.hpp"

namespace weir::observe {

// For appending, or -1 and `errno`. A FIFO that nobody reads is a mistake (ENXIO), and nothing to wait for.
inline int open_for_append(char const* file) noexcept {
  int const descriptor = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

class Output {
 public:
  // A pipe that is ready takes this much without blocking (PIPE_BUF).
  static constexpr std::size_t safe_piece = 4096;

  // From now on all writes together wait for one patience; what is ready is still written.
  void stop() noexcept { until_.store(base::Clock::now() + patience); }
  // Whether `descriptor` takes a piece, waiting for it. False: it is given up.
  bool is_ready(int descriptor) const noexcept {
    for (;;) {
      pollfd ready{descriptor, POLLOUT, 0};
      auto const until = std::min(until_.load(), base::Clock::now() + patience);
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - base::Clock::now()).count();
      int const polled = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
      if (polled >= 0 || errno != EINTR) return polled > 0;
    }
  }

 private:
  static constexpr base::Duration patience = std::chrono::seconds(1);
  std::atomic<base::SteadyTime> until_{base::SteadyTime::max()};
};

}  // namespace weir::observe
