// Waiting without a thread, an allocation or a clock. A Waiter is a node in the waiting coroutine's own frame. States:
// free (nobody else knows it), linked (in a list, guarded by that list's mutex), chosen (unlinked by a waker; it belongs to
// the waker's post until `resume` runs on the waiter's worker). Rules:
//  - The waker, under the list's mutex, writes the result, unlinks, sets chosen; after the mutex it hands all chosen nodes
//    to `Waker::wake`, which makes one post a worker; on the worker `resume(waiter)` sets the state free and makes the
//    waiting coroutine run.
//  - A waiter whose timer or cancellation comes first takes the mutex: linked, it unlinks itself and goes; chosen, it waits
//    for the post and takes the result.
// The flag decides, never a timer's error code.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/base/intrusive.hpp"

namespace weir::shield {

enum class WaiterState : std::uint8_t { free, linked, chosen };

struct Waiter {
  using Resume = void (*)(Waiter&) noexcept;

  base::ListHook hook;
  std::atomic<WaiterState> state{WaiterState::free};
  std::uint16_t worker = 0;      // index of the worker on which the coroutine runs
  Resume resume = nullptr;       // called on that worker after `state` became free; null in tests that look at lists
  void* context = nullptr;       // for `resume`
};

using WaiterList = base::List<Waiter, &Waiter::hook>;

// Takes chosen waiters (all unlinked from their old list, linked in this one) to their workers. Must not throw or allocate.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake(WaiterList& chosen) noexcept = 0;  // leaves `chosen` empty
};

}  // namespace weir::shield
