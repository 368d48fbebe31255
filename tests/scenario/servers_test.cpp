// Several servers of one origin: turns, one that dies, one that comes back, checks.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field const private_{"Cache-Control", "private"};

// Servers that answer everything, as one origin.
struct Group {
  explicit Group(std::size_t count) : servers(count) {
    for (auto& server : servers) server.answer_rest([](Request const&) { return respond(200, {private_}, "ok"); });
  }
  ScriptedOrigin& operator[](std::size_t index) { return servers.at(index); }
  std::string settings(std::string const& rest = "") const {
    std::string urls;
    for (auto const& server : servers) urls += (urls.empty() ? "\"" : ", \"") + server.url() + '"';
    return "origins: {app: {servers: [" + urls + "]" + (rest.empty() ? "" : ", " + rest) + "}}\n";
  }
  std::vector<std::size_t> calls() const {
    std::vector<std::size_t> out;
    for (auto const& server : servers) out.push_back(server.calls());
    return out;
  }
  std::deque<ScriptedOrigin> servers;
};

double servers_out(Weir& weir) { return weir.metric("weir_origin_servers{state=\"out\"}"); }

// So many requests at once, of different paths; how many got 200.
std::size_t burst_of(Weir& weir, std::size_t count) {
  Burst burst(weir.port(), count);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect();
  return statuses(burst.responses())[200];
}

// REL-3, REL-1: each has its own connections.
TEST(Servers, TakeTurns) {
  Group group(3);
  Weir weir("", group.settings());
  Client client(weir.port());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(client.get("/" + std::to_string(i)).status, 200);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{2, 2, 2}));
  for (auto const& server : group.servers) EXPECT_EQ(server.connections(), 1U);
}

// REL-3, REL-2, CB-1: no client sees that one of three died, and the breaker does not open for it.
TEST(Servers, OneOfThreeDiesUnderLoad) {
  Group group(3);
  Weir weir("", group.settings());
  EXPECT_EQ(burst_of(weir, 60), 60U);
  auto const before = group[1].calls();
  EXPECT_GT(before, 0U);
  group[1].stop();
  for (int round = 0; round < 4; ++round) EXPECT_EQ(burst_of(weir, 60), 60U);
  EXPECT_EQ(group[1].calls(), before);
  EXPECT_EQ(servers_out(weir), 1);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
}

// REL-3, REL-2: the one retry goes past a server that breaks off what it takes, though it has the fewest fetches.
TEST(Servers, TheRetryGoesPastTheOneThatBrokeOff) {
  Group group(3);
  Gate gate;
  for (std::size_t i : {1U, 2U}) group[i].answer("/held", [&](Request const&) { return Script().wait(gate).head(204); });
  group[0].answer("/x", close());
  Weir weir("", group.settings("balance: least_connections"));
  Client client(weir.port());
  ASSERT_EQ(client.get("/0").status, 200);
  ASSERT_EQ(group.calls(), (std::vector<std::size_t>{1, 0, 0}));
  Burst held(weir.port(), 2);
  held.send_each([](std::size_t) { return write_request("POST", "/held"); });
  ASSERT_TRUE(group[1].waits_for_calls(1));
  ASSERT_TRUE(group[2].waits_for_calls(1));
  EXPECT_EQ(client.get("/x").status, 200);
  EXPECT_EQ(group[0].calls(), 2U);
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"retry\",result=\"ok\"}"), 1);
  gate.open();
  held.collect();
}

// REL-3: `retries`, one of itself where there are several servers, saves even what was on its way there over a new
// connection.
TEST(Servers, WhatADyingServerHadIsAskedOfTheNext) {
  Group group(2);
  Gate never;
  group[0].answer_rest([&](Request const&) { return Script().wait(never).head(204); });
  Weir weir("", group.settings());
  Client client(weir.port());
  client.send_request("GET", "/x");
  ASSERT_TRUE(group[0].waits_for_calls(1));
  group[0].stop();
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"retry\",result=\"ok\"}"), 1);
}

// REL-2
TEST(Servers, WhatADyingServerHadIsNotAskedAgainWithoutRetries) {
  Group group(2);
  group[0].answer_rest([](Request const&) { return close(); });
  Weir weir("", group.settings("retries: off"));
  EXPECT_EQ(get(weir.port(), "/x").status, 502);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{1, 0}));
}

// REL-2
TEST(Servers, OfOneServerNothingIsAskedAgain) {
  Group group(1);
  group[0].answer_rest([](Request const&) { return close(); });
  Weir weir("", group.settings());
  EXPECT_EQ(get(weir.port(), "/x").status, 502);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{1}));
}

// REL-2, REL-3: what may not be done twice is not, with retries or without.
TEST(Servers, APostIsNotAskedOfTheNext) {
  Group group(2);
  group[0].answer_rest([](Request const&) { return close(); });
  Weir weir("", group.settings("retries: 5"));
  EXPECT_EQ(Client(weir.port()).request("POST", "/x", {}, "data").status, 502);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{1, 0}));
}

// REL-2: of the only server too, as often as it says and no more.
TEST(Servers, RetriesAreCounted) {
  Group group(1);
  group[0].answer("/x", {close(), close(), respond(200, {private_}, "third")});
  group[0].answer("/y", close());
  Weir weir("", group.settings("retries: 2"));
  EXPECT_EQ(get(weir.port(), "/y").status, 502);
  EXPECT_EQ(group[0].calls("/y"), 3U);
  EXPECT_EQ(get(weir.port(), "/x").body, "third");
}

// REL-3: by itself, after its pause.
TEST(Servers, OneThatWasPutOutComesBack) {
  Group group(2);
  Weir weir("", group.settings());
  group[0].stop();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(get(weir.port(), "/" + std::to_string(i)).status, 200);
  EXPECT_EQ(servers_out(weir), 1);
  auto const stats = Client(weir.admin_port()).get("/v1/stats").body;
  EXPECT_NE(stats.find("\"servers_out\":[\"" + group[0].url() + "\"]"), std::string::npos) << stats;
  group[0].start();
  weir.turn(4s);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get(weir.port(), "/").status, 200);
  EXPECT_EQ(group[0].calls(), 0U);
  weir.turn(2s);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get(weir.port(), "/").status, 200);
  EXPECT_EQ(group[0].calls(), 2U);
  EXPECT_EQ(servers_out(weir), 0);
}

// REL-3: errors that tell of its health count like no answer.
TEST(Servers, OneThatAnswers503IsPutOut) {
  Group group(2);
  group[0].answer_rest([](Request const&) { return respond(503); });
  Weir weir("", group.settings());
  for (int i = 0; i < 10; ++i) get(weir.port(), "/" + std::to_string(i));
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{3, 7}));
}

// REL-3: active checks, at their interval.
TEST(Servers, ChecksPutOneOutAndBringItBack) {
  Group group(2);
  group[0].answer("/health", respond(500));
  group[1].answer("/health", respond(204));
  Weir weir("", group.settings("health_check: {path: /health, interval: 1s, timeout: 5s}"));
  auto const checked_until = [&](auto done) {
    for (int i = 0; i < 100; ++i) {
      auto const seen = group[1].calls("/health");
      weir.turn(1s);
      if (eventually([&] { return group[1].calls("/health") > seen; }, Milliseconds{200}) && done()) return true;
    }
    return false;
  };
  ASSERT_TRUE(checked_until([&] { return servers_out(weir) == 1; }));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get(weir.port(), "/a").status, 200);
  EXPECT_EQ(group[0].calls("/a"), 0U);
  group[0].answer("/health", hang());
  ASSERT_TRUE(checked_until([&] { return group[0].departures() > 0; }));
  EXPECT_EQ(servers_out(weir), 1) << "no answer is a bad one";
  group[0].answer("/health", respond(302));
  ASSERT_TRUE(checked_until([&] { return servers_out(weir) == 0; }));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get(weir.port(), "/b").status, 200);
  EXPECT_EQ(group[0].calls("/b"), 2U);
}

// REL-3
TEST(Servers, LeastConnectionsPrefersTheIdleOne) {
  Group group(2);
  Gate gate;
  group[0].answer("/slow", [&](Request const&) { return Script().wait(gate).head(204); });
  Weir weir("", group.settings("balance: least_connections"));
  Client slow(weir.port());
  slow.send_request("GET", "/slow");
  ASSERT_TRUE(group[0].waits_for_calls(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(weir.port(), "/" + std::to_string(i)).status, 200);
  EXPECT_EQ(group.calls(), (std::vector<std::size_t>{1, 5}));
  gate.open();
  EXPECT_EQ(slow.read().status, 204);
}

}  // namespace
}  // namespace weir::test
