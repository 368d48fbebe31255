// Answers with lifetimes and dates.
#pragma once

#include <ctime>

#include "scenario/weir.hpp"

namespace weir::test {

// Quiet lifetimes: no jitter, no early refresh.
inline std::string const plain = "freshness: {jitter: off, early_refresh: off}\n";
inline Field max_age(int seconds) { return {"Cache-Control", "max-age=" + std::to_string(seconds)}; }
inline std::string http_date(std::chrono::seconds from_now) {
  auto const at = std::chrono::floor<std::chrono::seconds>(base::read_clock().wall + from_now).time_since_epoch().count();
  std::tm parts{};
  time_t const seconds = at;
  gmtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace weir::test
