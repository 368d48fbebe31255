// VAL-1: one moment on two clocks, and what lies before and behind it.
#include "weir/store/server_clock.hpp"

#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

namespace weir::store {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

base::SteadyTime steady(base::Duration since_start) { return base::SteadyTime(since_start); }

TEST(ServerClock, turns_times_of_one_clock_into_the_other) {
  Moment const moment{steady(100s), 5'000'000};
  EXPECT_EQ(to_there(moment, steady(100s)), 5'000'000);
  EXPECT_EQ(to_there(moment, steady(103s)), 8'000'000);
  EXPECT_EQ(to_there(moment, steady(90s)), -5'000'000);
  EXPECT_EQ(to_here(moment, 5'000'000), steady(100s));
  EXPECT_EQ(to_here(moment, 8'000'001), steady(103s + 1us));
  EXPECT_EQ(to_here(moment, -5'000'000), steady(90s));
}

TEST(ServerClock, rounds_to_whole_microseconds_downwards_on_both_sides) {
  Moment const moment{steady(100s), 0};
  EXPECT_EQ(to_there(moment, steady(100s + 1999ns)), 1);
  EXPECT_EQ(to_there(moment, steady(100s - 1ns)), -1);
  EXPECT_EQ(to_there(moment, steady(100s - 1001ns)), -2);
}

TEST(ServerClock, comes_back_to_the_same_microsecond) {
  for (auto const moment : {Moment{steady(100s + 123ns), 1'800'000'000'000'000}, Moment{steady(-7ns), -3}, Moment{}}) {
    for (std::int64_t const time : {std::int64_t{0}, std::int64_t{1}, moment.there - 1, moment.there + 1,
                                    moment.there + 3'600'000'000, moment.there - 2'000'000'000'000'000})
      EXPECT_EQ(to_there(moment, to_here(moment, time)), time) << moment.there;
  }
}

TEST(ServerClock, ends_at_the_edge_with_values_that_nobody_should_have_sent) {
  Moment const now{steady(100s), 1'800'000'000'000'000};
  EXPECT_EQ(to_here(now, highest), base::SteadyTime::max());
  EXPECT_LT(to_here(now, lowest), steady(-290 * 365 * 24h));
  EXPECT_GT(to_there(now, base::SteadyTime::max()), now.there);
  EXPECT_LT(to_there(now, base::SteadyTime::min()), now.there);
  EXPECT_EQ(to_there({steady(0s), highest}, steady(1s)), highest);
  EXPECT_EQ(to_there({steady(0s), lowest}, steady(-1s)), lowest);
  EXPECT_EQ(to_here({base::SteadyTime::max(), 0}, 1), base::SteadyTime::max());
  EXPECT_EQ(to_here({base::SteadyTime::min(), 0}, -1), base::SteadyTime::min());
  EXPECT_EQ(to_here({base::SteadyTime::max(), lowest}, highest), base::SteadyTime::max());
}

TEST(ServerClock, takes_the_middle_of_question_and_answer_for_the_moment) {
  ServerClock clock;
  EXPECT_EQ(clock.moment().there, 0);
  clock.set(steady(100s), steady(102s), 5'000'000);
  EXPECT_EQ(clock.moment().here, steady(101s));
  EXPECT_EQ(clock.moment().there, 5'000'000);
}

TEST(ServerClock, stays_as_it_is_while_the_server_says_about_the_same) {
  for (auto const step : {-101ms, -100ms, 0ms, 100ms, 101ms}) {
    ServerClock clock;
    clock.set(steady(100s), steady(100s), 5'000'000);
    clock.set(steady(110s), steady(110s), 15'000'000 + std::chrono::microseconds(step).count());
    bool const kept = clock.moment().here == steady(100s);
    EXPECT_EQ(kept, step >= -ServerClock::tolerance && step <= ServerClock::tolerance) << step.count();
    EXPECT_LE(std::abs(to_there(clock.moment(), steady(110s)) - 15'000'000), 101'000);
  }
}

}  // namespace
}  // namespace weir::store
