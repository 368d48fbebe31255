// The rows of the table: what the origin does, what the clients do, and what is worth saying of it. Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crowd.hpp"

namespace weir::stampede {

struct Outcome {
  unsigned calls = 0;  // at the origin
  Seconds median{0};   // of the answers that came
  Seconds last{0};
  std::string note;  // no tabulators
};

struct Row {
  std::string_view name;
  std::string_view title;
  std::string_view weir_settings;  // for `--set`, separated by blanks; empty: as shipped
  Outcome (*play)(SlowOrigin& origin, demo::Tcp::endpoint proxy);
};

std::vector<Row> const& rows();

}  // namespace weir::stampede
