// Transcripts of the flight table: fetches that began before an invalidation (COA-14).
#include "weir/shield/flight_table.hpp"

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

// COA-14, SRV-6
TEST(FlightInvalidation, a_flight_that_began_before_an_invalidation_serves_those_who_came_before_it_and_nobody_else) {
  Stage stage;
  Client old_leader, before, new_leader, after;
  stage.join(old_leader);
  stage.join(before);
  EXPECT_EQ(stage.invalidate(), 1U);
  EXPECT_TRUE(old_leader.ticket.flight().overruled());
  EXPECT_EQ(stage.join(new_leader), Joined::leading);
  EXPECT_EQ(stage.join(after), Joined::waiting);
  EXPECT_GT(new_leader.ticket.flight().purge_number(), old_leader.ticket.flight().purge_number());
  EXPECT_LT(before.waiter.waits_since_number, after.waiter.waits_since_number);

  stage.head(old_leader.ticket, cacheable);
  EXPECT_EQ(stage.waker.deliver(), 2U);
  EXPECT_EQ(before.waiter.told, Told::head);
  EXPECT_TRUE(after.waits());
  Client late;
  EXPECT_EQ(stage.join(late), Joined::waiting);  // not read_now

  stage.head(new_leader.ticket, cacheable);
  stage.waker.deliver();
  for (auto* client : {&new_leader, &after, &late})
    EXPECT_EQ(client->waiter.flight.flight(), new_leader.ticket.flight_ref());
}

// COA-14: whatever the old flight says, it does not say it to those who came after; a newer one answers all.
TEST(FlightInvalidation, an_overruled_flight_tells_newer_waiters_nothing) {
  struct Row {
    char const* name;
    void (*publish)(Stage&, LeaderTicket&);
  };
  for (auto const &row : {Row{"entry", [](Stage&, LeaderTicket&t) { t.publish_entry(nullptr, true); }},
                          Row{"by variant", [](Stage&, LeaderTicket&t) { t.publish_by_variant(); }},
                          Row{"failure", [](Stage&, LeaderTicket&t) { t.publish_failure({}); }},
                          Row{"not shareable", [](Stage&s, LeaderTicket&t) { s.head(t, set_cookie); }},
                          Row{"error", [](Stage&s, LeaderTicket&t) { s.head(t, unavailable); }}}) {
    SCOPED_TRACE(row.name);
    Stage stage;
    Client old_leader, new_leader, after;
    stage.join(old_leader);
    stage.invalidate();
    stage.join(new_leader);
    stage.join(after);
    row.publish(stage, old_leader.ticket);
    stage.waker.deliver();
    EXPECT_TRUE(new_leader.waits());
    EXPECT_TRUE(after.waits());
    stage.head(new_leader.ticket, cacheable);
    stage.waker.deliver();
    EXPECT_EQ(after.waiter.told, Told::head);
    EXPECT_EQ(old_leader.waiter.told == Told::head && old_leader.waiter.flight.flight() == new_leader.ticket.flight_ref(),
              std::string_view(row.name) == "failure" || std::string_view(row.name) == "error");
  }
}

// COA-4, COA-14: an error of the only fetch that may answer ends the wait, though an older one is under way.
TEST(FlightInvalidation, an_error_ends_the_wait_of_those_whom_the_other_fetch_may_not_answer) {
  Stage stage;
  Client old_leader, new_leader;
  stage.join(old_leader);
  stage.invalidate();
  stage.join(new_leader);
  new_leader.ticket.publish_failure({FailureKind::dns});
  stage.waker.deliver();
  EXPECT_EQ(new_leader.waiter.told, Told::failed);
  EXPECT_TRUE(old_leader.waits());
}

// COA-14: what the key tells is checked at the join.
TEST(FlightInvalidation, a_purge_that_covers_the_key_is_passed_to_the_join) {
  Stage stage;
  Client old_leader, same, fresh, follower;
  stage.join(old_leader);
  auto const prefix_purge = stage.purges.next();
  EXPECT_EQ(stage.join(same), Joined::waiting);
  EXPECT_EQ(stage.join(fresh, 0, Stage::key("/a", {}, prefix_purge)), Joined::leading);
  EXPECT_GE(fresh.ticket.flight().purge_number(), prefix_purge);
  EXPECT_EQ(stage.join(follower, 0, Stage::key("/a", {}, prefix_purge)), Joined::waiting);
  stage.head(old_leader.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_EQ(same.waiter.told, Told::head);
  EXPECT_TRUE(follower.waits());
  Client late;
  EXPECT_EQ(stage.join(late, 0, Stage::key("/a", {}, prefix_purge)), Joined::waiting);
}

// COA-14: an invalidation that found nothing under way overrules nobody later; all variants of a key are overruled.
TEST(FlightInvalidation, overruling_covers_all_variants_and_only_what_began_before) {
  Stage stage;
  EXPECT_EQ(stage.invalidate(), 0U);
  Client german, french, other, german_again;
  stage.join(german, 0, Stage::key("/a", "de"));
  stage.join(french, 0, Stage::key("/a", "fr"));
  stage.join(other, 0, "/b");
  EXPECT_EQ(stage.invalidate(), 2U);
  EXPECT_EQ(stage.invalidate(), 0U);  // already
  EXPECT_FALSE(other.ticket.flight().overruled());
  EXPECT_EQ(stage.join(german_again, 0, Stage::key("/a", "de")), Joined::leading);
  EXPECT_FALSE(german_again.ticket.flight().overruled());
  Client follower;
  EXPECT_EQ(stage.join(follower, 0, Stage::key("/a", "de")), Joined::waiting);
}

// COA-14: an answer that takes no newcomers but is to be stored can still be overruled, until it has left.
TEST(FlightInvalidation, what_will_be_stored_can_be_overruled_after_its_head) {
  for (auto const& line : {stale_on_arrival, HeadLine{.shareable = false, .joinable = false, .stored = true}}) {
    Stage stage;
    Client leader;
    stage.join(leader);
    stage.head(leader.ticket, line);
    EXPECT_EQ(stage.invalidate(), 1U);
    EXPECT_TRUE(leader.ticket.flight().overruled());
    leader.ticket.leave();
    EXPECT_EQ(stage.invalidate(), 0U);
  }
}

// COA-14
TEST(FlightInvalidation, also_answers_after_an_invalidation_only_for_nobody) {
  Stage stage;
  Client leader, after;
  stage.join(leader);
  stage.invalidate();
  leader.ticket.also_answers("de");
  EXPECT_EQ(stage.join(after, 0, Stage::key("/a", "de")), Joined::leading);
}

}  // namespace
}  // namespace weir::shield
