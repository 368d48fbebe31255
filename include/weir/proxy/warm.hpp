// WRM-1: a list of URLs, fetched ahead at background priority: each waits for a permit that no foreground request needs, so
// many at a time, spread over the workers. What is fresh already is skipped. One list is under way at a time; it ends when
// all were tried, or when a drain begins. Owner: the daemon; outlives the workers. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weir/proxy/context.hpp"

namespace weir::proxy {

inline constexpr std::size_t most_warm_urls = 10'000;
inline constexpr std::size_t warm_at_once = 16;
inline constexpr std::size_t named_warm_failures = 20;

struct WarmOrder {
  std::vector<std::string> urls;                            // absolute; the scheme is the one that is keyed
  std::vector<std::pair<std::string, std::string>> fields;  // of each request: what selects a variant, or is keyed
};

struct WarmProgress {
  std::uint64_t id = 0;  // 0: nothing was ever warmed
  std::uint64_t total = 0, done = 0, skipped = 0, failed = 0, under_way = 0;
  bool ended = false;                                                // with less than all tried: by a drain
  std::vector<std::pair<std::string, std::string_view>> failures{};  // the first few: URL, why
};

struct WarmBegun {
  std::vector<std::string> mistakes;  // not empty: nothing was begun
  std::uint64_t id = 0;               // 0: another list is under way
  std::uint64_t total = 0;
};

class Warmer {
 public:
  explicit Warmer(Shared& shared) noexcept : shared_(shared) {}
  WarmBegun begin(WarmOrder order, config::Settings const& settings, std::vector<Local*> const& workers);
  WarmProgress progress() const;

 private:
  struct Job;
  struct LaneEnd;
  static asio::awaitable<void> work(Local& local, std::shared_ptr<Job> job);

  Shared& shared_;
  mutable std::mutex mutex_;  // guards all below
  std::uint64_t last_id_ = 0;
  std::shared_ptr<Job> job_;  // the latest
};

}  // namespace weir::proxy
