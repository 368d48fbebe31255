// Waiters on their way from a waker to their worker.
#include <gtest/gtest.h>

#include <optional>

#include "weir/proxy/park.hpp"

namespace weir::proxy {
namespace {

using shield::Waiter;
using shield::WaiterState;

struct Box {
  Box() { mailboxes.attach(0, io); }
  void link(Waiter& waiter) {
    waiter.context = this;
    waiter.resume = [](Waiter& resumed) noexcept { ++static_cast<Box*>(resumed.context)->resumed; };
    waiter.recall = &Mailboxes::recall;
    shield::link(
        list, waiter,
        [](Waiter& linked) noexcept { return shield::unlink_if_linked(static_cast<Box*>(linked.where)->list, linked); },
        this);
  }
  void wake(Waiter& waiter) {
    shield::WaiterList chosen;
    shield::choose(list, waiter, chosen);
    mailboxes.wake(chosen);
  }

  asio::io_context io;
  Mailboxes mailboxes{1};
  shield::WaiterList list;
  int resumed = 0;
};

// COA-6: a frame that an exception ends takes its waiter along, wherever that is.
TEST(Mailboxes, AWaiterMayGoAtAnyMoment) {
  Box box;
  std::optional<Waiter> linked(std::in_place), posted(std::in_place), stays(std::in_place);
  for (auto* const waiter : {&linked, &posted, &stays}) box.link(**waiter);
  box.wake(*posted);
  box.wake(*stays);
  EXPECT_EQ(posted->state.load(), WaiterState::posted);
  linked.reset();
  posted.reset();
  EXPECT_TRUE(box.list.empty());
  box.io.run();
  EXPECT_EQ(box.resumed, 1);
  EXPECT_EQ(stays->state.load(), WaiterState::free);
}

// What is chosen once the workers have ended is told to nobody, and free to go.
TEST(Mailboxes, ClosedOnesForget) {
  Box box;
  std::optional<Waiter> before(std::in_place), after(std::in_place);
  for (auto* const waiter : {&before, &after}) box.link(**waiter);
  box.wake(*before);
  box.mailboxes.close();
  box.wake(*after);
  EXPECT_EQ(before->state.load(), WaiterState::free);
  EXPECT_EQ(after->state.load(), WaiterState::free);
  before.reset();
  after.reset();
  box.io.run();
  EXPECT_EQ(box.resumed, 0);
}

}  // namespace
}  // namespace weir::proxy
