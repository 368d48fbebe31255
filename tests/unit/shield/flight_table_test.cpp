// Transcripts of the flight table: who leads, who waits, who is told what.
#include "weir/shield/flight_table.hpp"

#include <deque>
#include <vector>

#include <gmock/gmock.h>
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
    cache::Entry const entry(cache::StoredResponse::make({"/a", "", "HTTP/1.1 200 \r\n", {}}, 0, stage.account));
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

// COA-3
TEST(FlightTable, a_newcomer_that_finds_the_newest_overdue_starts_another_once_a_period_and_three_at_most) {
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
TEST(FlightTable, a_replacement_that_failed_is_not_replaced_before_the_period_is_over) {
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
TEST(FlightTable, a_stalled_body_is_replaced_for_newcomers) {
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
TEST(FlightTable, those_who_give_up_together_start_one_replacement) {
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
TEST(FlightTable, a_replacement_needs_an_overdue_fetch_and_a_free_place) {
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
TEST(FlightTable, an_error_is_told_only_by_the_last_fetch_under_way) {
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
TEST(FlightTable, a_failed_fetch_leaves_its_waiters_to_the_other) {
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
  leader.ticket.flight().set_on_abandoned([](void* count) noexcept { ++*static_cast<int*>(count); }, &abandoned);
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
  flight.set_on_abandoned([](void* count) noexcept { ++*static_cast<int*>(count); }, &abandoned);
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
  flight.clear_on_abandoned();
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

// COA-9: nobody joins any more, readers and waiters stay.
TEST(FlightTable, closed_to_newcomers) {
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

// COA-14, SRV-6
TEST(FlightTable, a_flight_that_began_before_an_invalidation_serves_those_who_came_before_it_and_nobody_else) {
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
TEST(FlightTable, an_overruled_flight_tells_newer_waiters_nothing) {
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
TEST(FlightTable, an_error_ends_the_wait_of_those_whom_the_other_fetch_may_not_answer) {
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
TEST(FlightTable, a_purge_that_covers_the_key_is_passed_to_the_join) {
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
TEST(FlightTable, overruling_covers_all_variants_and_only_what_began_before) {
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
TEST(FlightTable, what_will_be_stored_can_be_overruled_after_its_head) {
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

// COA-15
TEST(FlightTable, bounds_of_waiters_and_flights) {
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

// COA-3, COA-15: where no replacement may be started for want of flights, a newcomer waits with the others.
TEST(FlightTable, no_flight_left_for_a_replacement) {
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

// SRV-5: who may not lead joins what others caused, and neither starts nor replaces.
TEST(FlightTable, one_that_may_not_lead) {
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

// COA-1: found by the primary key, learned to be a variant.
TEST(FlightTable, also_answers_a_variant_key) {
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

TEST(FlightTable, also_answers_does_nothing_where_another_flight_is_or_for_a_closed_one) {
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

// COA-14
TEST(FlightTable, also_answers_after_an_invalidation_only_for_nobody) {
  Stage stage;
  Client leader, after;
  stage.join(leader);
  stage.invalidate();
  leader.ticket.also_answers("de");
  EXPECT_EQ(stage.join(after, 0, Stage::key("/a", "de")), Joined::leading);
}

// COA-1: with a head already published, newcomers by variant read at once.
TEST(FlightTable, also_answers_after_the_head) {
  Stage stage;
  Client leader, late;
  stage.join(leader);
  stage.head(leader.ticket, cacheable);
  leader.ticket.also_answers("de");
  EXPECT_EQ(stage.join(late, 0, Stage::key("/a", "de")), Joined::read_now);
}

// COA-8, SRV-6: a fetch of its own; nobody finds it, an invalidation does.
TEST(FlightTable, alone) {
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
TEST(FlightTable, alone_is_abandoned_when_its_requester_leaves_before_the_head) {
  Stage stage;
  Client own, leader;
  int abandoned = 0;
  auto const count = [](void* c) noexcept { ++*static_cast<int*>(c); };
  own.ticket = stage.table.alone(Stage::key("/a"), own.waiter, 0);
  own.ticket.flight().set_on_abandoned(count, &abandoned);
  EXPECT_TRUE(own.ticket.wanted());
  EXPECT_TRUE(stage.table.cancel(own.waiter));
  EXPECT_EQ(abandoned, 1);
  EXPECT_FALSE(own.ticket.wanted());

  stage.join(leader);
  leader.ticket.flight().set_on_abandoned(count, &abandoned);
  EXPECT_TRUE(stage.table.cancel(leader.waiter));
  EXPECT_EQ(abandoned, 1);
}

// OBS-3
TEST(FlightTable, rows) {
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
TEST(FlightTable, flights_know_in_which_order_they_began) {
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
TEST(FlightTable, waiters_that_are_destroyed_leave_the_slot) {
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
