// Time as the shared store's server tells it, so that no node's wall clock matters (PRG-1, VAL-2). Threads: pure.
#pragma once

#include <cstdint>

#include "weir/base/clock.hpp"

namespace weir::store {

// The same moment on this process's steady clock and on the server's clock.
struct Moment {
  base::SteadyTime here{};
  std::int64_t there = 0;  // µs since the epoch; 0: the server has not said yet
};

// To whole µs, downwards; what is out of range ends at its edge. `to_there(m, to_here(m, x)) == x` within.
std::int64_t to_there(Moment const& moment, base::SteadyTime time) noexcept;
base::SteadyTime to_here(Moment const& moment, std::int64_t time) noexcept;

}  // namespace weir::store
