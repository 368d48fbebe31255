// Transcripts of interim responses (SRV-7): who is told while it waits, and that it misses no other news.
#include <gtest/gtest.h>

#include "stage.hpp"
#include "weir/shield/flight_table.hpp"

namespace weir::shield {
namespace {

// A client that listens, as an exchange does.
struct Listener : Client {
  Listener() {
    waiter.interim.context = this;
    waiter.interim.resume = [](Waiter& node) noexcept { ++static_cast<Listener*>(node.context)->nudges; };
  }
  std::string hears(Stage& stage) { return stage.table.interims(waiter); }
  int nudges = 0;
};

TEST(FlightInterim, everyone_who_waits_is_told_and_goes_on_waiting) {
  Stage stage;
  Listener leader, follower;
  Client deaf;
  stage.join(leader);
  stage.join(follower);
  stage.join(deaf);
  leader.ticket.publish_interim("a");
  EXPECT_EQ(stage.waker.posts(), 1U);
  EXPECT_EQ(stage.waker.deliver(), 2U);
  for (auto* const listener : {&leader, &follower}) {
    EXPECT_EQ(listener->nudges, 1);
    EXPECT_TRUE(listener->waits());
    EXPECT_EQ(listener->hears(stage), "a");
    EXPECT_EQ(listener->hears(stage), "") << "once";
  }
  EXPECT_TRUE(deaf.waits());
  stage.head(leader.ticket, cacheable);
  EXPECT_EQ(stage.waker.deliver(), 3U);
  EXPECT_EQ(follower.waiter.told, Told::head);
}

TEST(FlightInterim, several_before_the_first_was_delivered_are_one_nudge) {
  Stage stage;
  Listener leader;
  stage.join(leader);
  leader.ticket.publish_interim("a");
  leader.ticket.publish_interim("b");
  stage.head(leader.ticket, cacheable);
  EXPECT_EQ(leader.waiter.interim.state.load(), WaiterState::chosen);
  EXPECT_EQ(stage.waker.deliver(), 2U);  // the nudge and the head
  EXPECT_EQ(leader.nudges, 1);
  EXPECT_EQ(leader.hears(stage), "ab") << "also when the head came meanwhile";
}

TEST(FlightInterim, who_comes_later_is_told_at_once_and_a_reader_not) {
  Stage stage;
  Listener leader, late, reader;
  stage.join(leader);
  leader.ticket.publish_interim("a");
  stage.join(late);
  EXPECT_TRUE(late.waiter.has_interims);
  EXPECT_EQ(late.hears(stage), "a");
  leader.ticket.publish_interim("b");
  EXPECT_EQ(late.hears(stage), "b");
  stage.head(leader.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_EQ(stage.join(reader), Joined::read_now);
  EXPECT_FALSE(reader.waiter.has_interims);
}

TEST(FlightInterim, is_bounded_in_number_and_bytes) {
  Stage stage;
  Listener many, large;
  stage.join(many, 0, "/many");
  stage.join(large, 0, "/large");
  for (int i = 0; i < 20; ++i) many.ticket.publish_interim("x");
  EXPECT_EQ(many.hears(stage), std::string(Flight::max_interims, 'x'));
  large.ticket.publish_interim(std::string(Flight::max_interim_bytes, 'y'));
  large.ticket.publish_interim("y");
  EXPECT_EQ(large.hears(stage).size(), Flight::max_interim_bytes);
  stage.waker.deliver();
}

// COA-14: not to whom this fetch began too early for.
TEST(FlightInterim, of_an_overruled_fetch_reaches_no_newcomer) {
  Stage stage;
  Listener before, after;
  stage.join(before);
  stage.invalidate();
  EXPECT_EQ(stage.join(after), Joined::leading);
  before.ticket.publish_interim("old");
  EXPECT_EQ(before.hears(stage), "old");
  EXPECT_FALSE(after.waiter.has_interims);
  after.ticket.publish_interim("new");
  EXPECT_EQ(after.hears(stage), "new");
  stage.waker.deliver();
}

// SRV-6: an answer that invalidates its own key is newer than what it invalidates, and no newer than what comes after.
TEST(FlightOrder, begins_again_after_its_own_invalidation) {
  Stage stage;
  Client get, post;
  stage.join(get);
  post.ticket = stage.table.alone(stage.key("/a"), post.waiter, 0);
  auto const own = stage.purges.next();
  auto const began = post.ticket.begins_again(own);
  EXPECT_EQ(stage.table.overrule("/a", base::hash_bytes("/a"), own), 1U);
  EXPECT_TRUE(get.ticket.flight().overruled());
  EXPECT_FALSE(post.ticket.flight().overruled());
  EXPECT_EQ(post.ticket.flight().purge_number(), own);
  EXPECT_GT(began, get.ticket.flight().began());
  EXPECT_GT(began, post.ticket.flight().began()) << "by which its requester knows it";
  stage.invalidate();
  EXPECT_TRUE(post.ticket.flight().overruled());
}

TEST(FlightOrder, begins_again_after_others_that_came_first_only) {
  Stage stage;
  Client post;
  post.ticket = stage.table.alone(stage.key("/a"), post.waiter, 0);
  stage.invalidate();
  EXPECT_TRUE(post.ticket.flight().overruled());
  auto const own = stage.purges.next();
  auto const other = stage.purges.next();
  post.ticket.begins_again(own);
  EXPECT_FALSE(post.ticket.flight().overruled()) << "what came before its own counts as seen";
  stage.table.overrule("/a", base::hash_bytes("/a"), other);
  post.ticket.begins_again(own);
  EXPECT_TRUE(post.ticket.flight().overruled()) << "a later one does not, whoever was first at the table";
}

}  // namespace
}  // namespace weir::shield
