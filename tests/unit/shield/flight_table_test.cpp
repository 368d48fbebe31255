// Transcripts of the flight table: who leads, who waits, who is told what.
#include "weir/shield/flight_table.hpp"

#include <deque>

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

// COA-1, COA-9
TEST(FlightTable, a_burst_on_a_cold_key_has_one_leader_and_all_read_its_flight) {
  Stage stage;
  std::deque<Client> clients(100);
  EXPECT_EQ(stage.join(clients[0]), Joined::leading);
  for (std::size_t i = 1; i < clients.size(); ++i) EXPECT_EQ(stage.join(clients[i]), Joined::waiting);
  EXPECT_EQ(stage.waiters(), 100U);
  EXPECT_EQ(stage.table.flights(), 1U);

  stage.head(clients[0].ticket, cacheable);
  EXPECT_EQ(stage.waker.posts(), 1U);  // one list for all of them
  EXPECT_EQ(clients[7].state(), WaiterState::chosen);
  EXPECT_FALSE(stage.table.cancel(clients[7].waiter));  // its post is on the way
  EXPECT_EQ(stage.waker.deliver(), 100U);
  for (auto& client : clients) {
    EXPECT_EQ(client.waiter.told, Told::head);
    EXPECT_EQ(client.waiter.leader, &client == &clients[0]);
    EXPECT_EQ(client.waiter.flight.flight(), clients[0].ticket.flight_ref());
    client.waiter.flight.reset();
  }
  EXPECT_EQ(stage.waiters(), 0U);
  clients[0].ticket.flight().finish(true);
  clients[0].ticket.leave();
  clients[0].ticket.leave();
  EXPECT_TRUE(stage.quiet());
}

// COA-1: until the entry is visible to look-ups, newcomers join the flight; then the next request leads.
TEST(FlightTable, newcomers_join_a_flight_with_a_head_until_it_leaves) {
  Stage stage;
  Client leader, late, later, next;
  stage.join(leader);
  stage.head(leader.ticket, cacheable);
  EXPECT_EQ(stage.join(late), Joined::read_now);
  EXPECT_EQ(late.flight.flight(), leader.ticket.flight_ref());
  EXPECT_EQ(late.state(), WaiterState::free);
  leader.ticket.flight().finish(true);
  EXPECT_EQ(stage.join(later, 1000), Joined::read_now);  // complete, not yet stored: never overdue
  leader.ticket.leave();
  EXPECT_EQ(stage.join(next, 1000), Joined::leading);
}

// FWD-7: a fetch for nobody waits for nobody, gives way to any other, and is somebody's once it was joined.
TEST(FlightTable, a_fetch_for_nobody_becomes_foreground_when_it_is_joined) {
  Stage stage;
  CoalesceRules const rules;
  auto const begin = [&] { return stage.table.lead_for_nobody(Stage::key("/a"), 0, rules, at(0)); };
  auto ticket = begin();
  ASSERT_TRUE(ticket);
  EXPECT_FALSE(ticket->wanted());
  EXPECT_FALSE(begin());
  int told = 0;
  ticket->flight().set_on_interest([](void* count) noexcept { ++*static_cast<int*>(count); }, &told);
  EXPECT_TRUE(ticket->flight().in_background());
  Client first, second;
  EXPECT_EQ(stage.join(first), Joined::waiting);
  EXPECT_FALSE(ticket->flight().in_background());
  EXPECT_EQ(stage.join(second), Joined::waiting);
  EXPECT_EQ(told, 1);
  ticket->publish_failure({});
  ticket->leave();
  stage.waker.deliver();
  EXPECT_EQ(first.waiter.told, Told::failed);
  EXPECT_TRUE(stage.quiet());
  EXPECT_TRUE(begin());
}

// COA-1
TEST(FlightTable, keys_and_variants_have_flights_of_their_own) {
  Stage stage;
  Client a, b, german, french, german_again;
  EXPECT_EQ(stage.join(a, 0, "/a"), Joined::leading);
  EXPECT_EQ(stage.join(b, 0, "/b"), Joined::leading);
  EXPECT_EQ(stage.join(german, 0, Stage::key("/a", "de")), Joined::leading);
  EXPECT_EQ(stage.join(french, 0, Stage::key("/a", "fr")), Joined::leading);
  EXPECT_EQ(stage.join(german_again, 0, Stage::key("/a", "de")), Joined::waiting);
  EXPECT_EQ(stage.waiters("/a"), 4U);
  EXPECT_EQ(stage.table.flights(), 4U);
  // Equal hashes of different keys do not meet.
  Client other;
  EXPECT_EQ(stage.join(other, 0, {.primary = "/c", .hash = base::hash_bytes("/a"), .selector = "de"}), Joined::leading);
}

// COA-1: an entry found in the store, or freshened, is offered to all; a vary spec sends all on.
TEST(FlightTable, an_entry_and_a_vary_spec_go_to_everyone_and_end_the_flight) {
  for (auto const validated : {false, true}) {
    Stage stage;
    Client leader, follower, next;
    stage.join(leader);
    stage.join(follower);
    cache::Entry const entry(cache::StoredResponse::make({"/a", "", "HTTP/1.1 200 \r\n", cache::Facts()}, 0, stage.account));
    leader.ticket.publish_entry(entry, validated);
    stage.waker.deliver();
    for (auto* client : {&leader, &follower}) {
      EXPECT_EQ(client->waiter.told, Told::entry);
      EXPECT_EQ(client->waiter.entry, entry);
      EXPECT_EQ(client->waiter.validated, validated);
      EXPECT_EQ(client->waiter.leader, client == &leader);
    }
    EXPECT_EQ(stage.join(next), Joined::leading);
  }
  Stage stage;
  Client leader, follower, next;
  stage.join(leader);
  stage.join(follower);
  leader.ticket.publish_by_variant();
  stage.waker.deliver();
  EXPECT_EQ(leader.waiter.told, Told::by_variant);
  EXPECT_EQ(follower.waiter.told, Told::by_variant);
  EXPECT_EQ(stage.table.flights(), 0U);
  // The same waiter joins again.
  EXPECT_EQ(stage.join(follower, 0, Stage::key("/a", "de")), Joined::leading);
  EXPECT_EQ(follower.waiter.told, Told::nothing);
}

// COA-2
TEST(FlightTable, a_leader_that_hangs_up_cancels_nothing) {
  Stage stage;
  Client leader, follower, late;
  stage.join(leader);
  stage.join(follower);
  EXPECT_TRUE(stage.table.cancel(leader.waiter));
  EXPECT_EQ(leader.state(), WaiterState::free);
  EXPECT_TRUE(leader.ticket.wanted());
  EXPECT_EQ(stage.join(late), Joined::waiting);
  EXPECT_TRUE(stage.table.cancel(late.waiter));
  stage.head(leader.ticket, cacheable);
  EXPECT_EQ(stage.waker.deliver(), 1U);
  EXPECT_EQ(follower.waiter.told, Told::head);
  EXPECT_FALSE(follower.waiter.leader);
}

// COA-2: everybody leaves and the flight stays, wanted by nobody; a newcomer lands on it.
TEST(FlightTable, a_flight_whose_waiters_all_left_is_still_there) {
  Stage stage;
  Client leader, follower, again;
  stage.join(leader);
  stage.join(follower);
  stage.table.cancel(leader.waiter);
  stage.table.cancel(follower.waiter);
  EXPECT_FALSE(leader.ticket.wanted());
  EXPECT_EQ(stage.table.flights(), 1U);
  EXPECT_EQ(stage.join(again), Joined::waiting);
  EXPECT_TRUE(leader.ticket.wanted());
  stage.head(leader.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_TRUE(leader.ticket.wanted());
  again.waiter.flight.reset();
  EXPECT_FALSE(leader.ticket.wanted());
}

// COA-5, COA-6: to all at once, and nothing is remembered.
TEST(FlightTable, a_failure_goes_to_all_at_once_and_the_next_request_leads) {
  Stage stage;
  Client leader, follower, next;
  stage.join(leader);
  stage.join(follower);
  leader.ticket.publish_failure({FailureKind::breaker_open});
  EXPECT_EQ(stage.waker.posts(), 1U);
  EXPECT_EQ(stage.waker.deliver(), 2U);
  EXPECT_EQ(leader.waiter.told, Told::failed);
  EXPECT_EQ(follower.waiter.told, Told::failed);
  EXPECT_EQ(follower.waiter.failure.kind, FailureKind::breaker_open);
  EXPECT_EQ(stage.join(next), Joined::leading);
}

// COA-5
TEST(FlightTable, an_error_response_goes_to_every_waiter_though_it_is_not_shareable) {
  for (auto const stored : {false, true}) {
    Stage stage;
    Client leader, follower, next;
    stage.join(leader);
    stage.join(follower);
    auto line = unavailable;
    line.stored = line.shareable = line.joinable = stored;  // explicit freshness
    stage.head(leader.ticket, line);
    stage.waker.deliver();
    EXPECT_EQ(leader.waiter.told, Told::head);
    EXPECT_EQ(follower.waiter.told, Told::head);
    EXPECT_EQ(stage.join(next), Joined::leading);
  }
}

// COA-5
TEST(FlightTable, what_cannot_be_shared_is_its_leaders_and_sends_the_others_back_at_once) {
  Stage stage;
  Client leader, follower, other, next;
  stage.join(leader);
  stage.join(follower);
  stage.join(other);
  stage.head(leader.ticket, set_cookie);
  EXPECT_EQ(stage.waker.posts(), 1U);
  stage.waker.deliver();
  EXPECT_EQ(leader.waiter.told, Told::head);
  EXPECT_TRUE(leader.waiter.leader);
  EXPECT_EQ(follower.waiter.told, Told::reenter);
  EXPECT_FALSE(follower.waiter.flight);
  EXPECT_EQ(other.waiter.told, Told::reenter);
  EXPECT_EQ(leader.ticket.flight().interest(), 1U);
  EXPECT_EQ(stage.join(next), Joined::leading);
}

// COA-5: who caused another fetch that is under way waits for its own.
TEST(FlightTable, a_second_leader_waits_for_its_own_fetch_when_the_first_cannot_be_shared) {
  Stage stage;
  Client first, follower, second;
  stage.join(first, 0);
  first.ticket.started(at(0));
  stage.join(follower, 1);
  stage.join(second, 10);
  stage.head(first.ticket, set_cookie);
  stage.waker.deliver();
  EXPECT_EQ(first.waiter.told, Told::head);
  EXPECT_EQ(follower.waiter.told, Told::reenter);
  EXPECT_TRUE(second.waits());
  stage.head(second.ticket, set_cookie);
  stage.waker.deliver();
  EXPECT_EQ(second.waiter.told, Told::head);
  EXPECT_TRUE(second.waiter.leader);
}

// COA-2, COA-5: the flight of a leader who left, with an answer for nobody else, is abandoned.
TEST(FlightTable, what_cannot_be_shared_and_has_lost_its_leader_is_abandoned) {
  Stage stage;
  Client leader, follower;
  stage.join(leader);
  stage.join(follower);
  int abandoned = 0;
  leader.ticket.flight().set_on_interest([](void* count) noexcept { ++*static_cast<int*>(count); }, &abandoned);
  stage.table.cancel(leader.waiter);
  EXPECT_EQ(abandoned, 0);
  stage.head(leader.ticket, set_cookie);
  EXPECT_EQ(abandoned, 1);
  EXPECT_EQ(leader.ticket.flight().interest(), 0U);
  stage.waker.deliver();
  EXPECT_EQ(follower.waiter.told, Told::reenter);
}

// COA-2: never between being chosen and reading, and not lost when nobody reads after all.
TEST(FlightTable, interest_is_held_from_the_choosing_on) {
  Stage stage;
  Client leader, follower;
  stage.join(leader);
  stage.join(follower);
  int abandoned = 0;
  auto& flight = leader.ticket.flight();
  flight.set_on_interest([](void* count) noexcept { ++*static_cast<int*>(count); }, &abandoned);
  stage.head(leader.ticket, cacheable);
  EXPECT_EQ(flight.interest(), 2U);  // though no post was delivered
  stage.waker.deliver();
  {
    Reader const reader(std::move(follower.waiter.flight));
    EXPECT_FALSE(follower.waiter.flight);
    EXPECT_EQ(flight.interest(), 2U);
    leader.waiter.flight.reset();
    EXPECT_EQ(flight.interest(), 1U);
    EXPECT_EQ(abandoned, 0);
  }
  EXPECT_EQ(abandoned, 1);
  // It is still to be stored, so newcomers may come, and go.
  Client late;
  EXPECT_EQ(stage.join(late), Joined::read_now);
  EXPECT_EQ(flight.interest(), 1U);
  late.flight.reset();
  EXPECT_EQ(abandoned, 2);
  flight.clear_on_interest();
  stage.join(late);
  late.flight.reset();
  EXPECT_EQ(abandoned, 2);
}

// COA-6: the destructor is the failure path.
TEST(FlightTable, a_ticket_that_dies_tells_everyone) {
  struct Row {
    char const* name;
    void (*before)(Stage&, LeaderTicket&);
    Told told;
    BodyState body;
  };
  for (auto const &row :
       {Row{"before anything", [](Stage&, LeaderTicket&) {}, Told::failed, BodyState::broken},
        Row{"head set, not published",
            [](Stage&, LeaderTicket&t) { t.flight().set_head(make_head(cacheable), nullptr, 0, at(0)); }, Told::failed,
            BodyState::broken},
        Row{"inside the body", [](Stage&s, LeaderTicket&t) { s.head(t, cacheable); }, Told::head, BodyState::broken},
        Row{"body complete, not stored",
            [](Stage&s, LeaderTicket&t) {
              s.head(t, cacheable);
              t.flight().finish(true);
            },
            Told::head, BodyState::complete},
        Row{"left", [](Stage&, LeaderTicket&t) { t.leave(); }, Told::failed, BodyState::broken}}) {
    SCOPED_TRACE(row.name);
    Stage stage;
    Client leader, follower, next;
    stage.join(leader);
    stage.join(follower);
    auto const flight = leader.ticket.flight_ref();
    row.before(stage, leader.ticket);
    { LeaderTicket const dead(std::move(leader.ticket)); }
    EXPECT_FALSE(leader.ticket);
    EXPECT_EQ(stage.waker.deliver(), 2U);
    EXPECT_EQ(follower.waiter.told, row.told);
    EXPECT_EQ(leader.waiter.told, row.told);
    EXPECT_EQ(follower.waiter.failure.kind, FailureKind::internal);
    EXPECT_EQ(flight->body_state(), row.body);
    EXPECT_EQ(stage.table.flights(), 0U);
    EXPECT_EQ(stage.join(next), Joined::leading);
  }
}

// COA-6
TEST(FlightTable, a_ticket_that_is_replaced_by_another_ends_as_if_it_died) {
  Stage stage;
  Client a, b;
  stage.join(a, 0, "/a");
  stage.join(b, 0, "/b");
  a.ticket = std::move(b.ticket);
  EXPECT_EQ(stage.waker.deliver(), 1U);
  EXPECT_EQ(a.waiter.told, Told::failed);
  EXPECT_TRUE(b.waits());
  auto& same = a.ticket;
  a.ticket = std::move(same);
  EXPECT_TRUE(a.ticket);
  EXPECT_TRUE(b.waits());
}

// COA-17
TEST(FlightTable, what_is_stale_on_arrival_is_for_those_who_came_before) {
  Stage stage;
  Client leader, before, after;
  stage.join(leader);
  stage.join(before);
  stage.head(leader.ticket, stale_on_arrival);
  stage.waker.deliver();
  EXPECT_EQ(before.waiter.told, Told::head);
  EXPECT_EQ(stage.join(after), Joined::leading);
}

// COA-12, COA-17: joinable counts only with shareable and stored.
TEST(FlightTable, what_is_not_stored_takes_no_newcomers) {
  Stage stage;
  Client leader, before, after;
  stage.join(leader);
  stage.join(before);
  stage.head(leader.ticket, {.stored = false});
  stage.waker.deliver();
  EXPECT_EQ(before.waiter.told, Told::head);
  EXPECT_EQ(stage.join(after), Joined::leading);
}

}  // namespace
}  // namespace weir::shield
