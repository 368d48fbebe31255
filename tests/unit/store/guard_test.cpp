// VAL-3: the guard before a shared store, as a transcript.
#include "weir/store/guard.hpp"

#include <gtest/gtest.h>

namespace weir::store {
namespace {

using namespace std::chrono_literals;

struct Timeline {
  Guard guard;
  base::SteadyTime now{std::chrono::hours(1)};
  void fail(int times) {
    for (int i = 0; i < times; ++i) guard.failed(now);
  }
};

TEST(Guard, OpensAfterFiveFailuresInARow) {
  Timeline t;
  t.fail(4);
  t.guard.succeeded();
  t.fail(4);
  EXPECT_TRUE(t.guard.admits(t.now));
  EXPECT_EQ(t.guard.state(), GuardState::closed);
  EXPECT_TRUE(t.guard.failed(t.now));
  EXPECT_EQ(t.guard.state(), GuardState::open);
  EXPECT_FALSE(t.guard.admits(t.now));
  EXPECT_TRUE(t.guard.is_open(t.now));
}

TEST(Guard, LetsOneThroughAfterASecondAndDoublesUpToHalfAMinute) {
  Timeline t;
  t.fail(5);
  for (auto const pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    t.now += pause - 1ms;
    EXPECT_FALSE(t.guard.admits(t.now));
    t.now += 1ms;
    EXPECT_FALSE(t.guard.is_open(t.now));
    EXPECT_TRUE(t.guard.admits(t.now));
    EXPECT_FALSE(t.guard.admits(t.now)) << "one alone";
    EXPECT_EQ(t.guard.state(), GuardState::half_open);
    EXPECT_TRUE(t.guard.failed(t.now));
  }
}

TEST(Guard, ClosesWithTheFirstSuccessAndBeginsAnew) {
  Timeline t;
  t.fail(5);
  t.now += 1s;
  t.fail(0);
  ASSERT_TRUE(t.guard.admits(t.now));
  t.guard.succeeded();
  EXPECT_EQ(t.guard.state(), GuardState::closed);
  t.fail(4);
  EXPECT_EQ(t.guard.state(), GuardState::closed);
  t.fail(1);
  t.now += 1s;
  EXPECT_TRUE(t.guard.admits(t.now)) << "a second again";
}

// Those whose question was on its way when it opened report late: that does not open it for longer.
TEST(Guard, FailuresWhileOpenChangeNothing) {
  Timeline t;
  t.fail(50);
  t.now += 1s;
  EXPECT_TRUE(t.guard.admits(t.now));
}

TEST(Guard, OneThatNeverReportsKeepsTheOthersOutForAWhileOnly) {
  Timeline t;
  t.fail(5);
  t.now += 1s;
  ASSERT_TRUE(t.guard.admits(t.now));
  t.now += Guard::patience - 1ms;
  EXPECT_FALSE(t.guard.admits(t.now));
  t.now += 1ms;
  EXPECT_TRUE(t.guard.admits(t.now));
}

}  // namespace
}  // namespace weir::store
