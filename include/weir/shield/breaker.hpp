// CB-1: whether an origin is asked at all. Closed, it counts outcomes in ten buckets that slide over `window`; too many
// failures open it; when its time is up one probe may go, which closes it or opens it for longer. What counts as a failure
// is the caller's verdict (origin-health failures, SPEC section 1). No clock and no dice: `now` and a random number are
// passed in. One mutex. Owner: the daemon, one for each origin, kept by name over reloads; outlives the workers. Threads:
// any.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::shield {

struct BreakerRules {
  bool enabled = true;
  std::uint32_t failure_percent = 50;  // 1 to 100
  std::uint32_t min_requests = 20;     // outcomes in the window before it may open
  base::Duration window = std::chrono::seconds(10);
  base::Duration open = std::chrono::seconds(5);       // the first time; doubles with each probe that failed
  base::Duration open_max = std::chrono::seconds(60);  // before jitter
};

// How much longer than `open` it may stay open, in percent, so that many nodes do not probe together.
inline constexpr std::uint32_t breaker_jitter_percent = 20;

enum class BreakerState : std::uint8_t { closed, half_open, open };  // as weir_breaker_state: 0, 1, 2
std::string_view label(BreakerState state) noexcept;                 // "half-open"

class Breaker;

// The one fetch that may find out. Move-only; one that ends unjudged reopens the breaker, for as long as before, from the
// moment at which it was let through.
class Probe {
 public:
  Probe() = default;
  Probe(Probe&& other) noexcept;
  Probe& operator=(Probe&& other) noexcept;
  ~Probe();
  explicit operator bool() const noexcept { return breaker_ != nullptr; }
  // The verdict, once.
  void succeeded() noexcept;
  void failed(base::SteadyTime now, std::uint64_t random) noexcept;

 private:
  friend class Breaker;
  Breaker* breaker_ = nullptr;
  base::SteadyTime asked_{};
  std::uint64_t random_ = 0;  // for the jitter of the destructor
};

enum class Ask : std::uint8_t {
  open,    // no fetch may reach the origin
  probe,   // this one alone may: `probe`
  closed,  // it may; its outcome is to be recorded
};

struct Asked {
  Ask answer = Ask::open;
  Probe probe;
};

class Breaker {
 public:
  explicit Breaker(BreakerRules const& rules) noexcept : rules_(rules) {}
  Breaker(Breaker const&) = delete;
  Breaker& operator=(Breaker const&) = delete;

  // Before queueing for a permit: whether it is certain that `ask` would say open. Takes no probe. `bodiless` as for `ask`.
  bool refuses(base::SteadyTime now, bool bodiless) noexcept;
  // With the permit in hand. `bodiless`: its client could send it again; any other is the probe only if for once more the
  // time that it was open none of these came. `random`: any 64 bits, for the jitter if the probe ends unjudged.
  Asked ask(base::SteadyTime now, bool bodiless, std::uint64_t random) noexcept;
  // The outcome of a fetch that was told `closed`. `failed` returns true if this opened it: then the limiter's queue is
  // to be emptied. Outcomes that come while it is not closed are late and count for nothing.
  void succeeded(base::SteadyTime now) noexcept;
  bool failed(base::SteadyTime now, std::uint64_t random) noexcept;

  BreakerState state() const noexcept;
  // How often it came to this state.
  std::uint64_t transitions(BreakerState to) const noexcept;
  // Counts start anew when the window changed. Disabled, it says closed to all, and is closed as soon as no probe is out.
  void set_rules(BreakerRules const& rules) noexcept;

 private:
  friend class Probe;
  static constexpr std::size_t bucket_count = 10;
  struct Bucket {
    std::int64_t index = -1;  // number of the bucket since the clock's start
    std::uint32_t successes = 0;
    std::uint32_t failures = 0;
  };

  void probe_succeeded() noexcept;
  void probe_failed(base::SteadyTime now, std::uint64_t random) noexcept;
  void probe_unjudged(base::SteadyTime asked, std::uint64_t random) noexcept;
  // All below: under the mutex.
  Bucket& bucket(base::SteadyTime now) noexcept;
  bool too_many_failures(base::SteadyTime now) const noexcept;
  base::Duration bucket_width() const noexcept;
  bool is_open_at(base::SteadyTime now, bool bodiless) const noexcept;
  void become(BreakerState to) noexcept;
  void close() noexcept;
  void open_for(base::Duration duration, std::uint64_t random) noexcept;

  mutable std::mutex mutex_;  // guards all below
  BreakerRules rules_;
  BreakerState state_ = BreakerState::closed;
  std::array<Bucket, bucket_count> buckets_{};
  base::Duration last_open_{};  // without jitter; 0: closed since
  base::Duration jittered_{};   // how long it is open
  base::SteadyTime opened_{};
  std::array<std::uint64_t, 3> transitions_{};
};

}  // namespace weir::shield
