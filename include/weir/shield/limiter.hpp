// LIM-1, LIM-2: how many fetches an origin gets at once, who waits, who is next. FIFO with work-conserving fairness between
// partitions: a free permit goes to the request that has waited longest among those whose partition holds less than
// `max_per_partition`; only when there is none, to a partition that holds that many or more, the one with the fewest first,
// and never beyond `max_partition_share`. Patient background work waits in a line of its own, until a permit is left over
// that background work may take. Uploads have permits and a queue of their own by the same rules; `max_queue` and a
// partition's quarter of it are over both. Streams do not queue. One mutex a limiter; a permit's destructor gives it back
// and hands it on. No clock: waits are bounded by whoever waits. Owner: the daemon, one for each origin, kept by name over
// reloads; outlives the workers. Threads: any.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/shield/waiter.hpp"

namespace weir::shield {

struct LimiterRules {
  std::uint32_t max_concurrent = 64;
  std::uint32_t max_streams = 256;
  std::uint32_t max_uploads = 32;
  std::uint32_t max_queue = 8192;
  std::uint32_t max_per_partition = 16;
  std::uint32_t max_partition_share = 75;  // percent
  std::uint32_t foreground_reserve = 25;   // percent that background work never takes, of all and of max_per_partition
};

enum class PermitClass : std::uint8_t { fetch, background, upload, stream };

class Limiter;

// One fetch's right to be at the origin. Move-only.
class Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept;
  Permit& operator=(Permit&& other) noexcept;
  ~Permit() { release(); }
  explicit operator bool() const noexcept { return limiter_ != nullptr; }
  void release() noexcept;
  // Event streams, tunnels, answers that are not stored: gives the fetch permit back and counts as a stream. False when all
  // stream permits are taken (the permit then stays what it is).
  bool move_to_stream() noexcept;
  // FWD-7: somebody waits for what began as background work. Nothing for other classes.
  void to_foreground() noexcept;
  PermitClass permit_class() const noexcept { return class_; }

 private:
  friend class Limiter;
  Limiter* limiter_ = nullptr;
  PermitClass class_ = PermitClass::fetch;
  std::uint64_t partition_ = 0;
};

// Can be used again once it is free. `permit_class`, `partition`, `worker`, `resume` and `context` are its owner's to set.
struct PermitWaiter : Waiter {
  ~PermitWaiter() { let_go(); }

  PermitClass permit_class = PermitClass::fetch;
  bool patient = false;         // background: queued behind everyone, instead of dropped (WRM-1)
  std::uint64_t partition = 0;  // hash of the partition
  Permit permit;                // filled when chosen, unless `refused`
  bool refused = false;         // the queue was emptied (breaker opened, shutdown)
  std::uint64_t turn = 0;       // the limiter's own
};

enum class Acquire : std::uint8_t {
  queue_full,
  not_now,
  queued,
  granted
};  // not_now: background work is dropped, not queued, unless it is patient

class Limiter {
 public:
  Limiter(Waker& waker, LimiterRules const& rules);
  ~Limiter();
  // granted: waiter.permit is set. queued: the waiter is linked. queue_full: also streams beyond max_streams, and no memory.
  Acquire acquire(PermitWaiter& waiter) noexcept;
  // What `acquire` would say now; takes nothing.
  Acquire foresee(PermitClass permit_class, std::uint64_t partition) const noexcept;
  // True: it was linked and now is free. False: chosen, its post is on the way.
  bool cancel(PermitWaiter& waiter) noexcept;
  void refuse_all() noexcept;
  void set_rules(LimiterRules const& rules) noexcept;

  struct Stats {
    std::uint32_t fetches = 0, background = 0, uploads = 0, streams = 0, queued = 0;
    std::uint32_t most_at_once = 0;  // fetches and background
    std::uint64_t queued_ever = 0;
    std::uint32_t patient = 0;
  };
  Stats stats() const noexcept;

 private:
  friend class Permit;
  struct Impl;
  void give_back(PermitClass permit_class, std::uint64_t partition) noexcept;
  // Both under the mutex.
  void grant(PermitWaiter& waiter) noexcept;
  void hand_on(WaiterList& chosen) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::shield
