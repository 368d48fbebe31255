// The purge number (SPEC section 1): counts invalidations of this node. A fetch takes the current one when it enters the
// flight table; an invalidation takes the next one before it looks at flights or entries. Owner: the daemon. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::cache {

class PurgeNumber {
 public:
  std::uint64_t current() const noexcept { return number_.load(std::memory_order_acquire); }
  std::uint64_t next() noexcept { return number_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  void raise_to(std::uint64_t at_least) noexcept {
    auto seen = number_.load(std::memory_order_relaxed);
    while (seen < at_least && !number_.compare_exchange_weak(seen, at_least, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<std::uint64_t> number_{1};
};

}  // namespace weir::cache
