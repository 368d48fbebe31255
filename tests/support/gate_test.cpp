#include "support/gate.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir::test {
namespace {

TEST(Gate, LetsThroughWhoWaitedAndWhoComesLater) {
  Gate gate;
  bool passed = false;
  std::thread waiter([&] { passed = gate.wait(); });
  EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  EXPECT_FALSE(gate.is_open());
  gate.open();
  waiter.join();
  EXPECT_TRUE(passed);
  EXPECT_TRUE(Gate(gate).wait());
  EXPECT_EQ(gate.waiting(), 0);
  EXPECT_EQ(gate.arrived(), 2);
}

TEST(Gate, FailsTheTestWhenItStaysClosed) {
  Gate gate;
  bool passed = true;
  EXPECT_NONFATAL_FAILURE(passed = gate.wait(Milliseconds(1)), "stayed closed");
  EXPECT_FALSE(passed);
}

TEST(Gate, LetsAWaiterLeave) {
  EXPECT_FALSE(Gate().wait_unless([] { return true; }));
}

TEST(Eventually, EndsWithThePredicateOrTheBound) {
  int asked = 0;
  EXPECT_TRUE(eventually([&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(eventually([] { return false; }, Milliseconds(2)));
}

}  // namespace
}  // namespace weir::test
