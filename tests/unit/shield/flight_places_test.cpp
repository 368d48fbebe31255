// Transcripts of the flight table: bounds, variants, fetches alone, and what an operator sees.
#include "weir/shield/flight_table.hpp"

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

// COA-9: nobody joins any more, readers and waiters stay.
TEST(FlightPlaces, closed_to_newcomers) {
  Stage stage;
  Client leader, reader, next;
  stage.join(leader);
  stage.head(leader.ticket, cacheable);
  stage.join(reader);
  leader.ticket.close_to_newcomers();
  EXPECT_EQ(stage.join(next), Joined::leading);
  EXPECT_EQ(leader.ticket.flight().interest(), 2U);

  Stage early;
  Client first, waiting, second;
  early.join(first);
  early.join(waiting);
  first.ticket.close_to_newcomers();
  EXPECT_EQ(early.join(second), Joined::leading);
  early.head(first.ticket, cacheable);
  early.waker.deliver();
  EXPECT_EQ(waiting.waiter.told, Told::head);
  EXPECT_EQ(second.waiter.told, Told::head);  // the first usable head of any fetch
  Client third;
  EXPECT_EQ(early.join(third), Joined::waiting);  // for the second; the first stays closed
}

// COA-15
TEST(FlightPlaces, bounds_of_waiters_and_flights) {
  Stage stage;
  stage.rules.max_waiters = 3;
  stage.rules.max_flights = 2;
  Client leader, w1, w2, w3, other, third;
  EXPECT_EQ(stage.join(leader), Joined::leading);
  EXPECT_EQ(stage.join(w1), Joined::waiting);
  EXPECT_EQ(stage.join(w2), Joined::waiting);
  EXPECT_EQ(stage.join(w3), Joined::overflow);
  EXPECT_EQ(w3.state(), WaiterState::free);
  EXPECT_EQ(stage.join(other, 0, "/b"), Joined::leading);
  EXPECT_EQ(stage.join(third, 0, "/c"), Joined::overflow);
  EXPECT_EQ(stage.table.flights(), 2U);
  stage.table.cancel(w1.waiter);
  EXPECT_EQ(stage.join(w3), Joined::waiting);
  // Reading is not waiting.
  stage.head(leader.ticket, cacheable);
  Client reader;
  stage.rules.max_waiters = 0;
  EXPECT_EQ(stage.join(reader), Joined::read_now);
  stage.rules.max_waiters = 3;
  leader.ticket.leave();
  EXPECT_EQ(stage.join(third, 0, "/c"), Joined::leading);
}

// SRV-5: who may not lead joins what others caused, and neither starts nor replaces.
TEST(FlightPlaces, one_that_may_not_lead) {
  Stage stage;
  stage.rules.max_waiters = 2;
  auto key = Stage::key("/a");
  key.may_lead = false;
  Client follower, leader, crowd;
  EXPECT_EQ(stage.join(follower, 0, key), Joined::may_not_lead);
  EXPECT_EQ(follower.state(), WaiterState::free);
  EXPECT_EQ(stage.table.flights(), 0U);
  stage.join(leader, 0);
  leader.ticket.started(at(0));
  EXPECT_EQ(stage.join(follower, 50, key), Joined::waiting);  // though it is overdue
  EXPECT_FALSE(stage.replace(follower, 100));
  EXPECT_EQ(stage.join(crowd, 100, key), Joined::overflow);
  stage.head(leader.ticket, cacheable, 100);
  EXPECT_EQ(stage.join(crowd, 100, key), Joined::read_now);
  leader.ticket.flight().finish(false);
  EXPECT_EQ(stage.join(crowd, 100, key), Joined::may_not_lead);
  // The same waiter, with another key.
  stage.waker.deliver();
  EXPECT_EQ(stage.join(follower, 100), Joined::leading);
}

// COA-1: found by the primary key, learned to be a variant.
TEST(FlightPlaces, also_answers_a_variant_key) {
  Stage stage;
  Client leader, follower, by_variant, other_variant;
  stage.join(leader);
  stage.join(follower);
  leader.ticket.started(at(0));
  leader.ticket.also_answers("de");
  leader.ticket.also_answers("fr");  // once
  EXPECT_EQ(stage.join(by_variant, 1, Stage::key("/a", "de")), Joined::waiting);
  EXPECT_EQ(stage.join(other_variant, 1, Stage::key("/a", "fr")), Joined::leading);
  EXPECT_EQ(stage.table.flights(), 2U);
  EXPECT_EQ(stage.waiters(), 4U);
  EXPECT_TRUE(stage.table.cancel(leader.waiter));
  EXPECT_TRUE(stage.table.cancel(follower.waiter));
  EXPECT_TRUE(leader.ticket.wanted());
  stage.head(leader.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_EQ(by_variant.waiter.told, Told::head);
  EXPECT_FALSE(by_variant.waiter.leader);
  EXPECT_TRUE(other_variant.waits());
  Client late, late_by_variant;
  EXPECT_EQ(stage.join(late), Joined::read_now);
  EXPECT_EQ(stage.join(late_by_variant, 1, Stage::key("/a", "de")), Joined::read_now);
  EXPECT_EQ(stage.invalidate(), 2U);  // two flights, three places
  leader.ticket.leave();
  EXPECT_EQ(stage.join(by_variant, 1, Stage::key("/a", "de")), Joined::leading);
}

TEST(FlightPlaces, also_answers_does_nothing_where_another_flight_is_or_for_a_closed_one) {
  Stage stage;
  Client leader, german, follower;
  stage.join(german, 0, Stage::key("/a", "de"));
  stage.join(leader);
  leader.ticket.also_answers("de");
  stage.join(follower, 0, Stage::key("/a", "de"));
  leader.ticket.publish_failure({});
  EXPECT_TRUE(follower.waits());
  leader.ticket.also_answers("fr");  // has left
  EXPECT_EQ(stage.table.flights(), 1U);

  Client closed, next;
  stage.join(closed, 0, "/b");
  closed.ticket.close_to_newcomers();
  closed.ticket.also_answers("de");
  EXPECT_EQ(stage.join(next, 0, Stage::key("/b", "de")), Joined::leading);
}

// COA-1: with a head already published, newcomers by variant read at once.
TEST(FlightPlaces, also_answers_after_the_head) {
  Stage stage;
  Client leader, late;
  stage.join(leader);
  stage.head(leader.ticket, cacheable);
  leader.ticket.also_answers("de");
  EXPECT_EQ(stage.join(late, 0, Stage::key("/a", "de")), Joined::read_now);
}

// COA-8, SRV-6: a fetch of its own; nobody finds it, an invalidation does.
TEST(FlightPlaces, alone) {
  Stage stage;
  stage.rules.max_flights = 0;
  Client own, other;
  own.ticket = stage.table.alone(Stage::key("/a"), own.waiter, 3);
  EXPECT_TRUE(own.waits());
  EXPECT_TRUE(own.waiter.leader);
  EXPECT_EQ(own.ticket.flight().worker(), 3U);
  EXPECT_EQ(stage.table.flights(), 0U);
  EXPECT_EQ(stage.waiters(), 1U);
  stage.rules.max_flights = 10;
  EXPECT_EQ(stage.join(other), Joined::leading);
  own.ticket.started(at(0));
  EXPECT_FALSE(stage.replace(own, 100));
  own.ticket.also_answers("de");
  Client variant;
  EXPECT_EQ(stage.join(variant, 0, Stage::key("/a", "de")), Joined::leading);
  EXPECT_EQ(stage.invalidate(), 3U);
  stage.head(own.ticket, set_cookie);
  EXPECT_EQ(stage.waker.deliver(), 1U);
  EXPECT_EQ(own.waiter.told, Told::head);
  EXPECT_TRUE(other.waits());
  EXPECT_EQ(stage.table.flights(), 2U);
}

// COA-2: a fetch that is not shared ends with its requester; a shared one does not.
TEST(FlightPlaces, alone_is_abandoned_when_its_requester_leaves_before_the_head) {
  int abandoned = 0;  // outlives the tickets, whose end tells too
  Stage stage;
  Client own, leader;
  auto const count = [](void* c) noexcept { ++*static_cast<int*>(c); };
  own.ticket = stage.table.alone(Stage::key("/a"), own.waiter, 0);
  own.ticket.flight().set_on_interest(count, &abandoned);
  EXPECT_TRUE(own.ticket.wanted());
  EXPECT_TRUE(stage.table.cancel(own.waiter));
  EXPECT_EQ(abandoned, 1);
  EXPECT_FALSE(own.ticket.wanted());

  stage.join(leader);
  leader.ticket.flight().set_on_interest(count, &abandoned);
  EXPECT_TRUE(stage.table.cancel(leader.waiter));
  EXPECT_EQ(abandoned, 1);
}

// OBS-3
TEST(FlightPlaces, rows) {
  Stage stage;
  Client a, follower, b;
  stage.join(a, 0, "/a");
  stage.join(follower, 0, "/a");
  stage.join(b, 0, "/b");
  b.ticket.started(at(7));
  stage.head(b.ticket, cacheable);
  grow(b.ticket.flight(), "12345");
  auto const rows = stage.table.rows(10);
  ASSERT_EQ(rows.size(), 2U);
  auto const& row_a = rows[rows[0].key == "/a" ? 0 : 1];
  auto const& row_b = rows[rows[0].key == "/a" ? 1 : 0];
  EXPECT_EQ(row_a.waiters, 2U);
  EXPECT_EQ(row_a.fetches, 1U);
  EXPECT_FALSE(row_a.head);
  EXPECT_FALSE(row_a.started);
  EXPECT_EQ(row_b.received, 5U);
  EXPECT_TRUE(row_b.head);
  EXPECT_EQ(row_b.started, at(7));
  EXPECT_EQ(stage.table.rows(1).size(), 1U);
}

// STO-6: fetches are numbered in the order in which they begin.
TEST(FlightPlaces, flights_know_in_which_order_they_began) {
  Stage stage;
  Client a, b, c;
  stage.join(a, 0, "/a");
  stage.join(b, 0, "/b");
  c.ticket = stage.table.alone(Stage::key("/c"), c.waiter, 0);
  EXPECT_GT(a.ticket.flight().began(), 0U);
  EXPECT_LT(a.ticket.flight().began(), b.ticket.flight().began());
  EXPECT_LT(b.ticket.flight().began(), c.ticket.flight().began());
}

// COA-6: a frame that dies while it waits, at shutdown, in whatever order.
TEST(FlightPlaces, waiters_that_are_destroyed_leave_the_slot) {
  Stage stage;
  Client leader;
  {
    Client linked, chosen;
    stage.join(leader);
    stage.join(linked);
    stage.join(chosen, 0, "/b");
    chosen.ticket.publish_failure({});
    EXPECT_EQ(chosen.state(), WaiterState::chosen);
    EXPECT_EQ(stage.waiters(), 2U);
  }
  EXPECT_EQ(stage.waiters(), 1U);
  EXPECT_EQ(stage.table.waiting(), 1U);
  EXPECT_EQ(stage.waker.deliver(), 0U);
}

}  // namespace
}  // namespace weir::shield
