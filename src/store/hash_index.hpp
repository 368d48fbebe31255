// Buckets of nodes by primary-key hash, and the ghost of S3-FIFO: fingerprints of keys that were lately evicted from the
// small queue. Both are sized with the number of nodes, 8 and 4 bytes a bucket, at most one node a bucket on average.
// In a bucket the node used last stands first, so that of one key's variants the last is the least recently used.
// Threads: guarded by the shard's mutex. Allocates only to grow; without memory the chains get longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hook.hpp"

namespace weir::store {

class HashIndex {
 public:
  HashIndex() = default;
  HashIndex(HashIndex const&) = delete;
  HashIndex& operator=(HashIndex const&) = delete;

  Hook* first(std::uint64_t hash) const noexcept { return buckets()[hash & mask_]; }
  std::size_t bucket_count() const noexcept { return mask_ + 1; }
  Hook* bucket(std::size_t number) const noexcept { return buckets()[number]; }
  std::size_t size() const noexcept { return size_; }
  // Bytes allocated.
  std::size_t footprint() const noexcept { return grown_ ? bucket_count() * (sizeof(Hook*) + sizeof(std::uint32_t)) : 0; }

  // At the front of its bucket; `hook.hash` is set.
  void insert(Hook& hook) noexcept;
  void remove(Hook& hook) noexcept;
  void move_to_front(Hook& hook) noexcept;

  void remember_ghost(std::uint64_t hash) noexcept;
  // Whether it is there; then it is no longer.
  bool take_ghost(std::uint64_t hash) noexcept;

 private:
  Hook** buckets() noexcept { return grown_ ? grown_.get() : &only_; }
  Hook* const* buckets() const noexcept { return grown_ ? grown_.get() : &only_; }
  void grow() noexcept;

  std::unique_ptr<Hook*[]> grown_;
  std::unique_ptr<std::uint32_t[]> ghosts_;
  Hook* only_ = nullptr;  // the one bucket of an index that never grew
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weir::store
