// Transcripts of the flight table: fetches that are late, and several in one slot (COA-3, COA-4).
#include "weir/shield/flight_table.hpp"

#include <deque>

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

// COA-3
TEST(FlightOverdue, a_newcomer_that_finds_the_newest_overdue_starts_another_once_a_period_and_three_at_most) {
  Stage stage;
  Client first, second, third;
  Client w1, w2, w3, w4, w5;
  EXPECT_EQ(stage.join(first, 0), Joined::leading);
  EXPECT_EQ(stage.join(w1, 100), Joined::waiting);  // no permit yet: not overdue
  first.ticket.started(at(100));
  EXPECT_EQ(stage.join(w2, 109.9), Joined::waiting);
  EXPECT_EQ(stage.join(second, 110), Joined::leading);
  EXPECT_EQ(stage.join(w3, 150), Joined::waiting);  // the second has no permit yet
  second.ticket.started(at(150));
  EXPECT_EQ(stage.join(w4, 159), Joined::waiting);
  EXPECT_EQ(stage.join(third, 160), Joined::leading);
  third.ticket.started(at(160));
  EXPECT_EQ(stage.join(w5, 1000), Joined::waiting);  // three under way
  EXPECT_EQ(stage.table.rows(9).at(0).fetches, 3U);

  // The first usable head of any of them answers all.
  stage.head(second.ticket, cacheable, 1000);
  EXPECT_EQ(stage.waker.deliver(), 8U);
  for (auto* client : {&first, &second, &third, &w1, &w2, &w3, &w4, &w5}) {
    EXPECT_EQ(client->waiter.told, Told::head);
    EXPECT_EQ(client->waiter.flight.flight(), second.ticket.flight_ref());
    EXPECT_EQ(client->waiter.leader, client == &second);  // of the fetch that answers
  }
  Client late;
  EXPECT_EQ(stage.join(late, 1001), Joined::read_now);
  EXPECT_EQ(late.flight.flight(), second.ticket.flight_ref());
}

// COA-3: one start a period, also when the one that was started has failed meanwhile.
TEST(FlightOverdue, a_replacement_that_failed_is_not_replaced_before_the_period_is_over) {
  Stage stage;
  Client stuck, second, waiting, third;
  stage.join(stuck, 0);
  stuck.ticket.started(at(0));
  EXPECT_EQ(stage.join(second, 20), Joined::leading);
  second.ticket.started(at(21));
  second.ticket.publish_failure({FailureKind::connect_refused});
  EXPECT_EQ(stage.join(waiting, 30.5), Joined::waiting);
  EXPECT_EQ(stage.join(third, 31), Joined::leading);
}

// COA-3: overdue after its last body byte.
TEST(FlightOverdue, a_stalled_body_is_replaced_for_newcomers) {
  Stage stage;
  Client leader, early, second, meanwhile, third;
  stage.join(leader, 0);
  leader.ticket.started(at(0));
  leader.ticket.flight().set_head(make_head(cacheable), nullptr, 0, at(9));
  leader.ticket.publish_head();
  EXPECT_EQ(stage.join(early, 18), Joined::read_now);  // 9 s since its head
  grow(leader.ticket.flight(), "x", 18);
  EXPECT_EQ(stage.join(early, 27), Joined::read_now);  // 9 s since its last byte
  EXPECT_EQ(stage.join(second, 28), Joined::leading);
  EXPECT_EQ(stage.join(meanwhile, 29), Joined::waiting);  // for the second
  second.ticket.started(at(30));
  second.ticket.publish_failure({FailureKind::connect_refused});
  // Nothing to wait for and no start allowed yet: what there is.
  stage.waker.deliver();
  EXPECT_EQ(stage.join(third, 31), Joined::read_now);
  EXPECT_EQ(third.flight.flight(), leader.ticket.flight_ref());
  // It moves again: good for newcomers.
  grow(leader.ticket.flight(), "x", 100);
  EXPECT_EQ(stage.join(third, 101), Joined::read_now);
  // Broken: not for newcomers, who need no period to start another.
  leader.ticket.flight().finish(false);
  EXPECT_EQ(stage.join(third, 101), Joined::leading);
}

// COA-4
TEST(FlightOverdue, those_who_give_up_together_start_one_replacement) {
  Stage stage;
  Client leader;
  std::deque<Client> clients(10);
  stage.join(leader, 0);
  leader.ticket.started(at(0));
  for (auto& client : clients) stage.join(client, 1);
  EXPECT_FALSE(stage.replace(leader, 11));  // its own fetch did not begin before it came
  std::size_t replacements = 0;
  for (auto& client : clients) replacements += stage.replace(client, 11);
  EXPECT_EQ(replacements, 1U);
  EXPECT_TRUE(clients[0].ticket);
  EXPECT_TRUE(clients[0].waits());
  EXPECT_TRUE(clients[0].waiter.leader);
  clients[0].ticket.started(at(11));
  // They came before it began, so none of them replaces it; who comes now may.
  for (auto& client : clients) EXPECT_FALSE(stage.replace(client, 21));
  Client newcomer;
  EXPECT_EQ(stage.join(newcomer, 21), Joined::leading);
  stage.head(clients[0].ticket, cacheable);
  EXPECT_EQ(stage.waker.deliver(), 12U);
  EXPECT_TRUE(clients[0].waiter.leader);
  EXPECT_FALSE(newcomer.waiter.leader);
  EXPECT_FALSE(stage.replace(clients[2], 100));  // was told
}

// COA-4
TEST(FlightOverdue, a_replacement_needs_an_overdue_fetch_and_a_free_place) {
  struct Row {
    char const* name;
    double started, now;
    std::uint32_t max_fetches;
    std::uint32_t max_flights;
    bool replaced;
  };
  for (auto const& row :
       {Row{"overdue", 0, 10, 3, 10, true}, Row{"not yet overdue", 0.5, 10, 3, 10, false},
        Row{"no more in this slot", 0, 10, 1, 10, false}, Row{"no more in the table", 0, 10, 3, 1, false}}) {
    SCOPED_TRACE(row.name);
    Stage stage;
    stage.rules.max_fetches_per_slot = row.max_fetches;
    Client leader, follower;
    stage.join(leader, 0);
    leader.ticket.started(at(row.started));
    stage.join(follower, 0);
    stage.rules.max_flights = row.max_flights;
    EXPECT_EQ(stage.replace(follower, row.now), row.replaced);
    EXPECT_TRUE(follower.waits());
    EXPECT_EQ(stage.table.flights(), row.replaced ? 2U : 1U);
  }
}

// COA-4: an error ends the wait only when no other fetch of the slot is under way.
TEST(FlightOverdue, an_error_is_told_only_by_the_last_fetch_under_way) {
  for (auto const with_head : {false, true}) {
    Stage stage;
    Client first, follower, second;
    stage.join(first, 0);
    first.ticket.started(at(0));
    stage.join(follower, 1);
    EXPECT_EQ(stage.join(second, 10), Joined::leading);
    auto const err = [&](LeaderTicket& ticket) {
      if (with_head)
        stage.head(ticket, unavailable);
      else
        ticket.publish_failure({FailureKind::connection_broken});
    };
    err(second.ticket);
    EXPECT_EQ(stage.waker.deliver(), 0U);
    EXPECT_TRUE(second.waits());
    err(first.ticket);
    EXPECT_EQ(stage.waker.deliver(), 3U);
    for (auto* client : {&first, &follower, &second}) {
      EXPECT_EQ(client->waiter.told, with_head ? Told::head : Told::failed);
      EXPECT_EQ(client->waiter.leader, client == &first);
      EXPECT_EQ(client->waiter.failure.kind, with_head ? FailureKind::internal : FailureKind::connection_broken);
    }
    EXPECT_EQ(stage.table.flights(), 0U);
  }
}

// COA-4: an error first, then a usable head of the other fetch.
TEST(FlightOverdue, a_failed_fetch_leaves_its_waiters_to_the_other) {
  Stage stage;
  Client first, second;
  stage.join(first, 0);
  first.ticket.started(at(0));
  stage.join(second, 10);
  first.ticket.publish_failure({FailureKind::read_timeout});
  stage.head(second.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_EQ(first.waiter.told, Told::head);
  EXPECT_EQ(first.waiter.flight.flight(), second.ticket.flight_ref());
}

// COA-3, COA-15: where no replacement may be started for want of flights, a newcomer waits with the others.
TEST(FlightOverdue, no_flight_left_for_a_replacement) {
  Stage stage;
  stage.rules.max_flights = 1;
  Client leader, follower;
  stage.join(leader, 0);
  leader.ticket.started(at(0));
  EXPECT_EQ(stage.join(follower, 20), Joined::waiting);
  // But none at all for one who may use nothing there.
  stage.invalidate();
  Client after;
  EXPECT_EQ(stage.join(after, 20), Joined::overflow);
}

}  // namespace
}  // namespace weir::shield
