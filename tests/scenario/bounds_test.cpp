// How long anybody waits, how many wait, and what becomes of a fetch that hangs.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields const cached{{"Cache-Control", "max-age=60"}};

Script gated(Gate const& gate, std::string body) {
  auto fields = cached;
  fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

constexpr auto replacements = R"(weir_coalesce_timeouts_total{fallback="replacement"})";

// COA-3, COA-4: the first fetch hangs; those who give up together start one more, and its answer is for all.
TEST(Bounds, AHangingFetchIsReplacedOnce) {
  ScriptedOrigin origin;
  Gate never, second;
  origin.answer("/x", {gated(never, "one"), gated(second, "two")});
  Weir weir(origin);
  Burst burst(weir.port(), 50);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(50));
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(11s);
  ASSERT_TRUE(origin.waits_for_calls(2));
  second.open();
  burst.collect();
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "two");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.metric(replacements), 1);
  never.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/x").body, "two");  // the late answer began before it (STO-6)
}

// COA-3: who comes later does not wait for what is stuck.
TEST(Bounds, ALateRequestGoesOnAFreshFetch) {
  ScriptedOrigin origin;
  Gate never;
  origin.answer("/x", {gated(never, "one"), respond(200, cached, "two")});
  Weir weir(origin, "coalesce: {follower_max_wait: 30s}");
  Burst stuck(weir.port(), 20);
  stuck.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(12s);
  EXPECT_EQ(get(weir.port(), "/x").body, "two");
  stuck.collect();  // its head was usable for them too
  for (auto const& response : stuck.responses()) ASSERT_EQ(response.body, "two");
  EXPECT_EQ(origin.calls(), 2U);
  never.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// COA-3, COA-4: an origin slower than anybody's patience: at most three fetches, the first body is everyone's.
TEST(Bounds, AtMostThreeFetchesAndTheFirstAnswersAll) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) { return gated(gate, "slow"); });
  Weir weir(origin, "timeouts: {origin: 300s}");
  std::vector<std::unique_ptr<Burst>> bursts;
  for (std::size_t wave = 0; wave < 5; ++wave) {
    bursts.push_back(std::make_unique<Burst>(weir.port(), 40));
    bursts.back()->get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(40 * (wave + 1)));
    ASSERT_TRUE(origin.waits_for_calls(std::min<std::size_t>(wave + 1, 3)));
    weir.turn(11s);
  }
  EXPECT_EQ(origin.calls(), 3U);
  gate.open();
  for (auto& burst : bursts) {
    burst->collect();
    for (auto const& response : burst->responses()) ASSERT_EQ(response.body, "slow");
  }
  EXPECT_EQ(origin.calls(), 3U);
}

// COA-4, STL-2: whoever may have the stale one gets it when the wait is over, and says so.
TEST(Bounds, StaleWhenTheWaitRanOut) {
  ScriptedOrigin origin;
  Gate never;
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=20, stale-if-error=600"}}, "old"), gated(never, "new")});
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(21s);
  Burst burst(weir.port(), 50);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(50));
  ASSERT_TRUE(origin.waits_for_calls(2));
  weir.turn(11s);
  burst.collect();
  for (auto const& response : burst.responses()) {
    ASSERT_EQ(response.body, "old");
    auto const status = cache_status(response);
    ASSERT_EQ(status.fwd(), "stale");
    ASSERT_EQ(status.detail(), "coalesce-timeout");
    ASSERT_FALSE(status.has("fwd-status"));
  }
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.metric(R"(weir_coalesce_timeouts_total{fallback="stale"})"), 50);
  never.open();
}

// COA-4: never past the origin's own time; then 504, and the next asks anew.
TEST(Bounds, NobodyWaitsPastTheOriginsTime) {
  ScriptedOrigin origin;
  Gate never;
  origin.answer_rest([never](Request const&) { return gated(never, "late"); });
  Weir weir(origin);
  Burst burst(weir.port(), 30);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(30));
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(11s);
  ASSERT_TRUE(origin.waits_for_calls(2));
  weir.turn(20s);
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{504, 30}}));
  never.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// COA-4: who gives up and asks again lands on the same fetch.
TEST(Bounds, AnImpatientClientCostsOneFetch) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", gated(gate, "slow"));
  Weir weir(origin);
  for (int i = 0; i < 20; ++i) {
    Client client(weir.port());
    client.send_request("GET", "/x");
    ASSERT_TRUE(weir.waits_for_waiters(1));
    client.reset();
    ASSERT_TRUE(weir.waits_for_waiters(0));
  }
  Client client(weir.port());
  client.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  gate.open();
  EXPECT_EQ(client.read().body, "slow");
  EXPECT_EQ(origin.calls(), 1U);
}

// COA-15: beyond the bound requests are shed at once, or fetched through the limiter, as told.
TEST(Bounds, OverflowIsShedOrFetched) {
  for (bool const fetch : {false, true}) {
    ScriptedOrigin origin;
    Gate gate;
    origin.answer("/x", gated(gate, "slow"));
    Weir weir(origin, std::string("coalesce: {max_waiters: 10, on_overflow: ") + (fetch ? "fetch}" : "shed}"));
    Burst first(weir.port(), 10);
    first.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(10));
    Burst more(weir.port(), 5);
    more.get("/x");
    if (fetch)
      ASSERT_TRUE(origin.waits_for_calls(6));
    else
      more.collect();
    gate.open();
    more.collect();
    first.collect();
    EXPECT_EQ(statuses(first.responses()), (std::map<int, std::size_t>{{200, 10}}));
    EXPECT_EQ(statuses(more.responses()), (std::map<int, std::size_t>{{fetch ? 200 : 503, 5}}));
    EXPECT_EQ(origin.calls(), fetch ? 6U : 1U);
    EXPECT_EQ(weir.metric("weir_coalesce_overflow_total"), 5);
  }
}

// COA-15: no more flights than `max_flights`.
TEST(Bounds, FlightsAreBounded) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) { return gated(gate, "slow"); });
  Weir weir(origin, "coalesce: {max_flights: 8}");
  Burst burst(weir.port(), 20);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect(12);
  EXPECT_EQ(weir.daemon().flights().flights(), 8U);
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 8}, {503, 12}}));
}

}  // namespace
}  // namespace weir::test
