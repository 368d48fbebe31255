#include "hash_index.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weir::store {
namespace {

constexpr std::size_t least_buckets = 8;

// Bits that choose neither the bucket (low) nor the shard (high); never 0, which stands for "nobody".
std::uint32_t fingerprint(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 26) | 1U; }

}  // namespace

void HashIndex::insert(Hook& hook) noexcept {
  if (size_ >= bucket_count() || !grown_) grow();
  Hook*& bucket = buckets()[hook.hash & mask_];
  hook.next = bucket;
  bucket = &hook;
  ++size_;
}

void HashIndex::remove(Hook& hook) noexcept {
  Hook** link = &buckets()[hook.hash & mask_];
  while (*link != &hook) link = &(*link)->next;
  *link = hook.next;
  hook.next = nullptr;
  --size_;
}

void HashIndex::move_to_front(Hook& hook) noexcept {
  Hook*& bucket = buckets()[hook.hash & mask_];
  Hook** link = &bucket;
  while (*link != &hook) link = &(*link)->next;
  *link = hook.next;
  hook.next = bucket;
  bucket = &hook;
}

void HashIndex::grow() noexcept {
  auto const count = std::max(least_buckets, bucket_count() * 2);
  std::unique_ptr<Hook*[]> larger(new (std::nothrow) Hook*[count]());
  std::unique_ptr<std::uint32_t[]> ghosts(new (std::nothrow) std::uint32_t[count]());
  if (!larger || !ghosts) return;
  for (std::size_t i = 0; i < bucket_count(); ++i) {
    // Turned round first, so that pushing to the front keeps the order of use.
    Hook* turned = nullptr;
    for (Hook* hook = buckets()[i]; hook != nullptr;) {
      Hook* const next = std::exchange(hook->next, turned);
      turned = std::exchange(hook, next);
    }
    while (turned != nullptr) {
      Hook* const hook = std::exchange(turned, turned->next);
      Hook*& bucket = larger[hook->hash & (count - 1)];
      hook->next = bucket;
      bucket = hook;
    }
  }
  grown_ = std::move(larger);
  ghosts_ = std::move(ghosts);
  mask_ = count - 1;
}

void HashIndex::remember_ghost(std::uint64_t hash) noexcept {
  if (ghosts_) ghosts_[hash & mask_] = fingerprint(hash);
}

bool HashIndex::take_ghost(std::uint64_t hash) noexcept {
  if (!ghosts_ || ghosts_[hash & mask_] != fingerprint(hash)) return false;
  ghosts_[hash & mask_] = 0;
  return true;
}

}  // namespace weir::store
