// One shard of the memory store: an index, the two queues of S3-FIFO and the key records, under one mutex, `mutex_`, which
// is never held across a call out. What leaves the shard is released after the mutex, up to the size of `Released`.
// Threads: any. Owner: MemoryStore.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hash_index.hpp"
#include "hook.hpp"
#include "key_record.hpp"
#include "weir/store/memory_store.hpp"

namespace weir::store {

// The small queues' part of all that is stored: a tenth.
inline constexpr std::size_t small_share = 10;

// Shared by all shards: what exists, how much of it eviction could set free if no reader pins it, and how much of that is in
// small queues. A tenth is one of all shards together: a shard may hold a few entries, or one large one.
struct Budget {
  cache::MemoryAccount& account;
  std::size_t max_bytes;
  std::atomic<std::size_t> evictable{0};
  std::atomic<std::size_t> in_small{0};

  bool small_is_due() const noexcept {
    return in_small.load(std::memory_order_relaxed) * small_share > evictable.load(std::memory_order_relaxed);
  }

  bool fits() const noexcept { return account.bytes() <= max_bytes; }
  bool could_fit() const noexcept {
    auto const all = account.bytes();
    auto const some = evictable.load(std::memory_order_relaxed);
    return all <= some || all - some <= max_bytes;
  }
};

// Key records of all shards take at most this part of the budget (1/16), and at least `least_record_bytes` a shard.
inline constexpr std::size_t record_share = 16;
inline constexpr std::size_t least_record_bytes = std::size_t{16} * 1024;
inline constexpr std::size_t shard_count = 64;

// References that the shard gave up; declare it before the lock, so that they go after it.
class Released {
 public:
  Released() = default;
  ~Released() {
    for (std::size_t i = 0; i < size_; ++i) intrusive_ptr_release(entries_[i]);
  }
  Released(Released const&) = delete;
  Released& operator=(Released const&) = delete;

  bool full() const noexcept { return size_ == capacity; }
  // Takes over one reference. When full it goes at once, under the lock: correct, only slower.
  void add(cache::StoredResponse const& entry) noexcept {
    if (full())
      intrusive_ptr_release(&entry);
    else
      entries_[size_++] = &entry;
  }

 private:
  static constexpr std::size_t capacity = 16;
  cache::StoredResponse const* entries_[capacity];
  std::size_t size_ = 0;
};

class alignas(64) Shard {
 public:
  explicit Shard(Budget& budget) noexcept;
  ~Shard();
  Shard(Shard const&) = delete;
  Shard& operator=(Shard const&) = delete;

  Lookup peek(Question const& question, base::Now now) noexcept;
  std::vector<std::string> vary_spec(std::string_view key, std::uint64_t hash);
  // What `put` would say if there is room, so that no room is made for what is refused.
  Put admit(cache::StoredResponse const& entry, std::uint64_t hash, base::Now now) noexcept;
  // The caller made room.
  Put put(cache::Entry entry, std::uint64_t hash, base::SteadyTime keep_until, std::uint32_t max_variants,
          base::Now now) noexcept;
  void announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                     base::SteadyTime until) noexcept;
  void mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until, base::Now now) noexcept;
  void remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                        base::Now now) noexcept;
  std::size_t invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                         base::SteadyTime record_until, base::Now now) noexcept;

  // Drops one entry; false if there is none. `spares_main`: also if it would be one of the main queue while small queues of
  // other shards hold more than their share.
  bool evict(bool spares_main = false) noexcept;

  struct Swept {
    std::size_t looked_at = 0;
    std::size_t dropped = 0;
    bool finished = false;  // the end of the index was reached; the next call begins anew
  };
  // Looks at about `max_nodes`, fewer when enough was dropped for one hold of the mutex.
  Swept sweep(base::Now now, std::size_t max_nodes) noexcept;

  Variants variants(std::string_view key, std::uint64_t hash, base::Now now) const;  // without the spec
  std::vector<cache::Entry> entries() const;
  std::vector<Kept> kept();
  void add_to(StoreStats& stats) const noexcept;

 private:
  // Calls visit(entry) or visit(record) for each node under the key, the entry used last first; `visit` may drop the node, and
  // may throw.
  template <class OnEntry, class OnRecord>
  void for_each(std::string_view key, std::uint64_t hash, OnEntry&& on_entry, OnRecord&& on_record) const;
  struct Judged {
    Put put = Put::not_newer;
    cache::StoredResponse const* same = nullptr;  // the variant that it replaces
    KeyRecord* record = nullptr;
  };
  Judged judge(cache::StoredResponse const& entry, std::uint64_t hash, base::Now now, Released& released) noexcept;
  KeyRecord* find_record(std::string_view key, std::uint64_t hash) noexcept;
  KeyRecord* find_or_make_record(std::string_view key, std::uint64_t hash) noexcept;
  void drop_record(KeyRecord& record) noexcept;
  void bound_records(KeyRecord const& except, Released& released) noexcept;
  bool is_idle(KeyRecord& record, base::SteadyTime now) noexcept;
  // For an invalidation that cannot be remembered by key: no fetch that began below `number` stores here until then, and
  // what it overruled under the key goes.
  void forget_safely(std::string_view key, std::uint64_t hash, std::uint64_t number, base::SteadyTime until,
                     Released& released) noexcept;

  Fifo& queue_of(Hook const& hook) noexcept { return place_of(hook) == Place::main ? main_ : small_; }
  void link(cache::Entry entry, Place place, std::uint8_t frequency) noexcept;
  void drop(cache::StoredResponse const& entry, Released& released) noexcept;
  void expire(cache::StoredResponse const& entry, Released& released) noexcept;
  void insert_into_index(Hook& hook) noexcept;
  Hook* next_victim(bool spares_main) noexcept;
  void see(base::Now now) noexcept;

  Budget& budget_;
  mutable std::mutex mutex_;  // guards all below, and the hooks of what is linked
  HashIndex index_;
  Fifo small_{Place::small};
  Fifo main_{Place::main};
  Fifo records_{Place::record};
  // The latest moment that a call brought: "now" for calls that bring none.
  base::SteadyTime seen_{};
  std::uint64_t floor_number_ = 0;  // of invalidations whose records had to go early (`forget_safely`)
  base::SteadyTime floor_until_{};
  std::size_t sweep_bucket_ = 0;
  std::uint64_t evicted_small_ = 0, evicted_main_ = 0, expired_ = 0;
};

}  // namespace weir::store
