// Clocks that step. What is stored lives as long as it would have, and caching goes on (FRS-1).
#include "faults/rig.hpp"

#include "weir/base/turned_clock.hpp"

namespace weir::test {
namespace {

struct Step {
  char const* name;
  base::Duration by;
};

base::Duration to_year(int year) {
  auto const then = std::chrono::sys_days(std::chrono::year(year) / 1 / 2);
  return std::chrono::duration_cast<base::Duration>(then - base::read_clock().wall);
}

std::vector<Step> steps() {
  return {{"an_hour_back", -1h},      {"an_hour_on", 1h},         {"a_year_back", -365 * 24h},  {"a_year_on", 365 * 24h},
          {"to_1970", to_year(1970)}, {"to_2039", to_year(2039)}, {"past_2106", to_year(2107)}, {"a_second_back", -1s}};
}

// Steps the wall clock, and back at the end.
class Stepped {
 public:
  explicit Stepped(base::Duration by) : by_(by) { base::step_wall_clock(by); }
  ~Stepped() { base::step_wall_clock(-by_); }
  Stepped(Stepped const&) = delete;
  Stepped& operator=(Stepped const&) = delete;

 private:
  base::Duration by_;
};

int age_of(Response const& response) { return std::stoi(response.value("Age")); }

class Clocks : public testing::TestWithParam<Step> {};
INSTANTIATE_TEST_SUITE_P(All, Clocks, testing::ValuesIn(steps()), [](auto const& row) { return row.param.name; });

// Lifetimes in each way that an origin can tell one.
struct Told {
  char const* target;
  Fields (*fields)();
};
Fields by_max_age() { return {max_age(60)}; }
Fields by_date() { return {max_age(60), {"Date", http_date(0s)}}; }
Fields by_expires() { return {{"Date", http_date(0s)}, {"Expires", http_date(60s)}}; }
Fields by_age() { return {max_age(160), {"Age", "100"}}; }
constexpr Told told[] = {{"/max-age", &by_max_age}, {"/date", &by_date}, {"/expires", &by_expires}, {"/age", &by_age}};

// FRS-1, SRV-1: a step while things are stored neither ends nor lengthens a life.
TEST_P(Clocks, StepWhileItIsStored) {
  ScriptedOrigin origin;
  for (auto const& one : told) origin.answer(one.target, [&](Request const&) { return respond(200, one.fields(), "x"); });
  Weir weir(origin, plain);
  for (auto const& one : told) EXPECT_EQ(get(weir.port(), one.target).status, 200);
  Stepped const stepped(GetParam().by);
  for (auto const& one : told) {
    auto const hit = get(weir.port(), one.target);
    EXPECT_TRUE(cache_status(hit).hit()) << one.target << hit;
    EXPECT_LE(age_of(hit) - (one.fields == &by_age ? 100 : 0), 2) << hit;
  }
  weir.turn(50s);
  for (auto const& one : told) EXPECT_TRUE(cache_status(get(weir.port(), one.target)).hit()) << one.target;
  EXPECT_EQ(origin.calls(), std::size(told));
  weir.turn(15s);
  for (auto const& one : told) EXPECT_FALSE(cache_status(get(weir.port(), one.target)).hit()) << one.target;
  EXPECT_EQ(origin.calls(), 2 * std::size(told));
}

// FRS-1: the origin's clock and ours are so far apart from the start.
TEST_P(Clocks, OfTheOriginAreElsewhere) {
  ScriptedOrigin origin;
  for (auto const& one : told) {
    auto const fields = one.fields();  // by the clock as it was
    origin.answer(one.target, respond(200, fields, "x"));
  }
  Stepped const stepped(GetParam().by);
  Weir weir(origin, plain);
  for (auto const& one : told) {
    auto const first = get(weir.port(), one.target);
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.count("Date"), 1U);
    EXPECT_TRUE(cache_status(get(weir.port(), one.target)).hit()) << one.target;
  }
  weir.turn(50s);
  for (auto const& one : told) EXPECT_TRUE(cache_status(get(weir.port(), one.target)).hit()) << one.target;
  weir.turn(15s);
  for (auto const& one : told) EXPECT_FALSE(cache_status(get(weir.port(), one.target)).hit()) << one.target;
  EXPECT_EQ(origin.calls(), 2 * std::size(told));
}

// FRS-1, COA-4, REL-1: in the middle of a fetch, whose limits of time are not the wall's.
TEST_P(Clocks, StepInTheMiddleOfAFetch) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().head(200, {max_age(60), {"Content-Length", "2"}}).body("o").wait(gate).body("k"));
  Weir weir(origin, plain);
  Burst burst(weir.port(), 3);
  burst.get("/x");
  ASSERT_TRUE(origin.waits_for_calls(1));
  Stepped const stepped(GetParam().by);
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) EXPECT_EQ(response.body, "ok");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  weir.turn(61s);
  EXPECT_FALSE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(origin.calls(), 2U);
}

// FRS-1, STL-1: what may be served stale, may be for as long as it was told.
TEST_P(Clocks, StepWhileItIsStale) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=10, stale-if-error=100"}}, "x"), respond(503)});
  Weir weir(origin, plain + "breaker: {enabled: off}\n");
  get(weir.port(), "/x");
  weir.turn(20s);
  Stepped const stepped(GetParam().by);
  EXPECT_EQ(get(weir.port(), "/x").status, 200);
  weir.turn(80s);
  EXPECT_EQ(get(weir.port(), "/x").status, 200);
  weir.turn(20s);
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
}

}  // namespace
}  // namespace weir::test
