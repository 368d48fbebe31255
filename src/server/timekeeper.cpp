#include "weir/server/timekeeper.hpp"

namespace weir::server {

void Timekeeper::watch(Timed& timed, Limit kind, base::SteadyTime due) {
  timed.timed_hook.unlink();
  timed.due = due;
  queues_[static_cast<std::size_t>(kind)].push_back(timed);
  if (!stopped_ && (!waiting_ || timer_.expiry() > due)) arm(due);
}

void Timekeeper::cap(Limit kind, base::SteadyTime due) {
  auto& queue = queues_[static_cast<std::size_t>(kind)];
  for (auto& timed : queue) timed.due = std::min(timed.due, due);
  if (!queue.empty() && !stopped_ && (!waiting_ || timer_.expiry() > queue.front().due)) arm(queue.front().due);
}

void Timekeeper::arm(base::SteadyTime due) {
  timer_.expires_at(due);
  waiting_ = true;
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;  // moved to an earlier time, or stopped
    waiting_ = false;
    look();
  });
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
  if (next != base::SteadyTime::max() && !stopped_) arm(next);
}

}  // namespace weir::server
