#include "weir/proxy/park.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::proxy {

namespace {

auto in_frame(OperationMemory& memory) noexcept {
  return asio::bind_allocator(OperationAllocator<std::byte>(memory), asio::as_tuple(asio::use_awaitable));
}

}  // namespace

Parking::Parking(asio::any_io_executor const& executor, std::uint16_t worker) : timer_(executor), worker_(worker) {}

void Parking::attach(shield::Waiter& waiter) noexcept {
  waiter.worker = worker_;
  waiter.resume = &Parking::resume;
  waiter.recall = &Mailboxes::recall;
  waiter.context = this;
  resumed_ = false;
}

void Parking::attach_nudge(shield::Waiter& node) noexcept {
  node.worker = worker_;
  node.resume = &Parking::nudge;
  node.recall = &Mailboxes::recall;
  node.context = this;
}

void Parking::nudge(shield::Waiter& node) noexcept {
  auto& self = *static_cast<Parking*>(node.context);
  self.nudged_ = true;
  self.timer_.cancel();
}

void Parking::resume(shield::Waiter& waiter) noexcept {
  auto& self = *static_cast<Parking*>(waiter.context);
  self.resumed_ = true;
  self.timer_.cancel();
}

asio::awaitable<void> Parking::wait() {
  // The flags decide, never the error code: a cancelled timer may belong to either of them.
  co_await timer_.async_wait(in_frame(memory_));
}

asio::awaitable<Woken> Parking::until(base::SteadyTime due) {
  for (;;) {
    if (resumed_) co_return Woken::resumed;
    if (interrupted_) {
      interrupted_ = false;
      co_return Woken::interrupted;
    }
    if (nudged_) {
      nudged_ = false;
      co_return Woken::nudged;
    }
    if (base::Clock::now() >= due) co_return Woken::late;
    timer_.expires_at(due);
    co_await timer_.async_wait(in_frame(memory_));  // and not `wait`: a frame less
  }
}

asio::awaitable<void> Parking::until_resumed() {
  while (!resumed_) {
    timer_.expires_at(base::SteadyTime::max());
    co_await wait();
  }
}

asio::awaitable<void> Parking::until_free(shield::Waiter const& node) {
  while (node.state.load(std::memory_order_acquire) != shield::WaiterState::free) {
    timer_.expires_at(base::SteadyTime::max());
    co_await wait();
  }
}

void Parking::interrupt() noexcept {
  interrupted_ = true;
  timer_.cancel();
}

asio::awaitable<bool> Event::wait(base::SteadyTime due) {
  while (!happened_ && base::Clock::now() < due) {
    timer_.expires_at(due);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return happened_;
}

Mailboxes::Mailboxes(std::size_t workers) {
  for (std::size_t i = 0; i < workers; ++i) boxes_.push_back(std::make_unique<Box>());
}

void Mailboxes::attach(std::uint16_t worker, asio::io_context& io) noexcept { boxes_[worker]->io = &io; }

void Mailboxes::wake(shield::WaiterList& chosen) noexcept {
  if (closed_.load(std::memory_order_acquire)) return forget(chosen);
  while (!chosen.empty()) {
    auto& box = *boxes_[chosen.front().worker];
    bool post = false;
    {
      std::lock_guard const lock(box.mutex);
      for (auto it = chosen.begin(); it != chosen.end();) {
        auto& waiter = *it;
        if (boxes_[waiter.worker].get() != &box) {
          ++it;
          continue;
        }
        it = chosen.erase(it);
        box.waiting.push_back(waiter);
        waiter.box = &box;
        waiter.state.store(shield::WaiterState::posted, std::memory_order_release);
      }
      post = !std::exchange(box.posted, true);
    }
    if (post) {
      asio::post(*box.io, asio::bind_allocator(OperationAllocator<std::byte>(box.memory), [&box] { deliver(box); }));
    }
  }
}

void Mailboxes::close() noexcept {
  closed_.store(true, std::memory_order_release);
  for (auto& box : boxes_) forget(box->waiting);
}

void Mailboxes::forget(shield::WaiterList& waiters) noexcept {
  while (!waiters.empty()) {
    auto& waiter = waiters.front();
    waiters.pop_front();
    waiter.state.store(shield::WaiterState::free, std::memory_order_release);
  }
}

bool Mailboxes::recall(shield::Waiter& waiter) noexcept {
  auto& box = *static_cast<Box*>(waiter.box);
  std::lock_guard const lock(box.mutex);
  if (waiter.state.load(std::memory_order_relaxed) != shield::WaiterState::posted) return false;
  box.waiting.erase(box.waiting.iterator_to(waiter));
  waiter.state.store(shield::WaiterState::free, std::memory_order_release);
  return true;
}

void Mailboxes::deliver(Box& box) noexcept {
  shield::WaiterList arrived;
  {
    std::lock_guard const lock(box.mutex);
    arrived.swap(box.waiting);
    box.posted = false;
  }
  while (!arrived.empty()) {
    auto& waiter = arrived.front();
    arrived.pop_front();
    auto const resume = waiter.resume;
    waiter.state.store(shield::WaiterState::free, std::memory_order_release);
    resume(waiter);  // the waiter may be gone after this returns to its coroutine, not before
  }
}

}  // namespace weir::proxy
