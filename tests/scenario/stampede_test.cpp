// What would be a stampede elsewhere: many keys that expire together, one hot key, a flood of made-up queries, an origin
// that fails behind two of us.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Script gated(Gate const& gate, std::string body, std::string const& cache_control = "max-age=60") {
  Fields const fields{{"Cache-Control", cache_control}, {"Content-Length", std::to_string(body.size())}};
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

std::string path(std::size_t number) { return "/" + std::to_string(number); }

// Asks for every key once, over 125 connections at once; how many answers were not 200.
std::size_t failures_of_a_sweep(Weir& weir, std::size_t keys) {
  constexpr std::size_t connections = 125;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t c = 0; c < connections; ++c) {
    std::string requests;
    for (std::size_t key = c; key < keys; key += connections) requests += write_request("GET", path(key));
    clients.push_back(std::make_unique<Client>(weir.port()));
    clients.back()->send(requests);
  }
  std::size_t failures = 0;
  for (std::size_t c = 0; c < connections; ++c)
    for (std::size_t key = c; key < keys; key += connections) failures += clients[c]->read().status != 200;
  return failures;
}

// FRS-2, LIM-1, COA-1: ten thousand keys, stored together and asked for throughout.
TEST(Stampede, KeysStoredTogetherDoNotExpireTogether) {
  constexpr std::size_t keys = 10'000;
  std::mutex mutex;
  std::vector<base::SteadyTime> fetched;
  ScriptedOrigin origin;
  origin.answer_rest([&](Request const&) {
    std::lock_guard const lock(mutex);
    fetched.push_back(base::read_clock().steady);
    return respond(200, {{"Cache-Control", "max-age=600"}}, "body");
  });
  Weir weir(origin, "limiter: {max_queue_wait: 60s}");
  EXPECT_EQ(failures_of_a_sweep(weir, keys), 0U);
  ASSERT_EQ(origin.calls(), keys);
  weir.turn(520s);
  for (int sweep = 0; sweep < 10; ++sweep) {
    EXPECT_EQ(failures_of_a_sweep(weir, keys), 0U);
    weir.turn(10s);
  }
  ASSERT_EQ(origin.calls(), 2 * keys);
  EXPECT_LE(origin.most_at_once(), 64U);
  std::lock_guard const lock(mutex);
  std::sort(fetched.begin(), fetched.end());
  EXPECT_GE(fetched[2 * keys - keys / 100] - fetched[keys + keys / 100], 50s);  // the window is 60 s, a sweep every 10 s
}

// FRS-3: no request ever waits for what is asked for all the time, through a hundred expiries.
TEST(Stampede, AHotKeyIsRefreshedBeforeItExpires) {
  constexpr std::size_t expiries = 100;
  std::array<Gate, expiries + 1> gates;
  std::atomic<std::size_t> calls{0};
  ScriptedOrigin origin;
  origin.answer_rest([&](Request const&) { return gated(gates.at(calls.fetch_add(1)), "hot"); });
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/hot");
  for (std::size_t number = 0; number <= expiries; ++number) {
    ASSERT_TRUE(origin.waits_for_calls(number + 1));
    weir.turn(2s);  // so long every fetch takes
    if (number > 0) { ASSERT_TRUE(cache_status(client.get("/hot")).hit()) << number; }
    gates.at(number).open();
    if (number == 0) client.read();
    ASSERT_TRUE(weir.waits_until_no_flights());
    if (number == expiries) break;
    while (calls.load() == number + 1 && weir.daemon().flights().flights() == 0) {
      auto const status = cache_status(client.get("/hot"));
      ASSERT_TRUE(status.hit()) << number;
      weir.turn(status.ttl().value_or(0) > 15 ? base::Duration(std::chrono::seconds(*status.ttl() - 15)) : 50ms);
    }
  }
  EXPECT_EQ(origin.calls(), expiries + 1);
  EXPECT_EQ(weir.outcome(observe::Outcome::miss), 1U);
  EXPECT_EQ(weir.outcome(observe::Outcome::collapsed) + weir.outcome(observe::Outcome::stale), 0U);
}

// LIM-2: queries made up to miss have three quarters of the permits while nobody else wants them, and a quarter as soon as
// what they hold has come back; the others are all served.
TEST(Stampede, AFloodOfQueriesLeavesRoomForOthers) {
  std::atomic<std::size_t> floods{0}, others{0};
  Gate first, rest;
  ScriptedOrigin origin;
  origin.answer_rest([&](Request const& request) {
    bool const of_the_flood = request.target.starts_with("/flood?");
    auto const number = (of_the_flood ? floods : others).fetch_add(1);
    return gated(of_the_flood && number < 48 ? first : rest, "body");
  });
  Weir weir(origin, "limiter: {max_queue_wait: 600s}\ncoalesce: {follower_max_wait: 600s}\ntimeouts: {origin: 600s}");
  Burst flood(weir.port(), 500), normal(weir.port(), 200);
  flood.send_each([](std::size_t i) { return write_request("GET", "/flood?" + std::to_string(i)); });
  ASSERT_TRUE(weir.waits_for_waiters(500));
  ASSERT_TRUE(origin.waits_for_calls(48));
  auto const queued = [&] { return weir.metric("weir_limiter_queue_depth"); };
  EXPECT_TRUE(eventually([&] { return queued() == 452; }));
  normal.send_each([](std::size_t i) { return write_request("GET", path(i)); });
  ASSERT_TRUE(weir.waits_for_waiters(700));
  ASSERT_TRUE(origin.waits_for_calls(64));
  EXPECT_TRUE(eventually([&] { return queued() == 636; }));
  EXPECT_EQ(others.load(), 16U);
  first.open();
  ASSERT_TRUE(origin.waits_for_calls(112));
  EXPECT_EQ(floods.load(), 64U);  // 16 of them under way
  EXPECT_EQ(others.load(), 48U);
  rest.open();
  normal.collect();
  flood.collect();
  EXPECT_EQ(statuses(normal.responses()), (std::map<int, std::size_t>{{200, 200}}));
  EXPECT_EQ(statuses(flood.responses()), (std::map<int, std::size_t>{{200, 500}}));
  EXPECT_EQ(origin.most_at_once(), 64U);
  EXPECT_EQ(origin.calls(), 700U);
}

// COA-3, COA-4, COA-6: what became of the stuck fetch does not reach those whom a newer one serves, and nobody later.
TEST(Stampede, TheLateErrorOfAStuckFetchReachesNobody) {
  for (auto const& late : {Script().head(500, {{"Content-Length", "4"}}).body("late"), Script(respond(503)), reset()}) {
    Gate stuck, second;
    Script first;
    first.wait(stuck);
    for (auto const& step : late.steps()) {
      if (auto const* const bytes = std::get_if<Script::Send>(&step))
        first.send(bytes->bytes);
      else
        first.reset();
    }
    ScriptedOrigin origin;
    origin.answer("/x", {first, gated(second, "new")});
    Weir weir(origin);
    Burst burst(weir.port(), 50);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(50));
    ASSERT_TRUE(origin.waits_for_calls(1));
    weir.turn(11s);
    ASSERT_TRUE(origin.waits_for_calls(2));
    stuck.open();
    ASSERT_TRUE(eventually([&] { return weir.daemon().shared().fetches_under_way.load() == 1; }));
    EXPECT_EQ(weir.daemon().flights().waiting(), 50U);
    second.open();
    burst.collect();
    for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "new");
    EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
    EXPECT_EQ(origin.calls(), 2U);
  }
}

// COA-5, COA-6: the same where the stuck fetch ends last.
TEST(Stampede, AnErrorAfterTheAnswerChangesNothing) {
  Gate stuck;
  ScriptedOrigin origin;
  origin.answer("/x", {Script().wait(stuck).head(503, {{"Content-Length", "0"}}),
                       respond(200, {{"Cache-Control", "no-cache"}}, "new")});
  Weir weir(origin);
  Burst burst(weir.port(), 50);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(50));
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(11s);
  burst.collect();
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "new");
  stuck.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/x").body, "new");
  EXPECT_EQ(origin.calls(), 3U);
}

// COA-5, CB-1, FWD-6: two of us in a row in front of an origin that fails.
TEST(Stampede, TwoInARowAskAFailingOriginOnce) {
  Gate gate;
  ScriptedOrigin origin;
  origin.answer("/x", Script().wait(gate).head(503, {{"Content-Length", "4"}}).body("down"));
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir inner(origin);
  Weir outer("http://127.0.0.1:" + std::to_string(inner.port()));
  Burst burst(outer.port(), 200);
  burst.get("/x");
  ASSERT_TRUE(outer.waits_for_waiters(200));
  ASSERT_TRUE(inner.waits_for_waiters(1));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{503, 200}}));
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "down");
  EXPECT_EQ(origin.calls(), 1U);
  for (std::size_t i = 0; i < 19; ++i) EXPECT_EQ(get(outer.port(), path(i)).status, 503);
  EXPECT_EQ(origin.calls(), 20U);
  EXPECT_EQ(outer.metric("weir_breaker_state"), 2);
  EXPECT_EQ(inner.metric("weir_breaker_state"), 2);
  burst.get("/x");
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{503, 200}}));
  EXPECT_EQ(origin.calls(), 20U);
  EXPECT_EQ(inner.metric(R"(weir_shed_total{reason="breaker-open"})"), 0);  // they came no further than the first
}

}  // namespace
}  // namespace weir::test
