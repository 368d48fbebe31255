// Our own mistakes end the process, in release too.
#include "weir/base/assert.hpp"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(Assert, ATrueConditionIsEvaluatedOnce) {
  int calls = 0;
  WEIR_ASSERT(++calls == 1);
  EXPECT_EQ(calls, 1);
}

TEST(AssertDeathTest, AFalseOneTellsWhatAndWhere) {
  int const one = 1;
  EXPECT_DEATH(WEIR_ASSERT(one == 2), "weir: assertion failed: one == 2 \\(.*assert_test.cpp:[0-9]+\\)");
}

}  // namespace
}  // namespace weir::base
