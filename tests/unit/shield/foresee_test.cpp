// OBS-3: what the table and the limiter foretell, against what they then say.
#include <deque>

#include <gtest/gtest.h>

#include "stage.hpp"
#include "weir/shield/limiter.hpp"

namespace weir::shield {
namespace {

// Foretells, joins, and gives the word if both agree.
Joined both(Stage& stage, Client& client, double seconds = 0, bool may_lead = true) {
  auto key = Stage::key("/a");
  key.may_lead = may_lead;
  auto const foretold = stage.table.foresee(key, stage.rules, at(seconds)).joined;
  auto const joined = stage.join(client, seconds, key);
  EXPECT_EQ(foretold, joined);
  return joined;
}

TEST(Foresee, the_table_says_what_join_then_says) {
  Stage stage;
  stage.rules.max_waiters = 2;
  Client nobody, leader, follower, crowd, reader;
  EXPECT_EQ(both(stage, nobody, 0, false), Joined::may_not_lead);
  EXPECT_EQ(both(stage, leader), Joined::leading);
  leader.ticket.started(at(0));
  EXPECT_EQ(both(stage, follower), Joined::waiting);
  EXPECT_EQ(both(stage, crowd), Joined::overflow);
  auto const seen = stage.table.foresee(Stage::key("/a"), stage.rules, at(1));
  EXPECT_EQ(seen.waiters, 2U);
  EXPECT_EQ(seen.fetches, 1U);
  EXPECT_FALSE(seen.head);
  EXPECT_EQ(seen.started, at(0));
  stage.head(leader.ticket, cacheable);
  stage.waker.deliver();
  EXPECT_EQ(both(stage, reader), Joined::read_now);
  EXPECT_TRUE(stage.table.foresee(Stage::key("/a"), stage.rules, at(1)).head);
  leader.ticket.flight().finish(true);
  leader.ticket.leave();
  EXPECT_EQ(stage.table.foresee(Stage::key("/a"), stage.rules, at(1)).joined, Joined::leading);
}

// COA-3, COA-15: an overdue fetch is replaced, if there may be another flight.
TEST(Foresee, replacements_and_the_bound_on_all_flights) {
  Stage stage;
  Client first, second, third;
  EXPECT_EQ(both(stage, first), Joined::leading);
  first.ticket.started(at(0));
  stage.rules.max_flights = 1;
  EXPECT_EQ(both(stage, second, 11), Joined::waiting);
  stage.rules.max_flights = 2;
  EXPECT_EQ(both(stage, third, 12), Joined::leading);
}

TEST(Foresee, the_limiter_says_what_acquire_then_says) {
  HeldWaker waker;
  Limiter limiter(waker, {.max_concurrent = 4, .max_uploads = 1, .max_queue = 4, .max_partition_share = 75});
  auto const both = [&](PermitWaiter& waiter, std::uint64_t partition, PermitClass permit_class) {
    waiter.partition = partition;
    waiter.permit_class = permit_class;
    auto const foretold = limiter.foresee(permit_class, partition);
    auto const before = limiter.stats();
    EXPECT_EQ(before.queued, limiter.stats().queued);
    auto const said = limiter.acquire(waiter);
    EXPECT_EQ(foretold, said);
    return said;
  };
  std::deque<PermitWaiter> waiters(11);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(both(waiters[i], 1, PermitClass::fetch), Acquire::granted);
  EXPECT_EQ(both(waiters[3], 1, PermitClass::fetch), Acquire::queued) << "three quarters are a partition's share";
  EXPECT_EQ(both(waiters[4], 1, PermitClass::fetch), Acquire::queue_full) << "and a quarter of the queue";
  EXPECT_EQ(both(waiters[5], 2, PermitClass::background), Acquire::not_now);
  EXPECT_EQ(both(waiters[6], 2, PermitClass::fetch), Acquire::granted);
  EXPECT_EQ(both(waiters[7], 2, PermitClass::fetch), Acquire::queued);
  EXPECT_EQ(both(waiters[8], 2, PermitClass::upload), Acquire::granted);
  EXPECT_EQ(both(waiters[9], 3, PermitClass::upload), Acquire::queued);
  EXPECT_EQ(both(waiters[10], 3, PermitClass::stream), Acquire::granted);
  for (auto& waiter : waiters) waiter.permit.release();
  waker.deliver();
  for (auto& waiter : waiters) waiter.permit.release();
  waker.deliver();
}

}  // namespace
}  // namespace weir::shield
