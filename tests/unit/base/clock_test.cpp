// Time as a value, and the test's hand on it. FRS-1: a step of the wall clock leaves steady time alone.
#include <gtest/gtest.h>

#include "weir/base/clock.hpp"
#include "weir/base/turned_clock.hpp"

namespace weir::base {
namespace {

using namespace std::chrono_literals;

TEST(Clock, NeverGoesBack) {
  auto last = Clock::now();
  for (int i = 0; i < 1'000; ++i) {
    auto const next = Clock::now();
    EXPECT_GE(next, last);
    last = next;
  }
}

TEST(Clock, TurningMovesBothClocks) {
  auto const before = read_clock();
  turn_clock(1h);
  auto const after = read_clock();
  EXPECT_GE(after.steady - before.steady, Duration(1h));
  EXPECT_LT(after.steady - before.steady, Duration(2h));
  EXPECT_GE(after.wall - before.wall, Duration(1h));
  EXPECT_GE(Clock::now(), after.steady);
}

TEST(Clock, AWallStepMovesTheWallAlone) {
  auto const before = read_clock();
  step_wall_clock(-24h);
  auto const after = read_clock();
  EXPECT_LT(after.wall - before.wall, Duration(-23h));
  EXPECT_GE(after.steady, before.steady);
  EXPECT_LT(after.steady - before.steady, Duration(1h));
  step_wall_clock(24h);
}

TEST(Clock, WholeSecondsAreCutTowardsZero) {
  EXPECT_EQ(whole_seconds(Duration(1999ms)), 1);
  EXPECT_EQ(whole_seconds(Duration(-1999ms)), -1);
  EXPECT_EQ(whole_seconds(Duration(0)), 0);
}

}  // namespace
}  // namespace weir::base
