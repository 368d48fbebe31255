// VAL-3, COA-7: whatever state the store's server is in, no request fails, and a cold key costs each node one fetch.
#include <gtest/gtest.h>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

struct Fault {
  std::string name;
  std::function<void(Relay&)> begin;
};

std::vector<Fault> faults() {
  std::vector<Fault> all{
      {"refused", [](Relay& relay) { relay.refuse(); }},
      {"hung", [](Relay& relay) { relay.hang(); }},
      {"hung_unread", [](Relay& relay) { relay.hang_without_reading(); }},
      {"half_open", [](Relay& relay) { relay.half_open(); }},
      {"cut_in_a_reply", [](Relay& relay) { relay.close_after(7); }},
      {"reset_in_a_reply", [](Relay& relay) { relay.reset_after(7); }},
      {"slow", [](Relay& relay) { relay.delay(Milliseconds(2'000)); }},
      {"dripping", [](Relay& relay) { relay.drip(Milliseconds(50)); }},
      {"garbage", [](Relay& relay) { relay.garble("HTTP/1.1 400 Bad Request\r\n\r\n"); }},
      {"loading", [](Relay& relay) { relay.answer("-LOADING Redis is loading the dataset in memory\r\n"); }},
      {"read_only",
       [](Relay& relay) {
         relay.answer("-READONLY You can't write against a read only replica.\r\n", {"EVALSHA", "SET"});
       }},
      {"out_of_memory",
       [](Relay& relay) {
         relay.answer("-OOM command not allowed when used memory > 'maxmemory'.\r\n", {"EVALSHA", "SET"});
       }},
      {"no_script", [](Relay& relay) { relay.answer("-NOSCRIPT No matching script.\r\n", {"EVALSHA"}); }},
      {"lost_replies", [](Relay& relay) { relay.answer("", {"MGET"}); }},
      {"unasked", [](Relay& relay) { relay.inject("+SURPRISE\r\n"); }},
  };
  for (auto const& wrong : wrong_replies())
    all.push_back({"wrong_" + std::to_string(all.size()), [wrong](Relay& relay) { relay.garble(wrong); }});
  return all;
}

class ValkeyFaults : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(All, ValkeyFaults, testing::ValuesIn(faults()), [](auto const& row) { return row.param.name; });

// A fault comes while all is well, under hits, misses and bursts, and goes again.
TEST_P(ValkeyFaults, FailNoRequest) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir node(origin, shared_store(relay.address(), "", "", "100ms"));
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  EXPECT_EQ(get(node.port(), "/hot").body, "/hot");
  ASSERT_TRUE(node.waits_until_no_flights());
  GetParam().begin(relay);
  for (int round = 0; round < 4; ++round) {
    auto const calls = origin.calls();
    auto const path = "/cold" + std::to_string(round);
    Burst burst(node.port(), 50);
    burst.get(path);
    burst.collect();
    EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 50}}));
    EXPECT_EQ(origin.calls(), calls + 1);  // the near tier has it
    for (auto const* const hot : {"/hot", "/cold0"}) {
      auto const response = get(node.port(), hot);
      EXPECT_EQ(response.body, hot);
      EXPECT_TRUE(is_hit(response));
    }
    node.turn(2s);
  }
  EXPECT_EQ(origin.calls("/hot"), 1U);
  relay.pass();
  ASSERT_TRUE(node.waits_until_no_flights());
  EXPECT_TRUE(eventually([&] {
    node.turn(31s);  // whatever the guard's pause has become
    get(node.port(), "/after");
    return node.metric("weir_store_guard_state") == 0;
  }));
  Weir other(origin, shared_store(server.address()));
  EXPECT_TRUE(eventually([&] {
    get(node.port(), "/new");
    node.waits_until_no_flights();
    return is_hit(get(other.port(), "/new"));
  }));
}

// VAL-3: the server comes and goes all the time, under hits, misses and bursts.
TEST(ValkeyFlapping, FailsNoRequest) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir node(origin, shared_store(relay.address(), "", "", "100ms"));
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  get(node.port(), "/hot");
  ASSERT_TRUE(node.waits_until_no_flights());
  std::size_t calls = origin.calls();
  for (int round = 0; round < 60; ++round) {
    switch (round % 6) {
      case 0:
        relay.hang();
        break;
      case 2:
        relay.refuse();
        break;
      case 4:
        relay.half_open();
        break;
      default:
        relay.pass();
    }
    Burst burst(node.port(), 20);
    burst.get("/cold" + std::to_string(round));
    burst.collect();
    ASSERT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 20}})) << round;
    EXPECT_EQ(origin.calls(), ++calls) << round;
    EXPECT_TRUE(is_hit(get(node.port(), "/hot"))) << round;
    node.turn(500ms);
  }
}

// VAL-3: a stop while questions are on their way and nobody answers.
TEST(ValkeyFlapping, AStopWaitsForNoServer) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  for (int round = 0; round < 5; ++round) {
    auto node = std::make_unique<Weir>(origin, shared_store(relay.address(), "", "coalesce: {cluster: true}\n"));
    get(node->port(), "/warm" + std::to_string(round));
    relay.hang();
    Burst burst(node->port(), 10);
    burst.send_each(
        [&](std::size_t i) { return write_request("GET", "/" + std::to_string(round) + '/' + std::to_string(i)); });
    ASSERT_TRUE(node->waits_for_waiters(10));
    node.reset();
    relay.pass();
  }
}

// VAL-3: five failures in a row, then nobody asks; after a second one does, and if that fails after two.
TEST(ValkeyGuard, OpensAndCloses) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir node(origin, shared_store(relay.address(), "", "", "100ms"));
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  int number = 0;
  auto const miss = [&] {
    EXPECT_EQ(get(node.port(), "/" + std::to_string(++number)).status, 200);
    ASSERT_TRUE(node.waits_until_no_flights());
  };
  auto const state = [&] { return node.metric("weir_store_guard_state"); };
  miss();
  EXPECT_EQ(state(), 0);
  relay.answer("-LOADING no\r\n", {"MGET", "GET", "GETRANGE", "EVALSHA"});
  while (number < 10) miss();  // more than open the guard
  EXPECT_EQ(state(), 2);
  auto const asked = relay.commands("get");
  for (int i = 0; i < 5; ++i) miss();
  EXPECT_EQ(relay.commands("get"), asked);
  node.turn(1s);
  miss();
  EXPECT_EQ(relay.commands("get"), asked + 1);
  EXPECT_EQ(state(), 2);
  node.turn(1s);
  miss();
  EXPECT_EQ(relay.commands("get"), asked + 1);  // two seconds now
  relay.pass();
  node.turn(1s);
  miss();
  EXPECT_EQ(relay.commands("get"), asked + 2);
  EXPECT_TRUE(eventually([&] { return state() == 0; }));
}

// VAL-1: a reply that is a second overdue closes the connection.
TEST(ValkeyGuard, AnOverdueReplyClosesTheConnection) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir node(origin, shared_store(relay.address(), "", "", "100ms"));
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  get(node.port(), "/a");
  ASSERT_TRUE(node.waits_until_no_flights());
  relay.hang();
  get(node.port(), "/b");
  auto const accepted = relay.accepted();
  node.turn(2s);
  EXPECT_TRUE(eventually([&] { return relay.accepted() > accepted; }));
}

// VAL-2: while the server is away an entry is used for `offline_ttl` after its last check, then no more.
TEST(ValkeyGuard, TheNearTierHoldsForAWhile) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Weir node(origin, shared_store(server.address(), "near: {offline_ttl: 60s}", "", "100ms"));
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  get(node.port(), "/a");
  ASSERT_TRUE(node.waits_until_no_flights());
  server.kill();
  node.turn(30s);
  EXPECT_TRUE(is_hit(get(node.port(), "/a")));
  node.turn(29s);
  EXPECT_TRUE(is_hit(get(node.port(), "/a")));
  node.turn(2s);
  EXPECT_FALSE(is_hit(get(node.port(), "/a")));
  EXPECT_EQ(origin.calls("/a"), 2U);
  EXPECT_TRUE(is_hit(get(node.port(), "/a")));  // what is fetched meanwhile lives here
}

// VAL-2, STL-3: beyond that it does not even stand in for an origin that fails: it may have been purged long ago.
TEST(ValkeyGuard, WhatWasNotCheckedForLongIsNoStandIn) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Weir node(origin, shared_store(server.address(), "near: {offline_ttl: 60s}", "", "100ms"));
  origin.answer("/a", {respond(200, {{"Cache-Control", "max-age=10, stale-if-error=600"}}, "one"), respond(503, {}, "no")});
  get(node.port(), "/a");
  ASSERT_TRUE(node.waits_until_no_flights());
  server.kill();
  node.turn(30s);
  EXPECT_EQ(cache_status(get(node.port(), "/a")).detail(), "stale-if-error");
  node.turn(31s);
  EXPECT_EQ(get(node.port(), "/a").status, 503);
}

// VAL-3: a server that may forget what was purged is refused at the start, unless told otherwise.
TEST(ValkeyGuard, AServerThatEvictsIsRefused) {
  ScriptedOrigin origin;
  ValkeyServer server({"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"});
  try {
    Weir refused(origin, shared_store(server.address()));
    ADD_FAILURE() << "it started";
  } catch (std::exception const& error) {
    EXPECT_NE(std::string(error.what()).find("maxmemory-policy is allkeys-lru"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("noeviction"), std::string::npos) << error.what();
  }
  Weir told(origin, shared_store(server.address(), "allow_evictable: true"));
  server.kill();
  Weir unreached(origin, shared_store(server.address()));  // no node needs it
  origin.answer("/a", respond(200, {{"Cache-Control", "max-age=600"}}, "one"));
  EXPECT_EQ(get(unreached.port(), "/a").body, "one");
}

// VAL-3: full, with noeviction: what is there is served, what comes stays near.
TEST(ValkeyGuard, AFullServerServesWhatItHas) {
  Nodes nodes(2);
  nodes.origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  nodes.server.cli({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  nodes.server.cli({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(get(nodes[0].port(), "/b").body, "/b");
  EXPECT_TRUE(is_hit(get(nodes[0].port(), "/b")));
  EXPECT_TRUE(is_hit(get(nodes[1].port(), "/a")));
  ASSERT_TRUE(nodes.settle());
  EXPECT_GT(store_errors(nodes[0], "put"), 0);
}

}  // namespace
}  // namespace weir::test
