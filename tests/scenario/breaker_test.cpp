// The breaker in front of a real origin: what opens it, what gets through, what clients get meanwhile.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string path(int number) { return "/" + std::to_string(number); }

// Asks for distinct paths, one after the other.
void ask(Weir& weir, int from, int count, int expected) {
  Client client(weir.port());
  for (int i = from; i < from + count; ++i) ASSERT_EQ(client.get(path(i)).status, expected) << i;
}

// CB-1, OBS-2: a brownout from beginning to end.
TEST(Breaker, OpensLetsOneProbeThroughAndCloses) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir weir(origin);
  ask(weir, 0, 20, 503);
  EXPECT_EQ(origin.calls(), 20U);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 2);

  auto const refused = get(weir.port(), "/refused");
  EXPECT_EQ(refused.status, 503);
  EXPECT_GE(std::stoi(refused.value("Retry-After")), 1);
  EXPECT_LE(std::stoi(refused.value("Retry-After")), 5);
  EXPECT_EQ(origin.calls(), 20U);
  EXPECT_EQ(weir.metric(R"(weir_shed_total{reason="breaker-open"})"), 1);

  Gate gate;
  origin.answer_rest([gate](Request const&) {
    return Script().wait(gate).head(200, {{"Content-Length", "2"}, {"Cache-Control", "max-age=60"}}).body("ok");
  });
  weir.turn(7s);  // 5 s and at most 20 %
  Burst burst(weir.port(), 50);
  burst.send_each([](std::size_t i) { return write_request("GET", path(100 + static_cast<int>(i))); });
  burst.collect(49);
  ASSERT_TRUE(origin.waits_for_calls(21));
  EXPECT_EQ(origin.calls(), 21U);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 1);
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 1}, {503, 49}}));
  EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
  ask(weir, 200, 5, 200);
  EXPECT_EQ(weir.metric(R"(weir_breaker_transitions_total{to="open"})"), 1);
  EXPECT_EQ(weir.metric(R"(weir_breaker_transitions_total{to="closed"})"), 1);
}

// CB-1: a probe that fails opens it for twice as long.
TEST(Breaker, AFailedProbeDoublesThePause) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(502); });
  Weir weir(origin);
  ask(weir, 0, 20, 502);
  weir.turn(7s);
  ask(weir, 100, 1, 502);  // the probe
  weir.turn(7s);
  ask(weir, 101, 1, 503);  // 10 s are not over
  weir.turn(6s);
  ask(weir, 102, 1, 502);
  EXPECT_EQ(origin.calls(), 22U);
}

// CB-1: what the origin said, and said well, is no failure; neither is what clients do.
TEST(Breaker, OnlyOriginHealthFailuresCount) {
  struct Row {
    std::string name;
    Script script;
    int status;
    double state;
  };
  std::vector<Row> const rows{
      {"500", respond(500), 500, 0},
      {"404", respond(404), 404, 0},
      {"504", respond(504), 504, 2},
      {"reset", Script().reset(), 502, 2},
      {"no HTTP", Script().send("SSH-2.0-OpenSSH\r\n\r\n").close(), 502, 2},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer_rest([&row](Request const&) { return row.script; });
    Weir weir(origin);
    ask(weir, 0, 20, row.status);
    EXPECT_EQ(weir.metric("weir_breaker_state"), row.state);
  }
}

// CB-1: 500 counts when told so; a dead origin counts; it can be switched off.
TEST(Breaker, SettingsAndADeadOrigin) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(500); });
  {
    Weir weir(origin, "breaker: {count_500: true}");
    ask(weir, 0, 20, 500);
    EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
  }
  {
    Weir weir(origin, "breaker: {count_500: true, enabled: false}");
    ask(weir, 0, 30, 500);
    EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
  }
  origin.stop();
  Weir weir(origin);
  ask(weir, 0, 20, 502);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
  ask(weir, 20, 1, 503);
}

// CB-1, COA-10: bodies that break off open it, though every head was good.
TEST(Breaker, BrokenBodiesCount) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) {
    return Script().head(200, {{"Content-Length", "10"}, {"Cache-Control", "max-age=60"}}).body("half").close();
  });
  Weir weir(origin);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(get(weir.port(), path(i)).complete);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
}

// CB-1: the probe's head closes it, so that nobody is refused for as long as its body lasts; that the body breaks off
// counts.
TEST(Breaker, AProbesHeadClosesIt) {
  for (bool const breaks : {false, true}) {
    SCOPED_TRACE(breaks);
    ScriptedOrigin origin;
    Gate gate;
    origin.answer("/down", respond(503));
    Fields const fields{{"Content-Length", "8"}, {"Cache-Control", "max-age=60"}};
    auto slow = Script().head(200, fields).body("slow").wait(gate);
    origin.answer("/slow", breaks ? slow.close() : slow.body("body"));
    origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "no-store"}}, "ok"); });
    Weir weir(origin, "breaker: {min_requests: 1, failure_percent: 20}");
    get(weir.port(), "/down");
    EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
    weir.turn(7s);
    Client probe(weir.port());
    probe.send_request("GET", "/slow");
    EXPECT_EQ(probe.read_at_least(4).body, "slow");
    EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
    ask(weir, 0, 4, 200);
    gate.open();
    EXPECT_EQ(probe.read().complete, !breaks);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.metric("weir_breaker_state"), breaks ? 2 : 0);
    EXPECT_EQ(origin.calls(), 6U);
  }
}

// CB-1, STL-2: stale where permitted, without an attempt; 504 where validation is a must (STL-3).
TEST(Breaker, StaleIsServedWhereThatIsPermitted) {
  ScriptedOrigin origin;
  origin.answer("/stale", respond(200, {{"Cache-Control", "max-age=20, stale-if-error=600"}}, "old"));
  origin.answer("/must", respond(200, {{"Cache-Control", "max-age=20, must-revalidate"}}, "old"));
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir weir(origin);
  get(weir.port(), "/stale");
  get(weir.port(), "/must");
  weir.turn(21s);
  ask(weir, 0, 20, 503);
  auto const calls = origin.calls();
  auto const stale = get(weir.port(), "/stale");
  EXPECT_EQ(stale.body, "old");
  EXPECT_TRUE(cache_status(stale).hit());
  EXPECT_EQ(cache_status(stale).detail(), "circuit-open");
  EXPECT_EQ(get(weir.port(), "/must").status, 504);
  EXPECT_EQ(origin.calls(), calls);
  EXPECT_EQ(weir.metric(R"(weir_stale_served_total{reason="breaker-open"})"), 1);
}

// CB-1, LIM-1: its opening empties the queue at once.
TEST(Breaker, OpeningEmptiesTheQueue) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) { return Script().wait(gate).head(503, {{"Content-Length", "0"}}); });
  Weir weir(origin, "limiter: {max_concurrent: 4}\nbreaker: {min_requests: 2}");
  Burst burst(weir.port(), 100);
  burst.send_each([](std::size_t i) { return write_request("GET", path(static_cast<int>(i))); });
  ASSERT_TRUE(weir.waits_for_waiters(100));
  ASSERT_TRUE(origin.waits_for_calls(4));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{503, 100}}));
  EXPECT_LE(origin.calls(), 6U);  // those under way, and what their permits let through before the second failure
  EXPECT_EQ(weir.metric("weir_limiter_queue_depth"), 0);
}

// CB-1: a request with a body is no probe while another may come that has none.
TEST(Breaker, UploadsDoNotProbe) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir weir(origin);
  ask(weir, 0, 20, 503);
  origin.answer_rest([](Request const&) { return respond(200, {}, "ok"); });
  weir.turn(7s);
  EXPECT_EQ(Client(weir.port()).request("POST", "/form", {}, "a=1").status, 503);
  EXPECT_EQ(origin.calls(), 20U);
  EXPECT_EQ(get(weir.port(), "/page").status, 200);
  EXPECT_EQ(Client(weir.port()).request("POST", "/form", {}, "a=1").status, 200);
}

// CB-1: an origin that gets nothing but requests with a body comes back, too; one is lost if it has not.
TEST(Breaker, AnUploadProbesWhereNothingElseComes) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir weir(origin, "breaker: {min_requests: 2}");
  auto const post = [&] { return Client(weir.port()).request("POST", "/form", {}, "a=1").status; };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(), 503);
  EXPECT_EQ(origin.calls(), 2U);
  weir.turn(7s);  // 5 s and at most 20 %
  EXPECT_EQ(post(), 503);
  EXPECT_EQ(origin.calls(), 2U);
  weir.turn(6s);  // twice that
  EXPECT_EQ(post(), 503);
  EXPECT_EQ(origin.calls(), 3U);
  origin.answer_rest([](Request const&) { return respond(200, {}, "ok"); });
  weir.turn(19s);
  EXPECT_EQ(post(), 503);
  weir.turn(6s);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(), 200);
  EXPECT_EQ(origin.calls(), 6U);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
}

}  // namespace
}  // namespace weir::test
