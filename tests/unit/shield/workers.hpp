// Threads that wait as workers do: each has a mailbox, to which the waker takes chosen waiters.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "weir/shield/waiter.hpp"

namespace weir::shield {

class Workers final : public Waker {
 public:
  static constexpr std::size_t most = 16;

  void wake(WaiterList& chosen) noexcept override {
    while (!chosen.empty()) {
      auto& waiter = chosen.front();
      chosen.pop_front();
      auto& box = boxes_[waiter.worker];
      {
        std::lock_guard const lock(box.mutex);
        box.waiters.push_back(waiter);
      }
      box.news.notify_one();
    }
  }
  // All look up from their waiting: there is something to do meanwhile.
  void poke() noexcept {
    for (auto& box : boxes_) {
      {
        std::lock_guard const lock(box.mutex);
        box.poked = true;
      }
      box.news.notify_one();
    }
  }
  // On the worker's own thread: resumes what is there.
  void deliver(std::size_t worker) noexcept {
    auto& box = boxes_[worker];
    std::unique_lock lock(box.mutex);
    resume_all(box);
  }
  // Until `waiter` was resumed; `meanwhile` is called whenever something may have changed.
  template <class Meanwhile>
  void wait(std::size_t worker, Waiter& waiter, Meanwhile meanwhile) {
    auto& box = boxes_[worker];
    for (;;) {
      {
        std::unique_lock lock(box.mutex);
        box.news.wait(lock, [&] { return box.poked || !box.waiters.empty() || is_free(waiter); });
        box.poked = false;
        resume_all(box);
      }
      if (is_free(waiter)) return;
      meanwhile();
    }
  }
  void wait(std::size_t worker, Waiter& waiter) {
    wait(worker, waiter, [] {});
  }

 private:
  struct Box {
    std::mutex mutex;
    std::condition_variable news;
    WaiterList waiters;
    bool poked = false;
  };
  static bool is_free(Waiter const& waiter) noexcept {
    return waiter.state.load(std::memory_order_acquire) == WaiterState::free;
  }
  static void resume_all(Box& box) noexcept {
    while (!box.waiters.empty()) {
      auto& waiter = box.waiters.front();
      box.waiters.pop_front();
      waiter.state.store(WaiterState::free, std::memory_order_release);
    }
  }
  std::array<Box, most> boxes_;
};

// Blocks, where std::barrier spins: a loaded machine has other things to do.
class Gate {
 public:
  explicit Gate(std::size_t parties) : parties_(parties) {}
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    auto const mine = passed_;
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++passed_;
      lock.unlock();
      opened_.notify_all();
      return;
    }
    opened_.wait(lock, [&] { return passed_ != mine; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::size_t parties_, arrived_ = 0, passed_ = 0;
};

template <class Work>
void in_threads(std::size_t count, Work work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
}

}  // namespace weir::shield
