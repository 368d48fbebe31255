#include "weir/server/timekeeper.hpp"

#include <iterator>

#include <boost/asio/bind_allocator.hpp>

namespace weir::server {

void Timekeeper::watch(Timed& timed, Limit kind, base::SteadyTime due) noexcept {
  timed.timed_hook.unlink();
  timed.due = due;
  // As a rule at the end; a limit that began earlier, and is watched again, goes before those that began since.
  auto& queue = queues_[static_cast<std::size_t>(kind)];
  auto at = queue.end();
  while (at != queue.begin() && std::prev(at)->due > due) --at;
  queue.insert(at, timed);
  if (!waiting_ || next_ > due) arm(due);
}

void Timekeeper::cap(Limit kind, base::SteadyTime due) noexcept {
  auto& queue = queues_[static_cast<std::size_t>(kind)];
  for (auto& timed : queue) timed.due = std::min(timed.due, due);
  if (!queue.empty() && (!waiting_ || next_ > queue.front().due)) arm(queue.front().due);
}

void Timekeeper::arm(base::SteadyTime due) noexcept {
  if (stopped_) return;
  next_ = due;
  try {
    if (waiting_) return static_cast<void>(timer_.cancel());  // its end looks, and waits anew in the same memory
    timer_.expires_at(due);
    timer_.async_wait(
        boost::asio::bind_allocator(wire::OperationAllocator<std::byte>(memory_), [this](boost::system::error_code const&) {
          waiting_ = false;
          look();
        }));
    waiting_ = true;
  } catch (std::exception const&) {
    waiting_ = false;  // the loop's queue of timers could not grow: `tend` tries again
  }
}

void Timekeeper::look() noexcept {
  auto const now = base::Clock::now();
  auto next = base::SteadyTime::max();
  for (auto& queue : queues_) {
    while (!queue.empty() && queue.front().due <= now) {
      auto& timed = queue.front();
      queue.pop_front();
      timed.on_due(timed);
    }
    if (!queue.empty()) next = std::min(next, queue.front().due);
  }
  if (next != base::SteadyTime::max()) arm(next);
}

}  // namespace weir::server
