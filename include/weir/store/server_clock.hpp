// Time as the shared store's server tells it, so that no node's wall clock matters (PRG-1, VAL-2).
#pragma once

#include <cstdint>
#include <mutex>

#include "weir/base/clock.hpp"

namespace weir::store {

// The same moment on this process's steady clock and on the server's clock.
struct Moment {
  base::SteadyTime here{};
  std::int64_t there = 0;  // µs since the epoch; 0: the server has not said yet
};

// To whole µs, downwards; what is out of range ends at its edge. `to_there(m, to_here(m, x)) == x` within.
std::int64_t to_there(Moment const& moment, base::SteadyTime time) noexcept;
base::SteadyTime to_here(Moment const& moment, std::int64_t time) noexcept;

// What the server said last. It stays as it is until it would be wrong by `tolerance`, so that what was translated once
// translates the same again. Owner: the store. Threads: any; one mutex.
class ServerClock {
 public:
  static constexpr base::Duration tolerance = std::chrono::milliseconds(100);
  // The server said `there` to a question asked at `asked` and answered at `answered`.
  void set(base::SteadyTime asked, base::SteadyTime answered, std::int64_t there) noexcept;
  Moment moment() const noexcept;

 private:
  mutable std::mutex mutex_;  // guards `moment_`
  Moment moment_;
};

}  // namespace weir::store
