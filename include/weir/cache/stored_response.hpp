// A stored response: immutable, one allocation (facts, tags, key, selector, head bytes, body), an intrusive count. A refresh by
// 304 is a second, small one that points at the allocation which owns the body, never at another refresh. Owner: whoever
// holds a Ref; the store holds one while the entry is live. Threads: any, except `hook`, which belongs to the store's
// shard mutex, and the building phase, which belongs to the fetch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/intrusive.hpp"
#include "weir/cache/facts.hpp"

namespace weir::cache {

// Bytes of stored responses and flight bodies that exist, wherever they are pinned (MEM-1). Outlives them all.
class MemoryAccount {
 public:
  void add(std::size_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

// The hash of a tag, a group, a URL, ... that a purge may name (cache/epochs.hpp).
using Tag = std::uint64_t;

class StoredResponse final : public base::Counted<StoredResponse> {
  std::uint32_t key_size_;  // first, in the hole behind the count

 public:
  // Room for a store to link the response. Guarded by the store; `queue` is 0 while the response is in none.
  struct Hook {
    Hook* next = nullptr;  // in the hash bucket
    Hook* queue_prev = nullptr;
    Hook* queue_next = nullptr;
    std::uint64_t hash = 0;  // of the primary key
    base::SteadyTime keep_until{};
    std::atomic<std::uint8_t> frequency{0};
    std::uint8_t queue = 0;
    std::atomic<std::uint32_t> refresh_from{0};  // not the store's: `claim_refresh`, in the hole that is left here
  };

  struct Parts {
    std::string_view key;       // primary key
    std::string_view selector;  // encoded Vary names and request values that selected it (cache/vary.hpp); empty: no Vary
    std::string_view head;      // status line and field lines, each with CRLF, no blank line; as sent to clients
    Facts facts;
    std::span<Tag const> tags{};
  };

  // `body_size` bytes of body area, to be filled through `body_area` before the response is shown to anyone else (or
  // shown by a release store of a length elsewhere). Throws std::bad_alloc.
  static base::Ref<StoredResponse> make(Parts const& parts, std::size_t body_size, MemoryAccount& account);
  // The same body with a new head and new facts (RFC 9111 4.3.4).
  static base::Ref<StoredResponse> refreshed(Parts const& parts, base::Ref<StoredResponse const> const& body_owner,
                                             MemoryAccount& account);
  static void destroy(StoredResponse const* response) noexcept;

  std::span<Tag const> tags() const noexcept { return {reinterpret_cast<Tag const*>(this + 1), tag_count_}; }
  std::string_view key() const noexcept { return {trailer(), key_size_}; }
  std::string_view selector() const noexcept { return {trailer() + key_size_, selector_size_}; }
  std::string_view head() const noexcept { return {trailer() + key_size_ + selector_size_, head_size_}; }
  std::string_view body() const noexcept { return owner_ ? owner_->body() : std::string_view(own_body(), body_size_); }
  char* body_area() noexcept { return const_cast<char*>(own_body()); }
  Facts const& facts() const noexcept { return facts_; }
  std::string_view text(Slice slice) const noexcept { return head().substr(slice.offset, slice.size); }
  std::string_view etag() const noexcept { return text(facts_.etag); }
  std::string_view last_modified() const noexcept { return text(facts_.last_modified); }
  // What this allocation takes from the budget, malloc's own overhead estimated; a refresh counts itself only.
  std::size_t footprint() const noexcept;
  StoredResponse const* body_owner() const noexcept { return owner_ ? owner_.get() : this; }

  // STL-1, FRS-3: true for one caller, who begins a background refresh; for the others only `patience` later (in whole
  // seconds), if it has replaced nothing by then. Any thread.
  bool claim_refresh(base::SteadyTime now, base::Duration patience) const noexcept;
  // The refresh came to nothing: another may begin `patience` from now.
  void release_refresh(base::SteadyTime now, base::Duration patience) const noexcept;

  // PRG-1: the purge number up to which nothing overrules it; at first the one at which its fetch began. Any thread.
  std::uint64_t checked_at() const noexcept { return checked_at_.load(std::memory_order_relaxed); }
  void set_checked_at(std::uint64_t number) const noexcept { checked_at_.store(number, std::memory_order_relaxed); }

  mutable Hook hook;

 private:
  StoredResponse(Parts const& parts, std::size_t body_size, base::Ref<StoredResponse const> owner,
                 MemoryAccount& account) noexcept;
  ~StoredResponse() = default;
  static base::Ref<StoredResponse> allocate(Parts const& parts, std::size_t body_size, base::Ref<StoredResponse const> owner,
                                            MemoryAccount& account);
  char const* trailer() const noexcept { return reinterpret_cast<char const*>(this + 1) + tag_count_ * sizeof(Tag); }
  char const* own_body() const noexcept { return trailer() + key_size_ + selector_size_ + head_size_; }

  Facts facts_;
  MemoryAccount* account_;
  base::Ref<StoredResponse const> owner_;  // of the body; null: this
  std::size_t body_size_;                  // of the own body
  mutable std::atomic<std::uint64_t> checked_at_;
  std::uint32_t selector_size_, head_size_, tag_count_;
};

using Entry = base::Ref<StoredResponse const>;

}  // namespace weir::cache
