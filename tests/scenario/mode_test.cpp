// Incident modes: what stands in for an origin that fails, going past the cache, and when they end.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Response set_mode(Weir& weir, std::string const& order, Fields fields = {{"Content-Type", "application/json"}}) {
  return Client(weir.admin_port()).request("PUT", "/v1/mode", fields, order);
}

double gauge(Weir& weir, std::string const& mode) { return weir.metric("weir_mode{mode=\"" + mode + "\"}"); }

Script with(std::string const& control, std::string const& body) { return respond(200, {{"Cache-Control", control}}, body); }

constexpr auto incident = R"(weir_stale_served_total{reason="incident"})";

// MODE-1, STL-2, OBS-1: what the origin never allowed stands in while the mode lasts, and not a moment longer.
TEST(Mode, StaleOnErrorServesWhateverIsStoredUntilItEnds) {
  ScriptedOrigin origin;
  origin.answer("/x", {with("max-age=20", "one"), respond(503)});
  Weir weir(origin, plain);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  weir.turn(10min);
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  EXPECT_EQ(set_mode(weir, R"({"mode":"stale-on-error","for":"10m"})").status, 200);
  EXPECT_EQ(gauge(weir, "stale-on-error"), 1);
  auto const stale = get(weir.port(), "/x");
  EXPECT_EQ(stale.body, "one");
  auto const status = cache_status(stale);
  EXPECT_EQ(status.fwd(), "stale");
  EXPECT_EQ(status.value("fwd-status"), "503");
  EXPECT_EQ(status.detail(), "stale-if-error");
  EXPECT_LE(status.ttl().value_or(0), -580);
  EXPECT_EQ(weir.metric(incident), 1);
  EXPECT_EQ(origin.calls(), 3U);
  weir.turn(10min);
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  EXPECT_EQ(gauge(weir, "stale-on-error"), 0);
  EXPECT_EQ(gauge(weir, "normal"), 1);
  EXPECT_EQ(get(weir.admin_port(), "/v1/mode").body, "{\"mode\":\"normal\",\"left_seconds\":null}\n");
  EXPECT_EQ(weir.metric(incident), 1);
}

// MODE-1: what stays forbidden; the origin's own word is passed on.
TEST(Mode, StaleOnErrorKeepsToWhatWasForbiddenByName) {
  struct Row {
    std::string control, then;
    int status;
  };
  std::vector<Row> const rows{{"max-age=20", "", 200},
                              {"s-maxage=20", "", 200},
                              {"max-age=20, must-revalidate", "", 503},
                              {"max-age=20, proxy-revalidate", "", 503},
                              {"max-age=20, no-cache", "", 503},
                              {"max-age=20", "soft", 200},
                              {"max-age=20", "hard", 503},
                              {"max-age=20", "DELETE", 503}};
  for (auto const& row : rows) {
    SCOPED_TRACE(row.control + ' ' + row.then);
    ScriptedOrigin origin;
    origin.answer("/x", with(row.control, "one"));
    Weir weir(origin, plain);
    get(weir.port(), "/x");
    if (row.then == "DELETE")
      Client(weir.port()).request("DELETE", "/x");
    else if (!row.then.empty())
      Client(weir.admin_port())
          .request("POST", "/v1/purge", {{"Content-Type", "application/json"}},
                   R"({"all":true,"mode":")" + row.then + "\"}");
    origin.answer("/x", respond(503));
    weir.turn(30s);
    set_mode(weir, R"({"mode":"stale-on-error","for":"10m"})");
    EXPECT_EQ(get(weir.port(), "/x").status, row.status);
    EXPECT_EQ(weir.metric(incident), row.status == 200 ? 1 : 0);
  }
}

// MODE-1, CB-1: an origin that is not even asked.
TEST(Mode, StaleOnErrorCoversAnOriginThatIsNotAsked) {
  ScriptedOrigin origin;
  origin.answer("/x", with("max-age=20", "one"));
  origin.answer("/bad", respond(503));
  Weir weir(origin, plain + "breaker: {min_requests: 2}\n");
  get(weir.port(), "/x");
  weir.turn(30s);
  for (int i = 0; i < 3; ++i) get(weir.port(), "/bad");
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  set_mode(weir, R"({"mode":"stale-on-error","for":"1h"})");
  auto const stale = get(weir.port(), "/x");
  EXPECT_EQ(stale.body, "one");
  EXPECT_TRUE(cache_status(stale).hit());
  EXPECT_EQ(cache_status(stale).detail(), "circuit-open");
  EXPECT_EQ(origin.calls("/x"), 1U);
  EXPECT_EQ(weir.metric(incident), 1);
}

// MODE-1: the store is left as it was, and is there again afterwards.
TEST(Mode, BypassServesNothingAndStoresNothing) {
  ScriptedOrigin origin;
  origin.answer("/x", {with("max-age=7200", "one"), with("max-age=7200", "two"), with("max-age=7200", "three")});
  origin.answer("/new", with("max-age=7200", "new"));
  Weir weir(origin, plain);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  set_mode(weir, R"({"mode":"bypass","for":"5m"})");
  EXPECT_EQ(gauge(weir, "bypass"), 1);
  auto const past = get(weir.port(), "/x");
  EXPECT_EQ(past.body, "two");
  EXPECT_EQ(cache_status(past).fwd(), "bypass");
  EXPECT_FALSE(cache_status(past).stored());
  EXPECT_EQ(get(weir.port(), "/x").body, "three");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get(weir.port(), "/new").body, "new");
  EXPECT_EQ(weir.entries(), 1U);
  EXPECT_EQ(origin.calls(), 5U);
  weir.turn(5min);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  EXPECT_EQ(cache_status(get(weir.port(), "/new")).fwd(), "uri-miss");
  EXPECT_EQ(origin.calls(), 6U);
}

// MODE-1: what was under way when it was said is given to those who wait, and not kept.
TEST(Mode, BypassKeepsNothingOfFetchesUnderWay) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {{"Cache-Control", "max-age=60"}, {"Content-Length", "3"}}).body("one"));
  Weir weir(origin, plain);
  Burst burst(weir.port(), 20);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  set_mode(weir, R"({"mode":"bypass","for":"5m"})");
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "one");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(weir.entries(), 0U);
}

// MODE-1: an operator may end it before its time, or say another word.
TEST(Mode, TheLastWordCounts) {
  ScriptedOrigin origin;
  origin.answer("/x", with("max-age=60", "one"));
  Weir weir(origin, plain);
  set_mode(weir, R"({"mode":"stale-on-error","for":"1h"})");
  set_mode(weir, R"({"mode":"bypass","for":"1h"})");
  EXPECT_NE(get(weir.admin_port(), "/v1/mode").body.find("\"bypass\",\"left_seconds\":3"), std::string::npos);
  for (int i = 0; i < 2; ++i) get(weir.port(), "/x");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(set_mode(weir, R"({"mode":"normal"})").body, "{\"mode\":\"normal\",\"left_seconds\":null}\n");
  for (int i = 0; i < 2; ++i) get(weir.port(), "/x");
  EXPECT_EQ(origin.calls(), 3U);
}

// MODE-1, OBS-5: nothing changes without an end, nor on a word that is not understood.
TEST(Mode, MistakesChangeNothing) {
  ScriptedOrigin origin;
  Weir weir(origin);
  for (std::string const order :
       {"", "[]", "{}", R"({"mode":"off"})", R"({"mode":"bypass"})", R"({"mode":"bypass","for":"0s"})",
        R"({"mode":"bypass","for":"25h"})", R"({"mode":"bypass","for":10})", R"({"mode":"normal","for":"10m"})",
        R"({"mode":"bypass","for":"10m","until":"never"})"}) {
    SCOPED_TRACE(order);
    EXPECT_EQ(set_mode(weir, order).status, 400);
  }
  EXPECT_EQ(set_mode(weir, R"({"mode":"bypass","for":"1h"})", {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(gauge(weir, "normal"), 1);
  EXPECT_EQ(get(weir.admin_port(), "/v1/mode").body, "{\"mode\":\"normal\",\"left_seconds\":null}\n");
}

}  // namespace
}  // namespace weir::test
