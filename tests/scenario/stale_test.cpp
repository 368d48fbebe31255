// Stale while a refresh runs, refreshes before anybody waits, and what a fetch for nobody carries.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields cached(std::string const& control) { return {{"Cache-Control", control}, {"ETag", "\"v\""}}; }

Script gated(Gate const& gate, Fields fields, std::string body) {
  fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

constexpr auto background_ok = R"(weir_origin_fetches_total{class="background",result="ok"})";

// STL-1, STL-2, OBS-1: everyone is answered at once, one refresh goes out, and what it brings is what comes next.
TEST(Stale, WhileRevalidateAnswersAtOnceAndRefreshesOnce) {
  ScriptedOrigin origin;
  Gate gate;
  auto const fields = cached("max-age=20, stale-while-revalidate=60");
  origin.answer("/x", {respond(200, fields, "one"), gated(gate, fields, "two")});
  Weir weir(origin, "freshness: {jitter: off}");
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  weir.turn(25s);
  Burst burst(weir.port(), 200);
  burst.get("/x");
  burst.collect();
  for (auto const& response : burst.responses()) {
    ASSERT_EQ(response.body, "one");
    auto const status = cache_status(response);
    ASSERT_TRUE(status.hit());
    ASSERT_EQ(status.detail(), "stale-while-revalidate");
    ASSERT_LE(status.ttl().value_or(0), -5);
    ASSERT_GE(age(response), 25);
  }
  ASSERT_TRUE(origin.waits_for_calls(2));
  EXPECT_EQ(origin.last_request().value("If-None-Match"), "\"v\"");
  gate.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/x").body, "two");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.outcome(observe::Outcome::stale), 200U);
  EXPECT_EQ(weir.metric(R"(weir_stale_served_total{reason="while-revalidate"})"), 200);
  EXPECT_EQ(weir.metric(background_ok), 1);
}

// STL-1: past the window a request waits for its answer.
TEST(Stale, PastTheWindowNothingIsServedUnasked) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, cached("max-age=20, stale-while-revalidate=60"), "one"),
                       respond(200, cached("max-age=20"), "two")});
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(81s);
  EXPECT_EQ(get(weir.port(), "/x").body, "two");
}

// STL-1: the site's own windows count only where the origin said nothing and nothing forbids them.
TEST(Stale, DefaultWindowsApplyOnlyWhereNothingForbidsThem) {
  struct Row {
    std::string control;
    bool stale;
  };
  std::vector<Row> const rows{{"max-age=20", true},
                              {"max-age=20, stale-while-revalidate=0", false},
                              {"max-age=20, must-revalidate", false},
                              {"max-age=20, proxy-revalidate", false},
                              {"s-maxage=20", false},
                              {"s-maxage=20, stale-while-revalidate=60", true},
                              {"max-age=20, must-revalidate, stale-while-revalidate=60", false}};
  ScriptedOrigin origin;
  Weir weir(origin, "freshness: {default_stale_while_revalidate: 60s}");
  for (auto const& row : rows) {
    SCOPED_TRACE(row.control);
    origin.answer("/x", {respond(200, cached(row.control), "one"), respond(200, cached("no-store"), "two")});
    get(weir.port(), "/x");
    weir.turn(30s);
    auto const calls = origin.calls();
    EXPECT_EQ(cache_status(get(weir.port(), "/x")).detail() == "stale-while-revalidate", row.stale);
    ASSERT_TRUE(origin.waits_for_calls(calls + 1));
    ASSERT_TRUE(weir.waits_until_no_flights());
    origin.answer("/x", respond(200, {}, "gone"));
    Client(weir.port()).request("DELETE", "/x");
    weir.turn(60s);
  }
}

// FWD-7: what is keyed and end-to-end, never credentials, conditions or the client's address; and who shows credentials
// starts none.
TEST(Stale, ARefreshIsNobodys) {
  ScriptedOrigin origin;
  auto const fields = cached("public, max-age=20, stale-while-revalidate=600");
  origin.answer("/x?a=1", respond(200, fields, "one"));
  Weir weir(origin, "trusted_proxies: [\"127.0.0.0/8\"]");
  get(weir.port(), "/x?a=1");
  weir.turn(25s);
  EXPECT_EQ(cache_status(get(weir.port(), "/x?a=1", {{"Authorization", "Basic me"}})).detail(), "stale-while-revalidate");
  EXPECT_EQ(cache_status(get(weir.port(), "/x?a=1", {{"Cookie", "session=me"}})).detail(), "stale-while-revalidate");
  EXPECT_EQ(weir.daemon().flights().flights(), 0U);
  EXPECT_EQ(origin.calls(), 1U);
  auto const answer = get(weir.port(), "/x?a=1",
                          {{"X-Forwarded-For", "192.0.2.1"},
                           {"X-Real-IP", "192.0.2.1"},
                           {"X-Theme", "dark"},
                           {"Range", "bytes=0-0"},
                           {"If-None-Match", "\"old\""},
                           {"Cookie", "_ga=1"}});
  EXPECT_EQ(answer.status, 206);
  ASSERT_TRUE(origin.waits_for_calls(2));
  auto const request = origin.last_request();
  EXPECT_EQ(request.target, "/x?a=1");
  EXPECT_EQ(request.value("X-Theme"), "dark");
  EXPECT_EQ(request.value("If-None-Match"), "\"v\"");
  for (auto const* name : {"X-Forwarded-For", "X-Real-IP", "Range", "Cookie", "Authorization"})
    EXPECT_FALSE(request.has(name)) << name;
  EXPECT_EQ(request.value("Forwarded").find("192.0.2.1"), std::string::npos);
  EXPECT_EQ(request.value("Forwarded").find("127.0.0.1"), std::string::npos);
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// FWD-7, LIM-2: a request that comes when the window is over joins the refresh, which then is no background work any more.
TEST(Stale, WhoJoinsARefreshMakesItForeground) {
  ScriptedOrigin origin;
  Gate gate;
  auto const fields = cached("max-age=20, stale-while-revalidate=8");
  origin.answer("/x", {respond(200, fields, "one"), gated(gate, fields, "two")});
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(25s);
  get(weir.port(), "/x");
  ASSERT_TRUE(origin.waits_for_calls(2));
  auto const& limiter = weir.daemon().setup()->origins.begin()->second->limiter;
  EXPECT_EQ(limiter.stats().background, 1U);
  weir.turn(5s);
  Burst burst(weir.port(), 10);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(10));
  EXPECT_TRUE(eventually([&] { return limiter.stats().background == 0 && limiter.stats().fetches == 1; }));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "two");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.coalesced(), 10U);
}

// LIM-2, FWD-7: with no permit to spare a refresh is dropped, not queued; the stale answer goes out all the same.
TEST(Stale, WithoutAPermitARefreshIsDropped) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", respond(200, cached("max-age=20, stale-while-revalidate=600"), "one"));
  origin.answer("/busy", Script().wait(gate).head(200, {{"Content-Length", "0"}}));
  Weir weir(origin, "limiter: {max_concurrent: 1}");
  get(weir.port(), "/x");
  weir.turn(25s);
  Burst busy(weir.port(), 1);
  busy.get("/busy");
  ASSERT_TRUE(origin.waits_for_calls(2));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(weir.port(), "/x").body, "one");
  EXPECT_EQ(origin.calls("/x"), 1U);
  EXPECT_EQ(weir.metric("weir_limiter_queue_depth"), 0);
  gate.open();
  busy.collect();
  ASSERT_TRUE(weir.waits_until_no_flights());
  weir.turn(2s);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  EXPECT_TRUE(origin.waits_for_calls(3));
  EXPECT_EQ(origin.calls("/x"), 2U);
}

// STL-1: an origin that fails costs one refresh at a time, with a pause between.
TEST(Stale, ARefreshThatFailsIsNotRepeatedAtOnce) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, cached("max-age=20, stale-while-revalidate=600"), "one"), respond(503)});
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(25s);
  get(weir.port(), "/x");
  ASSERT_TRUE(origin.waits_for_calls(2));
  ASSERT_TRUE(weir.waits_until_no_flights());
  weir.turn(2s);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(weir.port(), "/x").body, "one");
  ASSERT_TRUE(origin.waits_for_calls(3));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.calls("/x"), 3U);
}

// FRS-3: the slower the last fetch, the earlier some hit starts the next; nobody waits, and one is under way at a time.
TEST(Stale, EarlyRefreshStartsBeforeExpiryAndOnlyOnce) {
  ScriptedOrigin origin;
  Gate first, second;
  auto const fields = cached("max-age=200");
  origin.answer("/x", {gated(first, fields, "one"), gated(second, fields, "two")});
  Weir weir(origin, "freshness: {jitter: off}");
  Burst cold(weir.port(), 1);
  cold.get("/x");
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(25s);  // so long the fetch takes
  first.open();
  cold.collect();
  ASSERT_TRUE(weir.waits_until_no_flights());  // stored
  weir.turn(105s);
  Client client(weir.port());
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(cache_status(client.get("/x")).hit());
  EXPECT_EQ(origin.calls(), 1U);  // not before 75 % of the lifetime
  weir.turn(50s);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.get("/x").body, "one");
  ASSERT_TRUE(origin.waits_for_calls(2));
  second.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(client.get("/x").body, "two");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.outcome(observe::Outcome::miss), 1U);
}

// COA-9, STL-2: with something stale at hand a body that breaks early ends in stale, for all; and counts as what it was.
TEST(Stale, ABodyThatBreaksEarlyEndsInStale) {
  ScriptedOrigin origin;
  Gate gate;
  std::string const big(100'000, 'x');
  auto const fields = [](std::size_t size) {
    return Fields{{"Cache-Control", "max-age=20, stale-if-error=600"}, {"Content-Length", std::to_string(size)}};
  };
  origin.answer("/x", {Script().head(200, fields(3)).body("old"),
                       Script().head(200, fields(big.size())).body(big.substr(0, 30'000)).wait(gate).reset()});
  Weir weir(origin, "coalesce: {hold_time: 30s}");
  EXPECT_EQ(get(weir.port(), "/x").body, "old");
  weir.turn(21s);
  Burst burst(weir.port(), 20);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  ASSERT_TRUE(origin.waits_for_calls(2));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) {
    ASSERT_EQ(response.body, "old");
    ASSERT_EQ(cache_status(response).detail(), "stale-if-error");
    ASSERT_EQ(cache_status(response).fwd(), "stale");
  }
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.metric(R"(weir_not_stored_total{reason="broken"})"), 1);
}

// COA-9: the head is told after `hold` bytes, after `hold_time`, or at the body's end, whichever comes first.
TEST(Stale, AHeldHeadIsToldInTime) {
  struct Row {
    std::string name;
    std::size_t sent_before_gate;
    base::Duration turned;
  };
  for (auto const& row : {Row{"bytes", 70'000, 0s}, Row{"time", 10, 2s}}) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    Gate gate;
    std::string const big(100'000, 'x');
    Fields const fields{{"Cache-Control", "max-age=20, stale-if-error=600"}, {"Content-Length", std::to_string(big.size())}};
    auto const first = Script().head(200, fields).body(big.substr(0, row.sent_before_gate));
    origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=20, stale-if-error=600"}}, "old"),
                         Script(first).wait(gate).body(big.substr(row.sent_before_gate))});
    Weir weir(origin);
    get(weir.port(), "/x");
    weir.turn(21s);
    Client client(weir.port());
    client.send_request("GET", "/x");
    ASSERT_TRUE(origin.waits_for_calls(2));
    if (row.turned > 0s) {
      ASSERT_TRUE(weir.waits_for_waiters(1));
      weir.turn(row.turned);
    }
    EXPECT_EQ(client.read_at_least(10).status, 200);
    gate.open();
    EXPECT_EQ(client.read().body, big);
  }
}

// STL-1, CB-1: a refresh that nobody waits for and that breaks off is the origin's failure, not Weir's change of mind.
TEST(Stale, ARefreshThatBreaksOffCountsAsBroken) {
  ScriptedOrigin origin;
  auto const fields = cached("max-age=20, stale-while-revalidate=600");
  origin.answer(
      "/x", {respond(200, fields, "one"), Script().head(200, {fields[0], {"Content-Length", "100"}}).body("two").reset()});
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(25s);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  ASSERT_TRUE(origin.waits_for_calls(2));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.metric(R"(weir_origin_fetches_total{class="background",result="broken"})"), 1);
}

}  // namespace
}  // namespace weir::test
