// Waiting without a thread, an allocation or a clock. A Waiter is a node in the waiting coroutine's own frame. States:
// free (nobody else knows it), linked (in a list, guarded by that list's mutex), chosen (unlinked by a waker, which has it
// in hand), posted (it belongs to the waker's post until `resume` runs on the waiter's worker). Rules:
//  - The waker, under the list's mutex, writes the result, unlinks, sets chosen; after the mutex it hands all chosen nodes
//    to `Waker::wake`, which makes one post a worker; on the worker the post sets the state free and then calls
//    `resume(waiter)`, which makes the waiting coroutine run.
//  - A waiter whose timer or cancellation comes first takes the mutex: linked, it unlinks itself and goes; chosen, it waits
//    for the post and takes the result.
//  - A frame that is destroyed while it waits, also by an exception, takes its node out of whatever list it is in; a posted
//    one with `recall`. Without that, a chosen node may be destroyed only after all workers were joined.
// The flag decides, never a timer's error code.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "weir/base/assert.hpp"
#include "weir/base/intrusive.hpp"

namespace weir::shield {

enum class WaiterState : std::uint8_t { free, linked, chosen, posted };

struct Waiter {
  using Resume = void (*)(Waiter&) noexcept;
  using Unlink = bool (*)(Waiter&) noexcept;

  Waiter() = default;
  Waiter(Waiter const&) = delete;
  Waiter& operator=(Waiter const&) = delete;
  ~Waiter() { let_go(); }

  // For destructors: takes it out of the list it is in. A derived waiter calls it before its results are destroyed.
  void let_go() noexcept;

  base::ListHook hook;
  std::atomic<WaiterState> state{WaiterState::free};
  std::uint16_t worker = 0;  // index of the worker on which the coroutine runs
  Resume resume = nullptr;   // called on that worker after `state` became free; null in tests that look at lists
  void* context = nullptr;   // for `resume`
  Unlink unlink = nullptr;   // set by whoever links it: takes the list's mutex; false: it was chosen meanwhile
  void* where = nullptr;     // for `unlink`
  Unlink recall = nullptr;   // set by whoever waits: takes it back from its waker's box; null: its waker has none
  void* box = nullptr;       // for `recall`; the waker's, before it says posted
};

using WaiterList = base::List<Waiter, &Waiter::hook>;

// Both under the mutex of `list`.
inline void link(WaiterList& list, Waiter& waiter, Waiter::Unlink unlink, void* where) noexcept {
  WEIR_ASSERT(waiter.state.load(std::memory_order_relaxed) == WaiterState::free);
  waiter.unlink = unlink;
  waiter.where = where;
  list.push_back(waiter);
  waiter.state.store(WaiterState::linked, std::memory_order_release);
}
// After the result was written.
inline void choose(WaiterList& list, Waiter& waiter, WaiterList& chosen) noexcept {
  list.erase(list.iterator_to(waiter));
  chosen.push_back(waiter);
  waiter.state.store(WaiterState::chosen, std::memory_order_release);
}
// True if it was linked; it is free then.
inline bool unlink_if_linked(WaiterList& list, Waiter& waiter) noexcept {
  if (waiter.state.load(std::memory_order_relaxed) != WaiterState::linked) return false;
  list.erase(list.iterator_to(waiter));
  waiter.state.store(WaiterState::free, std::memory_order_release);
  return true;
}

inline void Waiter::let_go() noexcept {
  if (state.load(std::memory_order_acquire) == WaiterState::linked) unlink(*this);
  if (recall != nullptr) {
    while (state.load(std::memory_order_acquire) == WaiterState::chosen) std::this_thread::yield();  // between two mutexes
    if (state.load(std::memory_order_acquire) == WaiterState::posted) recall(*this);
  }
  if (!hook.is_linked()) return;
  auto const node = WaiterList::value_traits::to_node_ptr(*this);
  WaiterList::node_algorithms::unlink(node);
  WaiterList::node_algorithms::init(node);
}

// Takes chosen waiters (all unlinked from their old list, linked in this one) to their workers. Must not throw or allocate.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake(WaiterList& chosen) noexcept = 0;  // leaves `chosen` empty
};

}  // namespace weir::shield
