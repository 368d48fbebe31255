// MODE-1: what an operator has said to do during an incident, and until when. What a mode permits is decided in reuse.hpp.
// Not a setting: a reload leaves it as it is, a restart ends it. Owner: the daemon. Threads: any; reading is one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::cache {

enum class Mode : std::uint8_t {
  normal,
  stale_on_error,  // when the origin fails, whatever is stored may stand in, unless it was invalidated or forbids it by name
  bypass,          // nothing is served from the store, and nothing goes into it
};
inline constexpr std::size_t mode_count = 3;
std::string_view label(Mode mode) noexcept;  // "stale-on-error"
std::optional<Mode> parse_mode(std::string_view text) noexcept;

class CurrentMode {
 public:
  Mode at(base::SteadyTime now) const noexcept {
    auto const word = word_.load(std::memory_order_acquire);
    return word == 0 || now >= end_in(word) ? Mode::normal : mode_in(word);
  }
  // What is left of it at `now`; zero in `normal`.
  base::Duration left(base::SteadyTime now) const noexcept;
  // `until` has no say for `normal`.
  void set(Mode mode, base::SteadyTime until) noexcept;
  // The mode that has come to its end by `now`; told once.
  std::optional<Mode> ended(base::SteadyTime now) noexcept;

 private:
  // Both in one word, as they are read together: nanoseconds of the end, with the mode in the two lowest bits. 0: normal.
  static constexpr std::int64_t mode_bits = 3;
  static Mode mode_in(std::int64_t word) noexcept { return static_cast<Mode>(word & mode_bits); }
  static base::SteadyTime end_in(std::int64_t word) noexcept { return base::SteadyTime(base::Duration(word & ~mode_bits)); }

  std::atomic<std::int64_t> word_{0};
};

}  // namespace weir::cache
