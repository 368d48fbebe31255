// The test's hand on the clock: links only with the `weir_clock_turned` library, never with the shipped binary.
#pragma once

#include "weir/base/clock.hpp"

namespace weir::base {

// Moves steady and wall time forward by `by` (>= 0) for the whole process. Reactors must be made to look again afterwards.
void turn_clock(Duration by) noexcept;
// Moves wall time alone, by a positive or negative step: an operator or NTP setting the clock.
void step_wall_clock(Duration by) noexcept;

}  // namespace weir::base
