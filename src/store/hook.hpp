// What the memory store links: stored responses and key records, both through `StoredResponse::Hook`. A node under a
// primary key is in one hash bucket and in one queue. Threads: guarded by the mutex of the shard that links the node.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/intrusive/parent_from_member.hpp>

#include "weir/cache/stored_response.hpp"

namespace weir::store {

using Hook = cache::StoredResponse::Hook;

enum class Place : std::uint8_t { none, small, main, record };

inline Place place_of(Hook const& hook) noexcept { return static_cast<Place>(hook.queue); }

inline cache::StoredResponse const& entry_of(Hook& hook) noexcept {
  return *boost::intrusive::get_parent_from_member<cache::StoredResponse, Hook>(&hook, &cache::StoredResponse::hook);
}

// First in, first out; nodes also leave from the middle.
class Fifo {
 public:
  explicit Fifo(Place place) noexcept : place_(place) {}
  Fifo(Fifo const&) = delete;
  Fifo& operator=(Fifo const&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  Hook& front() const noexcept { return *first_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return bytes_; }

  void push_back(Hook& hook, std::size_t bytes) noexcept {
    hook.queue = static_cast<std::uint8_t>(place_);
    hook.queue_prev = last_;
    hook.queue_next = nullptr;
    (last_ != nullptr ? last_->queue_next : first_) = &hook;
    last_ = &hook;
    ++size_;
    bytes_ += bytes;
  }

  void remove(Hook& hook, std::size_t bytes) noexcept {
    (hook.queue_prev != nullptr ? hook.queue_prev->queue_next : first_) = hook.queue_next;
    (hook.queue_next != nullptr ? hook.queue_next->queue_prev : last_) = hook.queue_prev;
    hook.queue_prev = hook.queue_next = nullptr;
    hook.queue = static_cast<std::uint8_t>(Place::none);
    --size_;
    bytes_ -= bytes;
  }

  // A node whose weight changed while it was linked.
  void reweigh(std::size_t before, std::size_t after) noexcept { bytes_ = bytes_ - before + after; }

 private:
  Place place_;
  Hook* first_ = nullptr;
  Hook* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weir::store
