// Label values: the enumerators' words with '-' between them.
#include <array>

#include "weir/observe/metrics.hpp"

namespace weir::observe {
namespace {

template <std::size_t Size, class Enum>
std::string_view word(std::array<std::string_view, Size> const& words, Enum value) noexcept {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view label(Outcome outcome) noexcept {
  static constexpr std::array<std::string_view, outcome_count> words{
      "hit",   "stale",   "miss", "revalidated", "collapsed", "pass",    "bypass",
      "purge", "refused", "shed", "error",       "tunnel",    "redirect"};
  return word(words, outcome);
}

std::string_view label(FetchClass fetch) noexcept {
  static constexpr std::array<std::string_view, fetch_class_count> words{
      "miss",  "revalidate", "pass",        "bypass",   "background", "warm", "probe",
      "retry", "resume",     "replacement", "mismatch", "range",      "hedge"};
  return word(words, fetch);
}

std::string_view label(FetchResult result) noexcept {
  static constexpr std::array<std::string_view, fetch_result_count> words{
      "ok", "not-modified", "client-error", "server-error", "connect-failed", "timeout", "broken", "abandoned", "shed"};
  return word(words, result);
}

std::string_view label(ShedReason reason) noexcept {
  static constexpr std::array<std::string_view, shed_reason_count> words{
      "queue-full", "queue-timeout", "breaker-open", "coalesce-overflow", "draining", "connections"};
  return word(words, reason);
}

std::string_view label(StaleReason reason) noexcept {
  static constexpr std::array<std::string_view, stale_reason_count> words{
      "while-revalidate", "if-error", "coalesce-timeout", "shed", "breaker-open", "incident"};
  return word(words, reason);
}

std::string_view label(CoalesceFallback fallback) noexcept {
  static constexpr std::array<std::string_view, coalesce_fallback_count> words{"stale", "replacement", "wait-on",
                                                                               "gateway-timeout"};
  return word(words, fallback);
}

}  // namespace weir::observe
