#include "weir/store/guard.hpp"

#include <algorithm>

namespace weir::store {

std::string_view label(GuardState state) noexcept {
  return state == GuardState::closed ? "closed" : state == GuardState::half_open ? "half-open" : "open";
}

bool Guard::admits(base::SteadyTime now) noexcept {
  if (state_.load(std::memory_order_acquire) == GuardState::closed) return true;
  std::lock_guard const lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == GuardState::closed) return true;
  if (now < until_) return false;
  state_.store(GuardState::half_open, std::memory_order_release);
  until_ = now + patience;
  return true;
}

bool Guard::is_open(base::SteadyTime now) const noexcept {
  if (state_.load(std::memory_order_acquire) == GuardState::closed) return false;
  std::lock_guard const lock(mutex_);
  return state_.load(std::memory_order_relaxed) != GuardState::closed && now < until_;
}

void Guard::succeeded() noexcept {
  if (in_a_row_.load(std::memory_order_relaxed) != 0) in_a_row_.store(0, std::memory_order_relaxed);
  if (state_.load(std::memory_order_acquire) == GuardState::closed) return;
  std::lock_guard const lock(mutex_);
  pause_ = {};
  state_.store(GuardState::closed, std::memory_order_release);
}

bool Guard::failed(base::SteadyTime now) noexcept {
  auto const in_a_row = in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::lock_guard const lock(mutex_);
  auto const state = state_.load(std::memory_order_relaxed);
  if (state == GuardState::open || (state == GuardState::closed && in_a_row < failures_to_open)) return false;
  pause_ = pause_ == base::Duration::zero() ? shortest : std::min(pause_ * 2, longest);
  until_ = now + pause_;
  state_.store(GuardState::open, std::memory_order_release);
  return true;
}

}  // namespace weir::store
