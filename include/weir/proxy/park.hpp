// How a coroutine waits on a shield::Waiter, and how the waker reaches it. A Parking lies in the waiting coroutine's frame:
// one timer, one pending operation in memory of its own. Mailboxes carry chosen waiters to their workers: one post a worker,
// in memory that the mailbox owns, so that waking neither allocates nor fails. Threads: a Parking belongs to its worker;
// Mailboxes may be called from any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/base/clock.hpp"
#include "weir/shield/waiter.hpp"
#include "weir/wire/operation_memory.hpp"

namespace weir::proxy {

namespace asio = boost::asio;

using wire::OperationAllocator;
using wire::OperationMemory;

enum class Woken : std::uint8_t { late, interrupted, resumed, nudged };

class Parking {
 public:
  Parking(asio::any_io_executor const& executor, std::uint16_t worker);
  Parking(Parking const&) = delete;
  Parking& operator=(Parking const&) = delete;

  // Makes `waiter` one that this parking waits for. One at a time.
  void attach(shield::Waiter& waiter) noexcept;
  // The same for a node that only says that something is there, while the waiter stays where it is (SRV-7).
  void attach_nudge(shield::Waiter& node) noexcept;
  // Until the waiter was resumed, `interrupt` was called, the node was resumed, or `due` has passed; the first of these in
  // this order wins.
  asio::awaitable<Woken> until(base::SteadyTime due);
  // For a waiter that is chosen: its post is on the way, nothing else counts.
  asio::awaitable<void> until_resumed();
  // For a node that may be chosen: its post is on the way, and must not find it gone.
  asio::awaitable<void> until_free(shield::Waiter const& node);
  // From the same worker: the requester is gone, or other news came.
  void interrupt() noexcept;

 private:
  static void resume(shield::Waiter& waiter) noexcept;
  static void nudge(shield::Waiter& node) noexcept;
  asio::awaitable<void> wait();

  asio::basic_waitable_timer<base::Clock> timer_;
  OperationMemory memory_;
  std::uint16_t worker_;
  bool resumed_ = false, interrupted_ = false, nudged_ = false;
};

// Something that happens once, between coroutines of one worker.
class Event {
 public:
  explicit Event(asio::any_io_executor const& executor) : timer_(executor, base::SteadyTime::max()) {}
  void set() noexcept {
    happened_ = true;
    timer_.cancel();
  }
  bool happened() const noexcept { return happened_; }
  // Until it happened (true) or `due` has passed. One waiter at a time.
  asio::awaitable<bool> wait(base::SteadyTime due = base::SteadyTime::max());

 private:
  asio::basic_waitable_timer<base::Clock> timer_;
  bool happened_ = false;
};

class Mailboxes final : public shield::Waker {
 public:
  explicit Mailboxes(std::size_t workers);
  void attach(std::uint16_t worker, asio::io_context& io) noexcept;
  void wake(shield::WaiterList& chosen) noexcept override;
  // Waiter::recall, for waiters whose frames may end while they are on their way.
  static bool recall(shield::Waiter& waiter) noexcept;
  // After all workers were joined, before frames are destroyed: forgets what is on the way, and from now on what is chosen,
  // so that destructors post nothing.
  void close() noexcept;

 private:
  struct Box {
    std::mutex mutex;  // guards all below but `io`
    shield::WaiterList waiting;
    bool posted = false;
    OperationMemory memory;
    asio::io_context* io = nullptr;
  };
  static void deliver(Box& box) noexcept;
  static void forget(shield::WaiterList& waiters) noexcept;
  std::vector<std::unique_ptr<Box>> boxes_;
  std::atomic<bool> closed_{false};
};

}  // namespace weir::proxy
