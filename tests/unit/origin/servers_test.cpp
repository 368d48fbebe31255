// REL-3: which of several servers is next, who is out and for how long.
#include <gtest/gtest.h>

#include "weir/origin/servers.hpp"

namespace weir::origin::test {
namespace {

using namespace std::chrono_literals;

constexpr base::SteadyTime start(1'000s);

std::shared_ptr<Servers> servers(std::size_t count, std::string const& balance = "round_robin") {
  config::Origin settings;
  settings.balance = balance;
  for (std::size_t i = 0; i < count; ++i) settings.servers.push_back("http://10.0.0." + std::to_string(i) + ":80");
  return std::make_shared<Servers>(settings);
}

// Whom fetches that end at once come to.
std::string turns(Servers& servers, std::size_t count, base::SteadyTime now = start) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += std::to_string(servers.choose({}, now)->index());
  return out;
}

void fail(Servers& servers, std::size_t index, std::uint32_t times, base::SteadyTime now = start) {
  for (std::uint32_t i = 0; i < times; ++i) servers.tell(index, false, now);
}

TEST(Servers, TakeTurns) {
  EXPECT_EQ(turns(*servers(3), 7), "0120120");
  EXPECT_EQ(turns(*servers(1), 3), "000");
}

TEST(Servers, AreTriedOnce) {
  auto const two = servers(2);
  EXPECT_EQ(two->choose({true, false}, start)->index(), 1U);
  EXPECT_EQ(two->choose({false, true}, start)->index(), 0U);
  EXPECT_FALSE(two->choose({true, true}, start));
  EXPECT_FALSE(servers(1)->choose({true}, start));
}

TEST(Servers, TheOneWithTheFewestFetchesIsNext) {
  auto const three = servers(3, "least_connections");
  auto first = three->choose({}, start), second = three->choose({}, start), third = three->choose({}, start);
  EXPECT_EQ(first->index(), 0U);
  EXPECT_EQ(second->index(), 1U);
  EXPECT_EQ(third->index(), 2U);
  second->end();
  auto const fourth = three->choose({}, start);
  EXPECT_EQ(fourth->index(), 1U);
  *third = ServerUse();
  EXPECT_EQ(turns(*three, 2), "22") << "each ended at once, the others have one";
}

TEST(Servers, ThreeFailuresInARowPutOneOut) {
  auto const three = servers(3);
  fail(*three, 1, failures_to_eject - 1);
  three->tell(1, true, start);
  fail(*three, 1, failures_to_eject - 1);
  EXPECT_EQ(turns(*three, 3), "012");
  fail(*three, 1, 1);
  EXPECT_EQ(turns(*three, 4), "0202");
  EXPECT_EQ(three->in_use(start), 2U);
  EXPECT_EQ(turns(*three, 3, start + ejected_for - 1ms), "020");
  EXPECT_EQ(turns(*three, 3, start + ejected_for), "120");
}

TEST(Servers, ThePauseDoublesWhileItFails) {
  auto const two = servers(2);
  auto now = start;
  fail(*two, 0, failures_to_eject, now);
  fail(*two, 0, 10, now + 1s);  // stragglers
  for (auto const pause : {5s, 10s, 20s, 40s, 60s, 60s}) {
    EXPECT_EQ(two->in_use(now + pause - 1ms), 1U) << pause.count();
    now += pause;
    EXPECT_EQ(two->in_use(now), 2U) << pause.count();
    fail(*two, 0, 1, now);
  }
  now += 60s;
  two->tell(0, true, now);
  fail(*two, 0, failures_to_eject - 1, now);
  EXPECT_EQ(two->in_use(now), 2U) << "forgiven";
  fail(*two, 0, 1, now);
  EXPECT_EQ(two->in_use(now + ejected_for), 2U) << "and the pause is the first one again";
}

TEST(Servers, AllOutAreAllTried) {
  auto const two = servers(2);
  fail(*two, 0, failures_to_eject);
  fail(*two, 1, failures_to_eject);
  EXPECT_EQ(two->in_use(start), 0U);
  EXPECT_EQ(turns(*two, 4), "0101");
}

TEST(Servers, ChecksPutOneOutAndBringItBack) {
  auto const two = servers(2);
  EXPECT_FALSE(two->checked(0, false));
  EXPECT_EQ(two->in_use(start), 2U);
  EXPECT_TRUE(two->checked(0, false));
  EXPECT_FALSE(two->checked(0, false));
  EXPECT_EQ(turns(*two, 3, start + 1h), "111") << "for as long as they fail";
  EXPECT_TRUE(two->checked(0, true));
  EXPECT_EQ(two->in_use(start), 2U);
}

TEST(Servers, OneThatIsOutIsLeftThoughItHasTheFewest) {
  auto const two = servers(2, "least_connections");
  fail(*two, 0, failures_to_eject);
  auto const first = two->choose({}, start), second = two->choose({}, start);
  EXPECT_EQ(first->index(), 1U);
  EXPECT_EQ(second->index(), 1U);
  EXPECT_EQ(two->choose({false, true}, start)->index(), 0U) << "better than none";
}

}  // namespace
}  // namespace weir::origin::test
