// SRV-6 where headers or cookies are keyed: an unsafe request knows the URL that it changed, not under which keyed values
// the URL is stored. So for each URL the number of its last invalidation is remembered, in a table of fixed size without
// keys: URLs that share a place invalidate each other, which costs a validation and is never wrong. Nothing expires and
// nothing is forgotten. Read only where a policy keys headers or cookies. Owner: the daemon. Threads: any; atomics.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "weir/cache/reuse.hpp"

namespace weir::cache {

class InvalidatedUrls {
 public:
  static constexpr std::size_t places = 1U << 16U;  // half a MiB

  // `url_hash`: base::hash_bytes of the key's URL part. `number`: taken from PurgeNumber for this invalidation.
  void invalidate(std::uint64_t url_hash, std::uint64_t number) noexcept {
    auto& place = numbers_[url_hash % places];
    auto seen = place.load(std::memory_order_relaxed);
    while (seen < number && !place.compare_exchange_weak(seen, number, std::memory_order_acq_rel)) {}
  }
  // What began below this number began too early.
  std::uint64_t number(std::uint64_t url_hash) const noexcept {
    return numbers_[url_hash % places].load(std::memory_order_acquire);
  }

 private:
  std::array<std::atomic<std::uint64_t>, places> numbers_{};
};

// `overrule`, and what an invalidation of its URL says of an entry whose fetch began at `purge_number`.
inline Overrule overruled_by_url(Overrule overrule, std::uint64_t purge_number, std::uint64_t url_number) noexcept {
  if (purge_number < url_number) overrule.mode = std::min(overrule.mode, Invalidation::invalid);
  return overrule;
}

}  // namespace weir::cache
