#include "weir/shield/flight.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::shield {

Flight::Flight(Waker& waker, cache::MemoryAccount& account, std::uint16_t worker, std::uint64_t purge_number,
               std::uint64_t began)
    : waker_(waker), account_(account), worker_(worker), purge_number_(purge_number), began_(began) {}

Flight::~Flight() {
  WEIR_ASSERT(readers_.empty() && byte_waiters_.empty());
  // Only when a fetch's frame died with its ticket before its waiter (shutdown).
  while (!room_waiter_.empty()) unlink_if_linked(room_waiter_, room_waiter_.front());
}

std::optional<base::SteadyTime> Flight::read_time(Time const& time) noexcept {
  auto const ticks = time.load(std::memory_order_relaxed);
  if (ticks == no_time) return std::nullopt;
  return base::SteadyTime(base::SteadyTime::duration(ticks));
}

void Flight::set_head(std::unique_ptr<FlightHead const> head, base::Ref<cache::StoredResponse> place, std::uint64_t window,
                      base::SteadyTime now) noexcept {
  std::lock_guard const lock(mutex_);
  WEIR_ASSERT(head != nullptr && head_owner_ == nullptr);
  place_ = std::move(place);
  windowed_ = !head->stored;
  // One more than the window has, so that a reader in the first of them is a whole window behind when all are full.
  auto const blocks = window / block_size + (window % block_size != 0);
  window_blocks_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(blocks, 1, 1U << 30)) + 1;
  head_owner_ = std::move(head);
  progressed_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  head_.store(head_owner_.get(), std::memory_order_release);
}

std::span<char> Flight::room() {
  {
    std::lock_guard const lock(mutex_);
    WEIR_ASSERT(head_owner_ != nullptr && body_state() == BodyState::growing);
    if (place_) {
      auto const whole = place_->body().size();
      auto const there = static_cast<std::size_t>(size());
      WEIR_ASSERT(there < whole);
      return {place_->body_area() + there, whole - there};
    }
    if (!blocks_.empty() && blocks_.back()->size < block_size)
      return {blocks_.back()->bytes + blocks_.back()->size, block_size - blocks_.back()->size};
    if (full()) return {};
  }
  base::Ref<Block> block(new Block(account_));
  std::span<char> const bytes(block->bytes, block_size);
  std::lock_guard const lock(mutex_);
  blocks_.push_back(std::move(block));
  blocks_.back()->readers = std::exchange(at_end_, 0);
  return bytes;
}

void Flight::commit(std::size_t bytes, base::SteadyTime now) noexcept {
  WaiterList chosen;
  {
    std::lock_guard const lock(mutex_);
    if (place_) {
      WEIR_ASSERT(bytes <= place_->body().size() - size());
    } else {
      WEIR_ASSERT(!blocks_.empty() && bytes <= block_size - blocks_.back()->size);
      blocks_.back()->size += bytes;
    }
    size_.store(size() + bytes, std::memory_order_release);
    progressed_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    release_passed_blocks(true);
    choose_byte_waiters(chosen);
  }
  if (!chosen.empty()) waker_.wake(chosen);
}

bool Flight::wait_for_room(Waiter& waiter, base::SteadyTime now) noexcept {
  std::lock_guard const lock(mutex_);
  if (!full()) return false;
  if (!stalled_since_) stalled_since_ = now;
  link(room_waiter_, waiter, &unlink_room_waiter, this);
  return true;
}

bool Flight::cancel_wait_for_room(Waiter& waiter) noexcept {
  std::lock_guard const lock(mutex_);
  return unlink_if_linked(room_waiter_, waiter);
}

bool Flight::unlink_room_waiter(Waiter& waiter) noexcept {
  return static_cast<Flight*>(waiter.where)->cancel_wait_for_room(waiter);
}

void Flight::finish(bool whole) noexcept {
  WaiterList chosen;
  {
    std::lock_guard const lock(mutex_);
    WEIR_ASSERT(body_state() == BodyState::growing);
    if (whole && head_owner_ && head_owner_->length && !head_owner_->no_body) WEIR_ASSERT(size() == *head_owner_->length);
    state_.store(whole ? BodyState::complete : BodyState::broken, std::memory_order_release);
    choose_byte_waiters(chosen);
  }
  if (!chosen.empty()) waker_.wake(chosen);
}

void Flight::outgrow() noexcept {
  std::lock_guard const lock(mutex_);
  windowed_ = true;
  release_passed_blocks(true);
}

std::size_t Flight::cut_off_stalled(base::Duration allowance, base::SteadyTime now) noexcept {
  std::size_t cut = 0;
  WaiterList chosen;
  {
    std::lock_guard const lock(mutex_);
    if (!full()) return 0;
    auto const stalled = stalled_for(now);
    for (auto& reader : readers_) {
      if (reader.cut_off_ || block_of(reader.cursor_) != 0 || reader.delay_ + stalled < allowance) continue;
      --readers_at(reader.cursor_);
      reader.cut_off_ = true;
      if (!reader.cut_off_waiter_.empty()) choose(reader.cut_off_waiter_, reader.cut_off_waiter_.front(), chosen);
      ++cut;
    }
    release_passed_blocks(stalled < allowance);
    choose_room_waiter(chosen);
  }
  if (!chosen.empty()) waker_.wake(chosen);
  return cut;
}

base::SteadyTime Flight::next_cut_off(base::Duration allowance) const noexcept {
  std::lock_guard const lock(mutex_);
  if (!stalled_since_) return base::SteadyTime::max();  // room came meanwhile
  auto left = allowance;                                // of those who have not begun to read
  for (auto const& reader : readers_)
    if (!reader.cut_off_ && block_of(reader.cursor_) == 0) left = std::min(left, allowance - reader.delay_);
  return *stalled_since_ + left;
}

base::Duration Flight::stalled_for(base::SteadyTime now) const noexcept {
  return stalled_since_ ? std::max(now - *stalled_since_, base::Duration::zero()) : base::Duration::zero();
}

void Flight::copy_to(char* out) const noexcept {
  std::lock_guard const lock(mutex_);
  WEIR_ASSERT(body_state() != BodyState::broken && !windowed_ && !place_);
  for (auto const& block : blocks_) {
    std::memcpy(out, block->bytes, block->size);
    out += block->size;
  }
}

void Flight::set_on_interest(void (*call)(void*) noexcept, void* context) noexcept {
  std::lock_guard const lock(mutex_);
  on_interest_ = call;
  interest_context_ = context;
}

void Flight::clear_on_interest() noexcept {
  set_on_interest(nullptr, nullptr);
  for (auto calls = interest_calls_.load(std::memory_order_acquire); calls != 0;
       calls = interest_calls_.load(std::memory_order_acquire))
    interest_calls_.wait(calls, std::memory_order_acquire);
}

void Flight::tell_interest() noexcept {
  void (*call)(void*) noexcept = nullptr;
  void* context = nullptr;
  {
    std::lock_guard const lock(mutex_);
    call = on_interest_;
    context = interest_context_;
    if (!call) return;
    // Under the mutex, so that whoever clears after us sees a call under way.
    interest_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  call(context);
  interest_calls_.fetch_sub(1, std::memory_order_release);
  interest_calls_.notify_all();
}

void Flight::drop_interest() noexcept {
  auto const last = interest_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  WaiterList chosen;
  {
    // Blocks may have been kept for whoever this was.
    std::lock_guard const lock(mutex_);
    release_passed_blocks(true);
    choose_room_waiter(chosen);
  }
  if (!chosen.empty()) waker_.wake(chosen);
  if (last) tell_interest();
}

std::size_t& Flight::readers_at(std::uint64_t offset) noexcept {
  auto const index = block_of(offset);
  return index < blocks_.size() ? blocks_[index]->readers : at_end_;
}

bool Flight::full() const noexcept {
  return windowed_ && !place_ && blocks_.size() >= window_blocks_ && blocks_.back()->size == block_size;
}

// A late one was given the head and has not begun to read: it must find the first byte.
void Flight::release_passed_blocks(bool wait_for_late) noexcept {
  if (!windowed_) return;
  if (wait_for_late && first_offset_ == 0 && interest_.load(std::memory_order_acquire) > registered_) return;
  while (!blocks_.empty() && blocks_.front()->size == block_size && blocks_.front()->readers == 0) {
    blocks_.pop_front();
    first_offset_ += block_size;
  }
}

void Flight::choose_byte_waiters(WaiterList& chosen) noexcept {
  while (!byte_waiters_.empty()) {
    auto& waiter = byte_waiters_.front();
    static_cast<Reader*>(waiter.where)->waiting_ = nullptr;
    choose(byte_waiters_, waiter, chosen);
  }
}

void Flight::choose_room_waiter(WaiterList& chosen) noexcept {
  if (full()) return;
  stalled_since_.reset();
  if (!room_waiter_.empty()) choose(room_waiter_, room_waiter_.front(), chosen);
}

}  // namespace weir::shield
