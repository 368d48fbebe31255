// LIM-1, LIM-2 as transcripts, as a property over random orders, and under threads.
#include "weir/shield/limiter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "stage.hpp"
#include "workers.hpp"

namespace weir::shield {
namespace {

struct Bench {
  HeldWaker waker;
  Limiter limiter;
  explicit Bench(LimiterRules const& rules) : limiter(waker, rules) {}

  Acquire acquire(PermitWaiter& waiter, std::uint64_t partition = 1, PermitClass permit_class = PermitClass::fetch) {
    waiter.partition = partition;
    waiter.permit_class = permit_class;
    return limiter.acquire(waiter);
  }
  // So many of one partition; returns how many were granted.
  std::size_t acquire_all(std::deque<PermitWaiter>& waiters, std::size_t count, std::uint64_t partition,
                          PermitClass permit_class = PermitClass::fetch) {
    std::size_t granted = 0;
    for (std::size_t i = 0; i < count; ++i)
      granted += acquire(waiters.emplace_back(), partition, permit_class) == Acquire::granted;
    return granted;
  }
};

std::size_t holding(std::deque<PermitWaiter> const& waiters) {
  return static_cast<std::size_t>(
      std::count_if(waiters.begin(), waiters.end(), [](auto const& w) { return bool(w.permit); }));
}

// LIM-1
TEST(Limiter, at_most_so_many_and_then_first_in_first_out) {
  Bench bench({.max_concurrent = 2, .max_partition_share = 100});
  PermitWaiter a, b, c, d;
  EXPECT_EQ(bench.acquire(a, 1), Acquire::granted);
  EXPECT_EQ(bench.acquire(b, 2), Acquire::granted);
  EXPECT_EQ(bench.acquire(c, 3), Acquire::queued);
  EXPECT_EQ(bench.acquire(d, 4), Acquire::queued);
  EXPECT_EQ(bench.limiter.stats().queued, 2U);
  a.permit.release();
  a.permit.release();
  EXPECT_EQ(c.state.load(), WaiterState::chosen);
  EXPECT_TRUE(c.permit);
  EXPECT_FALSE(bench.limiter.cancel(c));  // its post is on the way
  EXPECT_FALSE(d.permit);
  EXPECT_EQ(bench.waker.deliver(), 1U);
  EXPECT_TRUE(bench.limiter.cancel(d));
  EXPECT_EQ(d.state.load(), WaiterState::free);
  b.permit.release();
  auto const stats = bench.limiter.stats();
  EXPECT_EQ(stats.fetches, 1U);
  EXPECT_EQ(stats.queued, 0U);
  EXPECT_EQ(stats.queued_ever, 2U);
  EXPECT_EQ(stats.most_at_once, 2U);
}

// LIM-1
TEST(Limiter, the_queue_is_bounded) {
  Bench bench({.max_concurrent = 1, .max_queue = 4});
  std::deque<PermitWaiter> waiters(5);
  PermitWaiter holder, late;
  EXPECT_EQ(bench.acquire(holder, 100), Acquire::granted);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(bench.acquire(waiters[i], i), Acquire::queued);
  EXPECT_EQ(bench.acquire(late, 100), Acquire::queue_full);
  EXPECT_EQ(late.state.load(), WaiterState::free);
  bench.limiter.cancel(waiters[0]);
  EXPECT_EQ(bench.acquire(late, 100), Acquire::queued);
  bench.limiter.refuse_all();

  Bench none({.max_concurrent = 1, .max_queue = 0});
  PermitWaiter one, two;
  EXPECT_EQ(none.acquire(one), Acquire::granted);
  EXPECT_EQ(none.acquire(two), Acquire::queue_full);
}

// LIM-2: at most a quarter of the queue, over both kinds.
TEST(Limiter, a_partition_has_a_quarter_of_the_queue) {
  Bench bench({.max_concurrent = 1, .max_uploads = 1, .max_queue = 16});
  std::deque<PermitWaiter> waiters;
  EXPECT_EQ(bench.acquire_all(waiters, 4, 1), 1U);
  EXPECT_EQ(bench.acquire_all(waiters, 2, 1, PermitClass::upload), 1U);
  EXPECT_EQ(bench.limiter.stats().queued, 4U);
  PermitWaiter more, upload, other;
  EXPECT_EQ(bench.acquire(more, 1), Acquire::queue_full);
  EXPECT_EQ(bench.acquire(upload, 1, PermitClass::upload), Acquire::queue_full);
  EXPECT_EQ(bench.acquire(other, 2), Acquire::queued);
  bench.limiter.refuse_all();
}

// LIM-2: alone it has three quarters, so that a quarter is always free for others.
TEST(Limiter, a_partition_alone_has_three_quarters) {
  Bench bench({.max_concurrent = 64});
  std::deque<PermitWaiter> flood;
  EXPECT_EQ(bench.acquire_all(flood, 100, 1), 48U);
  PermitWaiter other;
  EXPECT_EQ(bench.acquire(other, 2), Acquire::granted);
  other.permit.release();  // not for the flood, though it waits
  EXPECT_EQ(holding(flood), 48U);
  flood[0].permit.release();
  EXPECT_EQ(holding(flood), 48U);
  bench.limiter.refuse_all();
}

// LIM-2: one at its bound is skipped, not waited behind.
TEST(Limiter, one_at_its_bound_is_skipped) {
  Bench bench({.max_concurrent = 8, .max_per_partition = 2});
  std::deque<PermitWaiter> flood, others;
  EXPECT_EQ(bench.acquire_all(flood, 20, 1), 6U);
  for (std::uint64_t p = 2; p < 12; ++p) bench.acquire(others.emplace_back(), p);
  EXPECT_EQ(holding(others), 2U);
  // While others wait, the flood gets nothing, though it has waited longer, until it holds less than two.
  for (std::size_t i = 0; i < 4; ++i) {
    flood[i].permit.release();
    EXPECT_EQ(holding(flood), 5 - i);
    EXPECT_EQ(holding(others), 3 + i);
    EXPECT_TRUE(others[2 + i].permit);  // in order
  }
  flood[4].permit.release();
  EXPECT_EQ(holding(others), 6U);
  EXPECT_TRUE(flood[6].permit);  // it has waited longest and is below its bound
  bench.limiter.refuse_all();
}

// LIM-2: no permit is idle while somebody may use it: two floods share evenly beyond their bound.
TEST(Limiter, two_floods_use_all_permits_and_share_them) {
  Bench bench({.max_concurrent = 16, .max_per_partition = 2});
  std::deque<PermitWaiter> a, b;
  EXPECT_EQ(bench.acquire_all(a, 100, 1), 12U);
  EXPECT_EQ(bench.acquire_all(b, 100, 2), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    a[i].permit.release();
    EXPECT_EQ(holding(a) + holding(b), 16U);
  }
  EXPECT_EQ(holding(a), 8U);
  EXPECT_EQ(holding(b), 8U);
  bench.limiter.refuse_all();
}

// LIM-1, LIM-2: everything is handed on in turn, with many of one partition and with many partitions.
TEST(Limiter, a_long_queue_is_handed_on_in_order) {
  for (auto const partitions : {1U, 8192U}) {
    Bench bench({.max_concurrent = 1, .max_queue = 32768});
    PermitWaiter holder;
    bench.acquire(holder, 99999);
    std::deque<PermitWaiter> waiters(8192);
    for (std::size_t i = 0; i < waiters.size(); ++i) ASSERT_EQ(bench.acquire(waiters[i], i % partitions), Acquire::queued);
    holder.permit.release();
    for (auto& waiter : waiters) {
      ASSERT_TRUE(waiter.permit);
      waiter.permit.release();
    }
    EXPECT_EQ(bench.waker.deliver(), waiters.size());
  }
}

// LIM-2: background work uses only permits outside the reserve, in all and of its partition, and is dropped, not queued.
TEST(Limiter, background_work) {
  Bench bench({.max_concurrent = 16, .max_per_partition = 8});
  std::deque<PermitWaiter> background, foreground;
  EXPECT_EQ(bench.acquire_all(background, 20, 1, PermitClass::background), 6U);
  for (std::uint64_t p = 2; p < 20; ++p) bench.acquire(background.emplace_back(), p, PermitClass::background);
  EXPECT_EQ(holding(background), 12U);
  EXPECT_EQ(bench.limiter.stats().background, 12U);
  EXPECT_EQ(bench.limiter.stats().queued, 0U);
  PermitWaiter late;
  EXPECT_EQ(bench.acquire(late, 77, PermitClass::background), Acquire::not_now);
  for (std::uint64_t p = 1; p < 5; ++p) EXPECT_EQ(bench.acquire(foreground.emplace_back(), p), Acquire::granted);
  // What foreground holds counts: no background until less than three quarters are taken.
  for (std::size_t i = 0; i < 4; ++i) background[i].permit.release();
  EXPECT_EQ(bench.acquire(late, 77, PermitClass::background), Acquire::not_now);
  background[4].permit.release();
  EXPECT_EQ(bench.acquire(late, 77, PermitClass::background), Acquire::granted);

  struct Row {
    std::uint32_t max_concurrent, reserve;
    Acquire first;
  };
  for (auto const& row : {Row{1, 25, Acquire::granted}, Row{64, 100, Acquire::not_now}, Row{64, 0, Acquire::granted}}) {
    Bench small({.max_concurrent = row.max_concurrent, .foreground_reserve = row.reserve});
    PermitWaiter only;
    EXPECT_EQ(small.acquire(only, 1, PermitClass::background), row.first);
  }
}

// FWD-7: a foreground request that joins makes it foreground.
TEST(Limiter, background_becomes_foreground) {
  Bench bench({.max_concurrent = 4});
  PermitWaiter first, second;
  bench.acquire(first, 1, PermitClass::background);
  first.permit.to_foreground();
  first.permit.to_foreground();
  EXPECT_EQ(first.permit.permit_class(), PermitClass::fetch);
  EXPECT_EQ(bench.limiter.stats().background, 0U);
  EXPECT_EQ(bench.limiter.stats().fetches, 1U);
  first.permit.release();
  first.permit.to_foreground();
  EXPECT_EQ(bench.limiter.stats().fetches, 0U);
}

// LIM-1: uploads have their own permits, and queue.
TEST(Limiter, uploads) {
  Bench bench({.max_concurrent = 1, .max_uploads = 2, .max_partition_share = 100});
  PermitWaiter fetch, one, two, three;
  EXPECT_EQ(bench.acquire(fetch, 9), Acquire::granted);
  EXPECT_EQ(bench.acquire(one, 1, PermitClass::upload), Acquire::granted);
  EXPECT_EQ(bench.acquire(two, 2, PermitClass::upload), Acquire::granted);
  EXPECT_EQ(bench.acquire(three, 3, PermitClass::upload), Acquire::queued);
  fetch.permit.release();
  EXPECT_FALSE(three.permit);
  one.permit.release();
  EXPECT_EQ(three.permit.permit_class(), PermitClass::upload);
  EXPECT_EQ(bench.limiter.stats().uploads, 2U);
}

// LIM-1: what is a stream gives its permit on.
TEST(Limiter, streams) {
  Bench bench({.max_concurrent = 1, .max_streams = 2, .max_uploads = 1});
  PermitWaiter fetch, next, upload, tunnel;
  bench.acquire(fetch, 1);
  EXPECT_EQ(bench.acquire(next, 2), Acquire::queued);
  EXPECT_TRUE(fetch.permit.move_to_stream());
  EXPECT_TRUE(fetch.permit.move_to_stream());
  EXPECT_TRUE(next.permit);
  EXPECT_EQ(bench.limiter.stats().streams, 1U);
  bench.acquire(upload, 3, PermitClass::upload);
  EXPECT_TRUE(upload.permit.move_to_stream());
  EXPECT_EQ(bench.limiter.stats().uploads, 0U);
  EXPECT_FALSE(next.permit.move_to_stream());  // all taken: it stays what it is
  EXPECT_EQ(next.permit.permit_class(), PermitClass::fetch);
  EXPECT_EQ(bench.acquire(tunnel, 4, PermitClass::stream), Acquire::queue_full);
  fetch.permit.release();
  EXPECT_EQ(bench.acquire(tunnel, 4, PermitClass::stream), Acquire::granted);
  EXPECT_EQ(bench.limiter.stats().streams, 2U);
  EXPECT_EQ(bench.limiter.stats().fetches, 1U);
}

// CB-1: its opening empties the queue at once.
TEST(Limiter, refuse_all) {
  Bench bench({.max_concurrent = 1, .max_uploads = 1});
  std::deque<PermitWaiter> waiters;
  for (std::uint64_t p = 0; p < 5; ++p) bench.acquire(waiters.emplace_back(), p);
  for (std::uint64_t p = 0; p < 3; ++p) bench.acquire(waiters.emplace_back(), p, PermitClass::upload);
  bench.limiter.refuse_all();
  EXPECT_EQ(bench.waker.posts(), 1U);
  EXPECT_EQ(bench.waker.deliver(), 6U);
  for (auto const& waiter : waiters) EXPECT_NE(waiter.refused, bool(waiter.permit));
  EXPECT_EQ(bench.limiter.stats().queued, 0U);
  bench.limiter.refuse_all();
  EXPECT_EQ(bench.waker.posts(), 1U);
  // One that was refused may ask again.
  EXPECT_EQ(bench.acquire(waiters[1], 1), Acquire::queued);
  EXPECT_FALSE(waiters[1].refused);
}

// LCY-2: kept over reloads.
TEST(Limiter, new_rules_hand_on_at_once_and_take_nothing_back) {
  Bench bench({.max_concurrent = 1});
  std::deque<PermitWaiter> waiters;
  for (std::uint64_t p = 0; p < 6; ++p) bench.acquire(waiters.emplace_back(), p);
  bench.limiter.set_rules({.max_concurrent = 4});
  EXPECT_EQ(bench.waker.deliver(), 3U);
  EXPECT_EQ(holding(waiters), 4U);
  bench.limiter.set_rules({.max_concurrent = 2});
  EXPECT_EQ(bench.limiter.stats().fetches, 4U);
  waiters[0].permit.release();
  waiters[1].permit.release();
  EXPECT_EQ(holding(waiters), 2U);
  waiters[2].permit.release();
  EXPECT_EQ(holding(waiters), 2U);
  EXPECT_TRUE(waiters[4].permit);
}

// COA-6: permits and waiters that die give back what they held.
TEST(Limiter, destructors_give_back) {
  Bench bench({.max_concurrent = 1});
  PermitWaiter survivor;
  {
    PermitWaiter holder, queued;
    bench.acquire(holder, 1);
    bench.acquire(queued, 2);
    bench.acquire(survivor, 3);
    Permit moved(std::move(holder.permit));
    EXPECT_FALSE(holder.permit);
    holder.permit = std::move(moved);
    auto& same = holder.permit;
    holder.permit = std::move(same);
    EXPECT_TRUE(holder.permit);
    EXPECT_EQ(bench.limiter.stats().queued, 2U);
  }
  EXPECT_TRUE(survivor.permit);
  EXPECT_EQ(bench.limiter.stats().queued, 0U);
}

// LIM-1, LIM-2 over random orders: the bounds, that nothing is idle, and who comes first.
class Model {
 public:
  Model(LimiterRules const& rules, unsigned seed) : rules_(rules), bench_(rules), random_(seed), requests_(150) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
    for (auto& request : requests_) end(request);
    EXPECT_EQ(bench_.limiter.stats().fetches + bench_.limiter.stats().background, 0U);
    EXPECT_EQ(bench_.limiter.stats().uploads + bench_.limiter.stats().queued, 0U);
    EXPECT_TRUE(handed_on_ > 0);
  }

 private:
  struct Request {
    PermitWaiter waiter;
    std::uint64_t came = 0;
    bool waits() const { return waiter.state.load() == WaiterState::linked; }
    bool holds() const { return bool(waiter.permit); }
  };
  struct Count {
    std::uint32_t held = 0, queued = 0, background = 0;
  };
  using Counts = std::map<std::uint64_t, Count>;

  static bool is_upload(Request const& r) { return r.waiter.permit_class == PermitClass::upload; }
  std::uint32_t capacity(bool uploads) const { return uploads ? rules_.max_uploads : rules_.max_concurrent; }
  std::uint32_t share(bool uploads) const { return std::max(1U, capacity(uploads) * rules_.max_partition_share / 100); }

  Counts counts(bool uploads) const {
    Counts counts;
    for (auto const& r : requests_) {
      if (is_upload(r) != uploads) continue;
      auto& count = counts[r.waiter.partition];
      count.held += r.holds();
      count.queued += r.waits();
      count.background += r.holds() && r.waiter.permit.permit_class() == PermitClass::background;
    }
    return counts;
  }

  void step() {
    auto& request = requests_[random_() % requests_.size()];
    if (request.holds()) return release(request);
    if (request.waits()) {
      if (random_() % 4 == 0) end(request);
      return;
    }
    static constexpr std::array classes{PermitClass::fetch, PermitClass::fetch, PermitClass::background,
                                        PermitClass::upload};
    auto const skewed = random_() % 3 == 0 ? random_() % 12 : random_() % 2;
    request.came = ++turn_;
    bench_.acquire(request.waiter, skewed, classes[random_() % classes.size()]);
  }
  void release(Request& request) {
    auto const uploads = is_upload(request);
    auto before = counts(uploads);
    --before[request.waiter.partition].held;
    std::vector<Request*> waited;
    for (auto& r : requests_)
      if (r.waits()) waited.push_back(&r);
    request.waiter.permit.release();
    for (auto* r : waited) {
      if (!r->holds()) continue;
      ++handed_on_;
      auto const cap = std::min(rules_.max_per_partition, share(uploads));
      for (auto* other : waited) {
        if (other == r || is_upload(*other) != uploads) continue;
        auto const mine = before[r->waiter.partition].held, others = before[other->waiter.partition].held;
        if (other->waiter.partition == r->waiter.partition) {
          EXPECT_LT(r->came, other->came);
        } else if (mine >= cap) {
          EXPECT_GE(others, mine);  // nobody below its bound waits, nor one with fewer
        } else if (others < cap) {
          EXPECT_LT(r->came, other->came);
        }
      }
    }
    bench_.waker.deliver();
  }
  void end(Request& request) {
    if (request.waits()) { EXPECT_TRUE(bench_.limiter.cancel(request.waiter)); }
    if (request.holds()) release(request);
    bench_.waker.deliver();
  }
  void check() {
    std::uint32_t queued = 0;
    std::map<std::uint64_t, std::uint32_t> queued_of;
    for (auto const uploads : {false, true}) {
      std::uint32_t held = 0;
      auto const all = counts(uploads);
      for (auto const& [partition, count] : all) {
        held += count.held;
        queued += count.queued;
        queued_of[partition] += count.queued;
        EXPECT_LE(count.held, share(uploads));
        EXPECT_LE(count.background, std::max(1U, std::min(rules_.max_per_partition, share(uploads)) * 75 / 100));
      }
      EXPECT_LE(held, capacity(uploads));
      for (auto const& [partition, count] : all)
        EXPECT_TRUE(count.queued == 0 || held == capacity(uploads) || count.held == share(uploads)) << partition;
    }
    EXPECT_LE(queued, rules_.max_queue);
    for (auto const& [partition, count] : queued_of) EXPECT_LE(count, rules_.max_queue / 4);
    EXPECT_EQ(bench_.limiter.stats().queued, queued);
  }

  LimiterRules rules_;
  Bench bench_;
  std::mt19937 random_;
  std::deque<Request> requests_;
  std::uint64_t turn_ = 0;
  std::size_t handed_on_ = 0;
};

TEST(LimiterProperty, random_orders) {
  Model({.max_concurrent = 16, .max_uploads = 4, .max_queue = 80, .max_per_partition = 4}, 1).run(5'000);
  Model({.max_concurrent = 3, .max_uploads = 1, .max_queue = 16, .max_per_partition = 1}, 2).run(5'000);
  Model({.max_concurrent = 40, .max_uploads = 8, .max_queue = 400, .max_per_partition = 16}, 3).run(5'000);
}

// LIM-1: never more at once, under threads that cancel and let permits go at random.
TEST(LimiterRace, never_more_than_allowed) {
  Workers workers;
  Limiter limiter(workers, {.max_concurrent = 3, .max_streams = 2, .max_queue = 32, .max_per_partition = 2});
  std::atomic<int> fetching{0}, most{0};
  std::atomic<std::size_t> cancelled{0}, waited{0}, refused{0};
  in_threads(8, [&](std::size_t worker) {
    std::mt19937 random(static_cast<unsigned>(worker));
    std::vector<Permit> held;  // over several rounds, but never while it waits
    auto const let_all_go = [&] {
      fetching.fetch_sub(static_cast<int>(held.size()));
      held.clear();
    };
    for (int i = 0; i < 5000; ++i) {
      PermitWaiter waiter;
      waiter.worker = static_cast<std::uint16_t>(worker);
      waiter.partition = random() % 3;
      waiter.permit_class = random() % 8 == 0 ? PermitClass::background : PermitClass::fetch;
      if (limiter.acquire(waiter) == Acquire::queued) {
        if (random() % 8 == 0 && limiter.cancel(waiter)) {
          cancelled.fetch_add(1);
          continue;
        }
        if (random() % 32 == 0) limiter.refuse_all();
        let_all_go();
        workers.wait(worker, waiter);
        waited.fetch_add(1);
        refused.fetch_add(waiter.refused);
      }
      if (!waiter.permit) continue;
      if (random() % 16 == 0 && waiter.permit.move_to_stream()) continue;
      auto const now = fetching.fetch_add(1) + 1;
      auto seen = most.load();
      while (seen < now && !most.compare_exchange_weak(seen, now)) {}
      held.push_back(std::move(waiter.permit));
      if (random() % 4 == 0) let_all_go();
    }
    let_all_go();
  });
  EXPECT_LE(most.load(), 3);
  EXPECT_GT(cancelled.load(), 0U);
  EXPECT_GT(waited.load(), 0U);
  EXPECT_GT(refused.load(), 0U);
  auto const stats = limiter.stats();
  EXPECT_EQ(stats.fetches + stats.background + stats.streams + stats.queued, 0U);
  EXPECT_EQ(stats.most_at_once, 3U);
}

}  // namespace
}  // namespace weir::shield
