// What the log says of limiters, breakers and the store's guard as they change (OBS-4).
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/log_file.hpp"
#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// OBS-4, LIM-2: the first queue that forms is told of once, with the setting that made it.
TEST(Guards, TheFirstQueueNamesItsSetting) {
  Log log;
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) {
    return Script().wait(gate).head(200, {max_age(60), {"Content-Length", "0"}});
  });
  Weir weir(origin, plain + "limiter: {max_concurrent: 2}\n");
  Burst burst(weir.port(), 5);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 3; }));
  weir.turn(1s);
  ASSERT_TRUE(eventually([&] { return log.count("requests-queue") == 1; })) << log.text();
  EXPECT_EQ(log.count("limiter.max_uploads\" max_concurrent=2 "), 1U) << log.text();
  gate.open();
  burst.collect();
  Burst again(weir.port(), 5);
  again.send_each([](std::size_t i) { return write_request("GET", "/again" + std::to_string(i)); });
  again.collect();
  for (int i = 0; i < 3; ++i) weir.turn(1s);
  EXPECT_EQ(log.count("requests-queue"), 1U) << log.text();
}

// OBS-4, CB-1: each time that a breaker opens or closes.
TEST(Guards, ABreakerOpensAndCloses) {
  Log log;
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {max_age(60)}, "x"); });
  origin.answer("/bad", respond(503));
  Weir weir(origin, plain + "breaker: {min_requests: 2, open: 5s}\n");
  for (int i = 0; i < 2; ++i) get(weir.port(), "/bad");
  weir.turn(1s);
  ASSERT_TRUE(eventually([&] { return log.count("warning breaker-opened origin=default times=1") == 1; })) << log.text();
  weir.turn(7s);
  EXPECT_EQ(get(weir.port(), "/good").status, 200);
  weir.turn(1s);
  ASSERT_TRUE(eventually([&] { return log.count("info breaker-closed origin=default") == 1; })) << log.text();
  for (int i = 0; i < 3; ++i) weir.turn(1s);
  EXPECT_EQ(log.count("breaker-"), 2U) << log.text();
}

// OBS-4, REL-3: how many of an origin's servers are left out.
TEST(Guards, AServerIsLeftOutAndBack) {
  Log log;
  ScriptedOrigin one, other;
  for (auto* const server : {&one, &other}) server->answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Weir weir("", plain + "origins: {app: {servers: [\"" + one.url() + "\", \"" + other.url() + "\"]}}\n");
  other.stop();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(get(weir.port(), "/" + std::to_string(i)).status, 200);
  weir.turn(1s);
  ASSERT_TRUE(eventually([&] { return log.count("warning servers-out origin=app out=1 of=2") == 1; })) << log.text();
  weir.turn(10s);
  ASSERT_TRUE(eventually([&] { return log.count("info servers-out origin=app out=0 of=2") == 1; })) << log.text();
}

// OBS-4, VAL-3: a store that is left alone, and asked again.
TEST(Guards, AStoreThatIsGoneAndBack) {
  Log log;
  Nodes nodes(1);
  nodes.origin.answer_rest([](Request const&) { return respond(200, {max_age(60)}, "x"); });
  nodes.server.kill();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(nodes[0].port(), "/" + std::to_string(i)).status, 200);
  nodes.turn(1s);
  ASSERT_TRUE(eventually([&] { return log.count("store-not-asked address=" + nodes.server.address()) == 1; })) << log.text();
  nodes.server.start();
  int i = 0;
  ASSERT_TRUE(eventually([&] {
    nodes.turn(31s);
    get(nodes[0].port(), "/back" + std::to_string(++i));
    return log.count("store-back") == 1;
  })) << log.text();
}

struct NeverWorked {
  std::string name;
  std::string settings;  // of the store
  std::function<void(ValkeyServer&)> begin;
  std::string why;
};

std::vector<NeverWorked> never_worked() {
  return {
      {"away", "", [](ValkeyServer& server) { server.kill(); }, "\"no connection\""},
      {"wrong_password", "password: wrong", [](ValkeyServer&) {}, "AUTH"},
      {"wrong_database", "database: 9999", [](ValkeyServer&) {}, "DB index"},
  };
}

// OBS-4, VAL-3: nothing is asked of such a store, so its guard hears of no failure; it is told of all the same.
TEST(Guards, AStoreThatNeverWorkedIsToldOf) {
  for (auto const& row : never_worked()) {
    SCOPED_TRACE(row.name);
    Log log;
    ScriptedOrigin origin;
    ValkeyServer server;
    row.begin(server);
    Weir weir(origin, shared_store(server.address(), row.settings));
    EXPECT_TRUE(eventually([&] { return weir.metric("weir_store_guard_state") == 2; }));
    EXPECT_TRUE(eventually([&] { return log.count("warning store-not-asked address=" + server.address()) == 1; }));
    EXPECT_EQ(log.count(row.why), 1U) << log.text();
    if (row.name != "away") continue;
    server.start();
    EXPECT_TRUE(eventually([&] {
      weir.turn(1s);
      return log.count("store-back") == 1;
    })) << log.text();
    EXPECT_EQ(weir.metric("weir_store_guard_state"), 0);
  }
}

// OBS-4, PRG-1, VAL-3: what a server cannot be told keeps look-ups from asking it.
TEST(Guards, AStoreThatTakesNoPurgeIsToldOf) {
  Log log;
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  relay.answer("-READONLY You can't write against a read only replica.\r\n", {"EVALSHA", "SET"});
  Weir weir(origin, shared_store(relay.address()));
  EXPECT_EQ(purge(weir, R"({"all": true})").status, 200);
  EXPECT_TRUE(eventually([&] { return log.count("store-not-asked") == 1; }));
  EXPECT_GE(log.count("READONLY"), 1U) << log.text();
}

}  // namespace
}  // namespace weir::test
