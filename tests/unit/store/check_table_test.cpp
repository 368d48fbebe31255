// VAL-2: when an entry was last checked.
#include "../../../src/store/check_table.hpp"

#include <gtest/gtest.h>

namespace weir::store {
namespace {

using namespace std::chrono_literals;

constexpr base::SteadyTime start{std::chrono::hours(24)};

TEST(CheckTable, TellsHowLongAgo) {
  CheckTable table(1024);
  EXPECT_EQ(table.age(7, start), base::Duration::max());
  table.note(7, start);
  EXPECT_EQ(table.age(7, start), 0ms);
  EXPECT_EQ(table.age(7, start + 999ms), 999ms);
  EXPECT_EQ(table.age(7, start + std::chrono::hours(24 * 365)), std::chrono::hours(24 * 365));
  EXPECT_EQ(table.age(8, start), base::Duration::max());
  table.note(7, start + 5s);
  EXPECT_EQ(table.age(7, start + 6s), 1s);
}

TEST(CheckTable, AClockALittleBehindCountsAsNow) {
  CheckTable table(1024);
  table.note(7, start + 3ms);
  EXPECT_EQ(table.age(7, start), 0ms);
}

// Two may share a place; a third takes that of the one checked longest ago, which is then unknown.
TEST(CheckTable, TheOldestGivesWay) {
  CheckTable table(1024);
  auto const same_place = [](std::uint64_t n) { return n << 40U; };
  table.note(same_place(1), start);
  table.note(same_place(2), start + 1s);
  EXPECT_EQ(table.age(same_place(1), start + 1s), 1s);
  EXPECT_EQ(table.age(same_place(2), start + 1s), 0s);
  table.note(same_place(3), start + 2s);
  EXPECT_EQ(table.age(same_place(1), start + 2s), base::Duration::max());
  EXPECT_EQ(table.age(same_place(2), start + 2s), 1s);
  EXPECT_EQ(table.age(same_place(3), start + 2s), 0s);
}

TEST(CheckTable, NeverTakesOneForAnother) {
  CheckTable table(1);
  std::uint64_t id = 1;
  for (int i = 0; i < 100'000; ++i) {
    id = id * 6364136223846793005U + 1442695040888963407U;
    table.note(id, start + std::chrono::milliseconds(i));
    ASSERT_EQ(table.age(id, start + std::chrono::milliseconds(i)), 0ms);
    ASSERT_EQ(table.age(~id, start + std::chrono::milliseconds(i)), base::Duration::max());
  }
}

}  // namespace
}  // namespace weir::store
