// CB-1 as transcripts over turned time.
#include "weir/shield/breaker.hpp"

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

constexpr std::uint64_t no_jitter = 0, most_jitter = 200;

bool fail(Breaker& breaker, int times, double seconds, std::uint64_t random = no_jitter) {
  bool opened = false;
  for (int i = 0; i < times; ++i) opened |= breaker.failed(at(seconds), random);
  return opened;
}
void succeed(Breaker& breaker, int times, double seconds) {
  for (int i = 0; i < times; ++i) breaker.succeeded(at(seconds));
}
Ask ask(Breaker& breaker, double seconds) { return breaker.ask(at(seconds), true, no_jitter).answer; }

// CB-1: half of at least 20 in 10 s.
TEST(Breaker, opens_at_half_of_twenty_in_ten_seconds) {
  struct Row {
    char const* name;
    int successes;
    double successes_at;
    int failures;
    double failures_at;
    bool opens;
  };
  for (auto const& row :
       {Row{"twenty of twenty", 0, 0, 20, 0, true}, Row{"nineteen of nineteen", 0, 0, 19, 0, false},
        Row{"ten of twenty", 10, 0, 10, 0, true}, Row{"nine of twenty", 11, 0, 9, 0, false},
        Row{"over the window", 10, 0, 10, 9.5, true}, Row{"successes out of the window leave too few", 10, 0, 10, 11, false},
        Row{"successes out of the window leave only failures", 1000, 0, 20, 11, true},
        Row{"many successes", 1000, 5, 999, 5, false}, Row{"half of many", 1000, 5, 1000, 5, true}}) {
    SCOPED_TRACE(row.name);
    Breaker breaker({});
    succeed(breaker, row.successes, row.successes_at);
    EXPECT_EQ(fail(breaker, row.failures, row.failures_at), row.opens);
    EXPECT_EQ(breaker.state(), row.opens ? BreakerState::open : BreakerState::closed);
    EXPECT_EQ(ask(breaker, row.failures_at), row.opens ? Ask::open : Ask::closed);
    EXPECT_EQ(breaker.refuses(at(row.failures_at), true), row.opens);
    EXPECT_EQ(breaker.transitions(BreakerState::open), row.opens ? 1U : 0U);
  }
}

// CB-1: the window slides by buckets; failures that are spread out thinly never open it.
TEST(Breaker, failures_leave_the_window) {
  Breaker breaker({});
  for (int second = 0; second < 100; ++second) EXPECT_FALSE(fail(breaker, 1, second));
  EXPECT_FALSE(fail(breaker, 10, 100));  // nineteen in the last ten
  EXPECT_TRUE(fail(breaker, 1, 100));
}

// CB-1: one probe, asked with the permit; its success closes and forgets.
TEST(Breaker, one_probe_closes_it) {
  Breaker breaker({});
  EXPECT_TRUE(fail(breaker, 20, 0));
  EXPECT_EQ(ask(breaker, 4.9), Ask::open);
  EXPECT_FALSE(breaker.refuses(at(5), true));  // before queueing: it may go on, the probe is not taken
  EXPECT_TRUE(breaker.refuses(at(5), false));
  EXPECT_EQ(breaker.ask(at(5), false, no_jitter).answer, Ask::open);  // a request with a body is no probe
  auto asked = breaker.ask(at(5), true, no_jitter);
  EXPECT_EQ(asked.answer, Ask::probe);
  EXPECT_TRUE(asked.probe);
  EXPECT_EQ(breaker.state(), BreakerState::half_open);
  EXPECT_EQ(ask(breaker, 6), Ask::open);
  EXPECT_TRUE(breaker.refuses(at(6), true));
  // Late outcomes of fetches from before say nothing.
  EXPECT_FALSE(fail(breaker, 30, 6));
  succeed(breaker, 1, 6);
  EXPECT_EQ(breaker.state(), BreakerState::half_open);
  asked.probe.succeeded();
  EXPECT_FALSE(asked.probe);
  EXPECT_EQ(ask(breaker, 6), Ask::closed);
  EXPECT_EQ(breaker.transitions(BreakerState::closed), 1U);
  EXPECT_EQ(breaker.transitions(BreakerState::half_open), 1U);
  EXPECT_FALSE(fail(breaker, 19, 6));
  EXPECT_TRUE(fail(breaker, 1, 6));
  EXPECT_EQ(ask(breaker, 10.9), Ask::open);  // 5 s again
  EXPECT_EQ(ask(breaker, 11), Ask::probe);
}

// CB-1: one with a body is it only when for as long again none without came.
TEST(Breaker, one_with_a_body_probes_where_no_other_comes) {
  Breaker breaker({});
  EXPECT_TRUE(fail(breaker, 20, 0, most_jitter));  // for 6 s
  EXPECT_TRUE(breaker.refuses(at(11.9), false));
  EXPECT_EQ(breaker.ask(at(11.9), false, no_jitter).answer, Ask::open);
  EXPECT_FALSE(breaker.refuses(at(12.1), false));
  {
    auto const asked = breaker.ask(at(12.1), false, no_jitter);
    EXPECT_EQ(asked.answer, Ask::probe);
    EXPECT_TRUE(breaker.refuses(at(30), false));
    EXPECT_EQ(breaker.ask(at(30), false, no_jitter).answer, Ask::open);
  }
  EXPECT_EQ(breaker.ask(at(22), false, no_jitter).answer, Ask::open);  // unjudged: from when it was let through
  auto asked = breaker.ask(at(22.2), false, no_jitter);
  asked.probe.failed(at(23), no_jitter);
  EXPECT_EQ(ask(breaker, 32.9), Ask::open);
  EXPECT_TRUE(breaker.refuses(at(42.9), false));
  EXPECT_FALSE(breaker.refuses(at(43), false));
  asked = breaker.ask(at(43), true, no_jitter);
  EXPECT_EQ(asked.answer, Ask::probe);
}

// CB-1: 5 s, doubling to 60 s.
TEST(Breaker, each_failed_probe_doubles) {
  Breaker breaker({});
  fail(breaker, 20, 0);
  double now = 0;
  for (double const open : {5.0, 10.0, 20.0, 40.0, 60.0, 60.0}) {
    SCOPED_TRACE(open);
    EXPECT_EQ(ask(breaker, now + open - 0.01), Ask::open);
    auto asked = breaker.ask(at(now + open), true, no_jitter);
    EXPECT_EQ(asked.answer, Ask::probe);
    now += open + 1;
    asked.probe.failed(at(now), no_jitter);
  }
  EXPECT_EQ(breaker.transitions(BreakerState::open), 7U);
}

// CB-1: 20 % jitter, and never shorter.
TEST(Breaker, jitter_lengthens_by_up_to_a_fifth) {
  struct Row {
    std::uint64_t random;
    double from, to;
  };
  for (auto const& row : {Row{no_jitter, 5, 5.001}, Row{100, 5.4, 5.6}, Row{most_jitter, 5.99, 6.001},
                          Row{std::numeric_limits<std::uint64_t>::max(), 5, 6.001}}) {
    Breaker breaker({});
    fail(breaker, 20, 0, row.random);
    EXPECT_EQ(ask(breaker, row.from - 0.01), Ask::open);
    EXPECT_EQ(ask(breaker, row.to), Ask::probe);
  }
}

// CB-1: one that ends unjudged reopens, for as long as before, from when it was let through.
TEST(Breaker, a_probe_that_ends_unjudged_reopens) {
  Breaker breaker({});
  fail(breaker, 20, 0);
  {
    auto asked = breaker.ask(at(5), true, most_jitter);
    Probe moved(std::move(asked.probe));
    EXPECT_FALSE(asked.probe);
    asked.probe = std::move(moved);
    auto& same = asked.probe;
    asked.probe = std::move(same);
    EXPECT_EQ(breaker.state(), BreakerState::half_open);
  }
  EXPECT_EQ(breaker.state(), BreakerState::open);
  EXPECT_EQ(ask(breaker, 10.9), Ask::open);
  auto asked = breaker.ask(at(11), true, no_jitter);
  EXPECT_EQ(asked.answer, Ask::probe);
  asked.probe = Probe();
  EXPECT_EQ(breaker.state(), BreakerState::open);
  EXPECT_TRUE(breaker.refuses(at(15.9), true));
  EXPECT_FALSE(breaker.refuses(at(16), true));
}

// CB-1: bounds are settings.
TEST(Breaker, rules) {
  Breaker breaker(
      {.failure_percent = 100, .min_requests = 2, .window = std::chrono::seconds(20), .open = std::chrono::seconds(90)});
  succeed(breaker, 1, 0);
  EXPECT_FALSE(fail(breaker, 5, 1));
  EXPECT_FALSE(fail(breaker, 5, 19));
  EXPECT_TRUE(fail(breaker, 1, 21));
  EXPECT_EQ(ask(breaker, 21 + 59), Ask::open);
  EXPECT_EQ(ask(breaker, 21 + 60), Ask::probe);  // open_max
}

// CB-1, LCY-2: off, and on and off over reloads.
TEST(Breaker, disabled) {
  Breaker breaker({.enabled = false});
  EXPECT_FALSE(fail(breaker, 100, 0));
  EXPECT_EQ(ask(breaker, 0), Ask::closed);
  breaker.set_rules({});
  EXPECT_FALSE(fail(breaker, 19, 0));
  EXPECT_TRUE(fail(breaker, 1, 0));
  breaker.set_rules({.enabled = false});
  EXPECT_EQ(breaker.state(), BreakerState::closed);
  EXPECT_FALSE(breaker.refuses(at(0), false));

  for (int const end : {0, 1, 2}) {
    breaker.set_rules({});
    EXPECT_TRUE(fail(breaker, 20, 1));
    auto asked = breaker.ask(at(6), true, no_jitter);
    EXPECT_EQ(asked.answer, Ask::probe);
    breaker.set_rules({.enabled = false});
    EXPECT_EQ(ask(breaker, 6), Ask::closed);
    EXPECT_FALSE(breaker.refuses(at(6), true));
    if (end == 0) asked.probe.succeeded();
    if (end == 1) asked.probe.failed(at(7), no_jitter);
    if (end == 2) asked.probe = Probe();
    EXPECT_EQ(breaker.state(), BreakerState::closed);
  }
}

// LCY-2: a reload keeps what was counted, unless the window changed.
TEST(Breaker, new_rules) {
  Breaker breaker({});
  EXPECT_FALSE(fail(breaker, 10, 0));
  breaker.set_rules({.min_requests = 11});
  EXPECT_TRUE(fail(breaker, 1, 0));

  Breaker other({});
  EXPECT_FALSE(fail(other, 19, 0));
  other.set_rules({.window = std::chrono::seconds(5)});
  EXPECT_FALSE(fail(other, 1, 0));
}

// A worker whose clock reading is a little behind.
TEST(Breaker, outcomes_that_come_out_of_order) {
  Breaker breaker({});
  EXPECT_FALSE(fail(breaker, 10, 10));
  EXPECT_FALSE(fail(breaker, 9, 9.9));
  EXPECT_TRUE(fail(breaker, 1, 0));  // ten seconds behind: counts in the bucket that took its place
}

// CB-1: one probe, under threads.
TEST(BreakerRace, one_probe) {
  for (int round = 0; round < 200; ++round) {
    Breaker breaker({});
    fail(breaker, 20, 0);
    std::atomic<int> probes{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        auto asked = breaker.ask(at(6), true, no_jitter);
        if (asked.answer != Ask::probe) return;
        probes.fetch_add(1);
        asked.probe.failed(at(6), no_jitter);
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(probes.load(), 1);
  }
}

}  // namespace
}  // namespace weir::shield
