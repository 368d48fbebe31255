#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/shield/flight.hpp"

namespace weir::shield {

Interest::Interest(base::Ref<Flight> flight) noexcept : flight_(std::move(flight)) {
  if (flight_) flight_->interest_.fetch_add(1, std::memory_order_acq_rel);
}

Interest& Interest::operator=(Interest&& other) noexcept {
  if (this == &other) return *this;
  reset();
  flight_ = std::move(other.flight_);
  return *this;
}

void Interest::reset() noexcept {
  // The reference outlives the call: the last interest may be the last reference too.
  if (auto const flight = std::move(flight_)) flight->drop_interest();
}

Reader::Reader(Interest interest) noexcept : flight_(std::move(interest)) {
  WEIR_ASSERT(flight_);
  std::lock_guard const lock(flight_->mutex_);
  flight_->readers_.push_back(*this);
  ++flight_->registered_;
  cut_off_ = flight_->first_offset_ > 0;
  if (!cut_off_) ++flight_->readers_at(0);
}

Reader::~Reader() {
  WaiterList chosen;
  auto& flight = *flight_;
  {
    std::lock_guard const lock(flight.mutex_);
    if (waiting_) unlink_if_linked(flight.byte_waiters_, *waiting_);
    while (!cut_off_waiter_.empty()) unlink_if_linked(cut_off_waiter_, cut_off_waiter_.front());
    if (!cut_off_) --flight.readers_at(cursor_);
    --flight.registered_;
    flight.readers_.erase(flight.readers_.iterator_to(*this));
    flight.release_passed_blocks(true);
    flight.choose_room_waiter(chosen);
  }
  if (!chosen.empty()) flight.waker_.wake(chosen);
}

Reader::Chunk Reader::peek(std::size_t limit) noexcept {
  auto& flight = *flight_;
  std::lock_guard const lock(flight.mutex_);
  pinned_.reset();
  if (cut_off_) return {BodyState::cut_off, {}};
  Chunk chunk{flight.body_state(), {}};
  auto const there = static_cast<std::size_t>(flight.size() - cursor_);
  if (there == 0) return chunk;
  if (flight.place_) {
    chunk.bytes = {flight.place_->body_area() + cursor_, std::min(there, limit)};
  } else {
    pinned_ = flight.blocks_[flight.block_of(cursor_)];
    auto const skip = static_cast<std::size_t>((cursor_ - flight.first_offset_) % block_size);
    chunk.bytes = {pinned_->bytes + skip, std::min(pinned_->size - skip, limit)};
  }
  if (chunk.state == BodyState::complete) chunk.state = BodyState::growing;  // not at its end yet
  return chunk;
}

void Reader::advance(std::size_t bytes, base::SteadyTime now) noexcept {
  WaiterList chosen;
  auto& flight = *flight_;
  {
    std::lock_guard const lock(flight.mutex_);
    pinned_.reset();
    if (cut_off_) return;
    WEIR_ASSERT(bytes <= flight.size() - cursor_);
    bool const was_first = flight.block_of(cursor_) == 0;
    --flight.readers_at(cursor_);
    cursor_ += bytes;
    ++flight.readers_at(cursor_);
    if (was_first && flight.block_of(cursor_) != 0) delay_ += flight.stalled_for(now);
    flight.release_passed_blocks(true);
    flight.choose_room_waiter(chosen);
  }
  if (!chosen.empty()) flight.waker_.wake(chosen);
}

bool Reader::wait(Waiter& waiter) noexcept {
  auto& flight = *flight_;
  std::lock_guard const lock(flight.mutex_);
  if (cut_off_ || cursor_ < flight.size() || flight.body_state() != BodyState::growing) return false;
  WEIR_ASSERT(waiting_ == nullptr);
  link(
      flight.byte_waiters_, waiter, [](Waiter& w) noexcept { return static_cast<Reader*>(w.where)->cancel_wait(w); }, this);
  waiting_ = &waiter;
  return true;
}

bool Reader::cancel_wait(Waiter& waiter) noexcept {
  std::lock_guard const lock(flight_->mutex_);
  if (!unlink_if_linked(flight_->byte_waiters_, waiter)) return false;
  waiting_ = nullptr;
  return true;
}

bool Reader::wait_for_cut_off(Waiter& waiter) noexcept {
  std::lock_guard const lock(flight_->mutex_);
  if (cut_off_) return false;
  WEIR_ASSERT(cut_off_waiter_.empty());
  link(
      cut_off_waiter_, waiter, [](Waiter& w) noexcept { return static_cast<Reader*>(w.where)->cancel_wait_for_cut_off(w); },
      this);
  return true;
}

bool Reader::cancel_wait_for_cut_off(Waiter& waiter) noexcept {
  std::lock_guard const lock(flight_->mutex_);
  return unlink_if_linked(cut_off_waiter_, waiter);
}

}  // namespace weir::shield
