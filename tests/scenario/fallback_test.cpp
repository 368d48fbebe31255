// What those who wait get when something happens to what is stored meanwhile: a purge, a failure, a better answer.
#include <gtest/gtest.h>

#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using Counts = std::map<int, std::size_t>;

std::string const plain =
    "breaker: {enabled: off}\nfreshness: {jitter: off, default_stale_while_revalidate: 0s, default_stale_if_error: 0s}\n";

Fields fresh_for(std::string const& control, Fields more = {}) {
  more.push_back({"Cache-Control", control});
  return more;
}
Script gated(Gate const& gate, int status, Fields fields, std::string body) {
  if (status != 304) fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(status, fields).body(std::move(body));
}
std::string purge(Weir& weir, std::string const& order) {
  return std::to_string(Client(weir.admin_port())
                            .request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, "{" + order + "}")
                            .status);
}
std::map<std::string, std::size_t> bodies(Burst const& burst) {
  std::map<std::string, std::size_t> all;
  for (auto const& response : burst.responses()) ++all[response.body];
  return all;
}

// COA-1, COA-14: a purge in the middle of a validation sends nobody of those who came before it to the origin, and those who
// come after it share one fetch, which began after it, whatever named the page.
TEST(Fallback, PurgeInTheMiddleOfAValidation) {
  for (std::string const what : {R"("urls":["/a"])", R"("prefixes":["/"])", R"("all":true)", R"("tags":["t"])"}) {
    for (std::string const mode : {"soft", "hard"}) {
      for (bool const with_others : {false, true}) {
        SCOPED_TRACE(what + ' ' + mode + (with_others ? ", others come" : ""));
        Fields const fields = fresh_for("max-age=10", {{"ETag", "\"old\""}, {"Surrogate-Key", "t"}});
        ScriptedOrigin origin;
        Gate gate;
        origin.answer("/a", {respond(200, fields, "old"), gated(gate, 304, fields, ""), respond(200, fields, "new")});
        Weir weir(origin, plain);
        get(weir.port(), "/a");
        weir.turn(11s);
        Burst before(weir.port(), 50), after(weir.port(), 50);
        before.get("/a");
        ASSERT_TRUE(weir.waits_for_waiters(50));
        ASSERT_TRUE(origin.waits_for_calls(2));
        EXPECT_EQ(purge(weir, what + ",\"mode\":\"" + mode + '"'), "200");
        if (with_others) after.get("/a");
        bool const joins = what == R"("tags":["t"])";  // which nobody knows before there is an answer
        ASSERT_TRUE(!with_others || (joins ? weir.waits_for_waiters(100) : origin.waits_for_calls(3)));
        gate.open();
        before.collect();
        EXPECT_EQ(statuses(before.responses()), (Counts{{200, 50}}));
        if (with_others) after.collect();
        EXPECT_EQ(bodies(after), (std::map<std::string, std::size_t>{{with_others ? "new" : "", 50}}));
        EXPECT_EQ(origin.calls("/a"), with_others ? 3U : 2U);
        EXPECT_EQ(get(weir.port(), "/a").body, "new");
      }
    }
  }
}

// COA-4: what was stale and permitted when they came, and is gone when they have waited enough, is no reason to give up.
TEST(Fallback, WhoHasNothingStaleAnyMoreWaitsOn) {
  for (bool const by_write : {false, true}) {
    ScriptedOrigin origin;
    Gate gate;
    auto const fields = fresh_for("max-age=10, stale-if-error=600");
    origin.answer("/a", [&](Request const& request) {
      return request.method == "POST"  ? respond(200)
             : origin.calls("/a") == 1 ? respond(200, fields, "old")
                                       : gated(gate, 200, fields, "new");
    });
    Weir weir(origin, plain + "coalesce: {follower_max_wait: 5s}\n");
    get(weir.port(), "/a");
    weir.turn(11s);
    Burst burst(weir.port(), 50);
    burst.get("/a");
    ASSERT_TRUE(weir.waits_for_waiters(50));
    if (by_write)
      EXPECT_EQ(Client(weir.port()).request("POST", "/a", {}, "x").status, 200);
    else
      EXPECT_EQ(purge(weir, R"("urls":["/a"],"mode":"hard")"), "200");
    weir.turn(6s);
    ASSERT_TRUE(eventually([&] { return weir.metric(R"(weir_coalesce_timeouts_total{fallback="wait-on"})") == 50; }));
    gate.open();
    burst.collect();
    EXPECT_EQ(bodies(burst), (std::map<std::string, std::size_t>{{"new", 50}}));
  }
}

// COA-1, STL-2: what another fetch has stored meanwhile is a hit for those whose own fetch fails or does not come.
TEST(Fallback, WhatAnotherFetchHasStoredIsAHit) {
  for (bool const fails : {true, false}) {
    ScriptedOrigin origin;
    Gate gate;
    origin.answer("/a", [&](Request const& request) {
      auto const fields = fresh_for("public, max-age=600");
      if (request.has("Authorization")) return respond(200, fields, "theirs");
      return origin.calls("/a") == 1 ? respond(200, fresh_for("max-age=10"), "old") : gated(gate, 503, {}, "down");
    });
    Weir weir(origin, plain + "coalesce: {follower_max_wait: 5s}\n");
    get(weir.port(), "/a");
    weir.turn(11s);
    Burst burst(weir.port(), 50);
    burst.get("/a");
    ASSERT_TRUE(weir.waits_for_waiters(50));
    EXPECT_EQ(get(weir.port(), "/a", {{"Authorization", "Basic eA=="}}).body, "theirs");
    if (fails)
      gate.open();
    else
      weir.turn(6s);
    burst.collect();
    EXPECT_EQ(bodies(burst), (std::map<std::string, std::size_t>{{"theirs", 50}}));
    EXPECT_TRUE(cache_status(burst.responses().front()).hit());
    gate.open();
  }
}

// STL-2: who fetches alone is served stale as others are: a client that allows no storing, one for whom there was no room
// to wait, one under a marker.
TEST(Fallback, WhoGoesAloneIsServedStaleToo) {
  for (int const status : {503, 0}) {
    ScriptedOrigin origin;
    origin.answer("/a", {respond(200, fresh_for("max-age=10, stale-if-error=600"), "old"),
                         status != 0 ? respond(status, {}, "down") : close()});
    Weir weir(origin, plain);
    get(weir.port(), "/a");
    weir.turn(11s);
    auto const answer = get(weir.port(), "/a", {{"Cache-Control", "no-store"}});
    EXPECT_EQ(answer.body, "old");
    EXPECT_EQ(cache_status(answer).detail(), "stale-if-error");
  }
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/a", {respond(200, fresh_for("max-age=10, stale-if-error=600"), "old"), gated(gate, 503, {}, "down")});
  Weir weir(origin, plain + "coalesce: {max_waiters: 2, on_overflow: fetch}\n");
  get(weir.port(), "/a");
  weir.turn(11s);
  Burst burst(weir.port(), 10);
  burst.get("/a");
  ASSERT_TRUE(origin.waits_for_calls(10));
  gate.open();
  burst.collect();
  EXPECT_EQ(bodies(burst), (std::map<std::string, std::size_t>{{"old", 10}}));

  origin.answer("/b", {respond(200, fresh_for("max-age=10, stale-if-error=600"), "old"),
                       respond(200, fresh_for("max-age=10", {{"Vary", "*"}}), "own"), respond(503, {}, "down")});
  get(weir.port(), "/b");
  weir.turn(11s);
  EXPECT_EQ(get(weir.port(), "/b").body, "own");
  auto const marked = get(weir.port(), "/b");
  EXPECT_EQ(marked.body, "old");
  EXPECT_EQ(cache_status(marked).detail(), "stale-if-error");
}

// STO-1, COA-9: a 304 that is about something else leaves what is stored where it may stand in for the answer after it.
TEST(Fallback, StaleStandsInBehindA304ThatFitsNobody) {
  for (bool const breaks : {false, true}) {
    ScriptedOrigin origin;
    auto const old = fresh_for("max-age=10, stale-if-error=600", {{"ETag", "\"old\""}});
    auto const bad = breaks ? respond(200, fresh_for("max-age=10"), std::string(40'000, 'x')).close_after(20'000)
                            : respond(503, fresh_for("max-age=10"), "down");
    origin.answer("/a", {respond(200, old, "old"), respond(304, {{"ETag", "\"other\""}}), bad});
    Weir weir(origin, plain);
    get(weir.port(), "/a");
    weir.turn(11s);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(get(weir.port(), "/a").body, "old");
      EXPECT_EQ(origin.calls("/a"), i == 0 ? 3U : 4U);  // nothing took its place
    }
  }
}

// COA-1, COA-5: each time that the key changed they join again.
TEST(Fallback, VaryThatGrowsInTheMiddleOfABurst) {
  ScriptedOrigin origin;
  std::atomic<bool> grown = false;
  origin.answer_rest([&](Request const& request) {
    auto const names = grown.exchange(true) ? "X-A, X-B" : "X-A";
    return respond(200, fresh_for("max-age=600", {{"Vary", names}}), request.value("X-A") + request.value("X-B"));
  });
  Weir weir(origin, plain);
  for (int round = 0; round < 5; ++round) {
    grown = false;
    auto const target = "/" + std::to_string(round);
    Burst burst(weir.port(), 120);
    burst.send_each([&](std::size_t client) {
      return write_request("GET", target, {{"X-A", std::to_string(client % 2)}, {"X-B", std::to_string(client / 2 % 3)}});
    });
    burst.collect();
    auto const all = burst.responses();
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(all[i].body == std::to_string(i % 2) + std::to_string(i / 2 % 3) ||
                  all[i].body.substr(0, 1) == std::to_string(i % 2))
          << all[i];
    EXPECT_LE(origin.calls(target), 8U);
  }
}

}  // namespace
}  // namespace weir::test
