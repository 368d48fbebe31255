// The keys with the most requests, misses and collapsed requests, and the paths with the most misses of the window, in
// bounded memory: what /v1/hot lists (OBS-3) and the miss-rate signal names (MR-1). Each worker counts in its own;
// space-saving (an unknown key takes the place of the least, and what that had is its error), so a count is never below the
// truth and above it by at most `error`. Hits are counted one in `hit_sample`. Owner: WorkerMetrics' worker; readers
// from any thread: one mutex, taken by the worker for what is no hit and for one hit in `hit_sample`.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/observe/metrics.hpp"

namespace weir::observe {

struct HotKey {
  std::string key;  // as it was counted, at most `hot_key_bytes`
  std::uint64_t count = 0;
  std::uint64_t error = 0;  // of `count`, how much may be others'
};

inline constexpr std::size_t hot_key_count = 128;
inline constexpr std::size_t hot_key_bytes = 512;

class Hottest {
 public:
  void count(std::string_view key, std::uint64_t hash, std::uint64_t weight);
  // Everything that is counted, the most first.
  std::vector<HotKey> all() const;
  void clear() noexcept { size_ = least_at_ = 0, least_ = 0; }

 private:
  std::size_t place_of(std::uint64_t hash) const noexcept;  // `hot_key_count`: nowhere
  std::size_t place_of_least() noexcept;

  std::size_t size_ = 0;
  std::array<std::uint8_t, hot_key_count> marks_{};  // low bits of the hashes, which memchr looks through (3,700
                                                     // instructions of a miss became 500)
  // No count is below this, and none before this place is at it: what is counted anew is always above.
  std::uint64_t least_ = 0;
  std::size_t least_at_ = 0;
  std::array<std::uint64_t, hot_key_count> hashes_{};
  std::array<std::uint64_t, hot_key_count> counts_{};
  std::array<std::uint64_t, hot_key_count> errors_{};
  std::array<std::string, hot_key_count> keys_;
};

enum class Hot : std::uint8_t { requests, misses, collapsed };

class HotKeys {
 public:
  static constexpr std::uint32_t hit_sample = 16;

  // A request for a primary key, answered so.
  void count(Outcome outcome, std::string_view key, std::uint64_t hash) noexcept;
  std::vector<HotKey> hottest(Hot what) const;

  // Of the window that ends with this call.
  struct Window {
    std::uint64_t requests = 0, misses = 0;
    std::vector<HotKey> paths;  // scheme, authority and path of the keys that were missed
  };
  Window end_window();

 private:
  std::uint32_t hits_ = 0;    // the worker's own
  mutable std::mutex mutex_;  // guards all below
  std::array<Hottest, 3> hottest_;
  Hottest missed_paths_;
  std::uint64_t requests_ = 0, misses_ = 0;
};

// Those of several workers in one list of at most `most`.
std::vector<HotKey> merged(std::vector<std::vector<HotKey>> const& lists, std::size_t most);

}  // namespace weir::observe
