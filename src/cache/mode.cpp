#include "weir/cache/mode.hpp"

namespace weir::cache {

std::string_view label(Mode mode) noexcept {
  switch (mode) {
    case Mode::normal:
      return "normal";
    case Mode::stale_on_error:
      return "stale-on-error";
    case Mode::bypass:
      return "bypass";
  }
  return "normal";
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
  for (auto const mode : {Mode::normal, Mode::stale_on_error, Mode::bypass})
    if (text == label(mode)) return mode;
  return std::nullopt;
}

base::Duration CurrentMode::left(base::SteadyTime now) const noexcept {
  auto const word = word_.load(std::memory_order_acquire);
  return word == 0 || now >= end_in(word) ? base::Duration::zero() : end_in(word) - now;
}

void CurrentMode::set(Mode mode, base::SteadyTime until) noexcept {
  auto const end = until.time_since_epoch().count() & ~mode_bits;
  word_.store(mode == Mode::normal ? 0 : end | static_cast<std::int64_t>(mode), std::memory_order_release);
}

std::optional<Mode> CurrentMode::ended(base::SteadyTime now) noexcept {
  auto word = word_.load(std::memory_order_acquire);
  if (word == 0 || now < end_in(word)) return std::nullopt;
  if (!word_.compare_exchange_strong(word, 0, std::memory_order_acq_rel)) return std::nullopt;
  return mode_in(word);
}

}  // namespace weir::cache
