#include "weir/shield/waiter.hpp"

#include <gtest/gtest.h>

namespace weir::shield {
namespace {

struct Line {
  WaiterList list;
  int unlinked = 0;
  void add(Waiter& waiter) {
    link(
        list, waiter,
        [](Waiter& w) noexcept {
          auto& line = *static_cast<Line*>(w.where);
          ++line.unlinked;
          return unlink_if_linked(line.list, w);
        },
        this);
  }
};

// The three states.
TEST(Waiter, free_linked_chosen) {
  Line line;
  WaiterList chosen;
  Waiter waiter;
  EXPECT_EQ(waiter.state.load(), WaiterState::free);
  EXPECT_FALSE(unlink_if_linked(line.list, waiter));
  line.add(waiter);
  EXPECT_EQ(waiter.state.load(), WaiterState::linked);
  choose(line.list, waiter, chosen);
  EXPECT_EQ(waiter.state.load(), WaiterState::chosen);
  EXPECT_FALSE(unlink_if_linked(line.list, waiter));
  EXPECT_TRUE(line.list.empty());
  chosen.clear();
  waiter.state.store(WaiterState::free);
  line.add(waiter);
  EXPECT_TRUE(unlink_if_linked(line.list, waiter));
  EXPECT_TRUE(line.list.empty());
}

// A frame that dies takes its node out of the list it is in.
TEST(Waiter, destroyed_while_linked_or_chosen) {
  Line line;
  WaiterList chosen;
  Waiter stays_linked, stays_chosen;
  line.add(stays_linked);
  {
    Waiter linked, picked;
    line.add(linked);
    line.add(picked);
    line.add(stays_chosen);
    choose(line.list, picked, chosen);
    choose(line.list, stays_chosen, chosen);
  }
  EXPECT_EQ(line.unlinked, 1);
  EXPECT_EQ(line.list.size(), 1U);
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(&chosen.front(), &stays_chosen);
}

TEST(WaiterDeathTest, one_list_at_a_time) {
  Line line, other;
  Waiter waiter;
  line.add(waiter);
  EXPECT_DEATH(other.add(waiter), "WaiterState::free");
}

}  // namespace
}  // namespace weir::shield
