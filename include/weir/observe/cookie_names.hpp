// Which cookies make requests ones with credentials (FWD-3), so that an operator sees what keeps his pages out of the cache:
// names, never values. The most frequent ones in bounded memory: a name that is in more than one of `places` requests is
// never missing, however many others there are (Space-Saving). Owner: the daemon. Threads: any; one mutex, taken only for
// requests with such cookies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"

namespace weir::observe {

class CookieNames {
 public:
  static constexpr std::size_t places = 64;
  static constexpr std::size_t longest = 64;  // bytes kept of a name
  // How often `look` logs, and from which share of requests on: more than one in `bad_share`.
  static constexpr base::Duration period = std::chrono::hours(1);
  static constexpr std::uint64_t bad_share = 5;

  // One cookie of one request.
  void count(std::string_view name) noexcept;

  struct Row {
    std::string name;
    std::uint64_t requests = 0;  // at most so many; too high by what was counted under names that had its place before
  };
  std::vector<Row> top(std::size_t at_most) const;

  // Called now and then by one thread: logs the names once a `period` while requests with credential cookies were over
  // the share in it. `cacheable` and `with_credential`: all since the start. True: it logged.
  bool look(base::SteadyTime now, std::uint64_t cacheable, std::uint64_t with_credential);

 private:
  struct Place {
    std::array<char, longest> bytes{};
    std::uint8_t size = 0;
    std::uint64_t count = 0;
    std::string_view name() const noexcept { return {bytes.data(), size}; }
  };

  mutable std::mutex mutex_;  // guards `table_`
  std::array<Place, places> table_;
  // Of `look` alone:
  base::SteadyTime next_look_ = base::SteadyTime::min();
  std::uint64_t cacheable_then_ = 0, with_credential_then_ = 0;
};

// FWD-2: the names that strict mode took off in the first minutes, logged once: an operator who switches it on sees what the
// origin does not get any more. Threads: as above.
class StrippedCookies {
 public:
  static constexpr base::Duration watched = std::chrono::minutes(5);

  bool watching() const noexcept { return watching_.load(std::memory_order_relaxed); }
  void count(std::string_view name) noexcept { names_.count(name); }
  // Called now and then by one thread. True: it logged.
  bool look(base::SteadyTime now);

 private:
  CookieNames names_;
  std::atomic<bool> watching_{true};
  base::SteadyTime until_ = base::SteadyTime::min();  // of `look` alone
};

}  // namespace weir::observe
