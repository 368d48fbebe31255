// VAL-3: the guard before a shared store. After `failures_to_open` failures in a row no call is made for a second, doubling
// to half a minute while the one call that is let through then fails too. Owner: the store. Threads: any; one mutex, and one
// load while it is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::store {

enum class GuardState : std::uint8_t { open, half_open, closed };
std::string_view label(GuardState state) noexcept;  // "half-open"

class Guard {
 public:
  static constexpr unsigned failures_to_open = 5;
  static constexpr base::Duration shortest = std::chrono::seconds(1);
  static constexpr base::Duration longest = std::chrono::seconds(30);
  // A call that was let through alone and never reported does not keep the others out for longer.
  static constexpr base::Duration patience = std::chrono::seconds(2);

  // Whether a call may be made now. In half-open state the first who asks is let through, and must report.
  bool admits(base::SteadyTime now) noexcept;
  // Whether `admits` would let anyone through; changes nothing.
  bool is_open(base::SteadyTime now) const noexcept;
  void succeeded() noexcept;
  // True if this opened it.
  bool failed(base::SteadyTime now) noexcept;

  GuardState state() const noexcept { return state_.load(std::memory_order_acquire); }

 private:
  std::atomic<GuardState> state_{GuardState::closed};
  std::atomic<unsigned> in_a_row_{0};
  mutable std::mutex mutex_;  // guards what follows, and changes of state
  base::SteadyTime until_{};
  base::Duration pause_{};  // of the last time it opened; zero: it was closed since
};

}  // namespace weir::store
