// PRG-1 between nodes: what was purged on one is gone on all, whatever state the store is in meanwhile.
#include <gtest/gtest.h>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string const hard_all = R"({"all":true,"mode":"hard"})";

struct Versions {
  explicit Versions(ScriptedOrigin& origin) {
    origin.answer_rest([this](Request const&) {
      return respond(200, {{"Cache-Control", "max-age=600, stale-if-error=600"}, {"Surrogate-Key", "red"}},
                     std::to_string(version.load()));
    });
  }
  std::atomic<int> version{1};
};

// Asks nodes until they serve the new one; what each says after that is new for good.
void expect_version(std::deque<Weir>& nodes, std::string const& path, std::string const& body) {
  for (auto& node : nodes) EXPECT_TRUE(eventually([&] { return get(node.port(), path).body == body; })) << path;
  for (auto& node : nodes) EXPECT_EQ(get(node.port(), path).body, body);
}

// PRG-1, VAL-2: each way of naming, told by pub/sub alone: nobody's second has passed.
TEST(ValkeyPurge, ReachesEveryNode) {
  for (auto const* const order : {R"({"urls":["http://weir.test/a"],"mode":"hard"})", R"({"prefixes":["/"],"mode":"hard"})",
                                  R"({"tags":["red"],"mode":"hard"})", R"({"site":"default","mode":"hard"})",
                                  R"({"all":true,"mode":"hard"})", R"({"all":true,"mode":"soft"})"}) {
    SCOPED_TRACE(order);
    Nodes nodes(3, "near: {ttl: 1h}");
    Versions versions(nodes.origin);
    for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "1");
    ASSERT_TRUE(nodes.settle());
    versions.version = 2;
    EXPECT_EQ(purge(nodes[0], order).status, 200);
    expect_version(nodes.all, "/a", "2");
  }
}

// VAL-2: the message is lost, the look each half second finds it.
TEST(ValkeyPurge, IsFoundWhenTheMessageIsLost) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  relay.lose_messages();
  Versions versions(origin);
  std::deque<Weir> nodes;
  for (int i = 0; i < 2; ++i) nodes.emplace_back(origin, shared_store(relay.address(), "near: {ttl: 1h}"));
  for (auto& node : nodes) EXPECT_EQ(get(node.port(), "/a").body, "1");
  for (auto& node : nodes) ASSERT_TRUE(node.waits_until_no_flights());
  versions.version = 2;
  purge(nodes[0], hard_all);
  expect_version(nodes, "/a", "2");
}

// VAL-2, PRG-1: a purge while the server is away, which comes back with its data, or empty.
TEST(ValkeyPurge, HoldsWhenTheServerWasAway) {
  for (bool const comes_back_empty : {false, true}) {
    SCOPED_TRACE(comes_back_empty);
    Nodes nodes(2);
    Versions versions(nodes.origin);
    for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "1");
    ASSERT_TRUE(nodes.settle());
    if (comes_back_empty)
      nodes.server.kill();
    else
      nodes.server.pause();
    versions.version = 2;
    EXPECT_EQ(purge(nodes[0], hard_all).status, 200);
    EXPECT_EQ(get(nodes[0].port(), "/a").body, "2");  // at once on its own node
    if (comes_back_empty)
      nodes.server.start();
    else
      nodes.server.resume();
    expect_version(nodes.all, "/a", "2");
    // And for a node that comes new, and one that was fetched before the purge.
    Weir late(nodes.origin, shared_store(nodes.server.address()));
    EXPECT_EQ(get(late.port(), "/a").body, "2");
  }
}

// COA-14, PRG-1: a fetch that began before a purge on another node is stored for nobody.
TEST(ValkeyPurge, AFetchFromBeforeIsNotKept) {
  Nodes nodes(2);
  Gate gate;
  nodes.origin.answer(
      "/a", {Script().wait(gate).head(200, {{"Cache-Control", "max-age=600"}, {"Content-Length", "3"}}).body("old"),
             respond(200, {{"Cache-Control", "max-age=600"}}, "new")});
  Burst first(nodes[0].port(), 1);
  first.get("/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  purge(nodes[1], hard_all);
  ASSERT_TRUE(eventually([&] { return nodes[1].daemon().store().is_idle(); }));
  gate.open();
  first.collect();
  ASSERT_TRUE(nodes.settle());
  expect_version(nodes.all, "/a", "new");
}

// PRG-1: an empty server learns the highest number that a node knows, so that a purge stays above what was fetched.
TEST(ValkeyPurge, AnEmptyServerIsRaisedToWhatNodesKnow) {
  Nodes nodes(2);
  Versions versions(nodes.origin);
  for (int i = 0; i < 5; ++i) purge(nodes[0], hard_all);
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  auto const number = std::stoul(nodes.server.cli({"GET", "weir:number"}));
  EXPECT_GE(number, 6U);
  for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  nodes.server.kill();
  nodes.server.start();
  versions.version = 2;
  purge(nodes[0], hard_all);
  EXPECT_TRUE(eventually([&] {
    auto const raised = nodes.server.cli({"GET", "weir:number"});
    return raised.find_first_not_of("0123456789") == std::string::npos && std::stoul(raised) > number;
  }));
  expect_version(nodes.all, "/a", "2");
}

// PRG-1: a node that came after the server had lost everything knows small numbers only.
TEST(ValkeyPurge, OfANewNodeReachesOneThatKnowsMoreThanTheEmptyServer) {
  std::string const near = "near: {ttl: 1h}";
  Nodes nodes(1, near);
  Versions versions(nodes.origin);
  for (int i = 0; i < 5; ++i) purge(nodes[0], hard_all);
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  nodes.server.kill();
  nodes.server.start();
  nodes.all.emplace_back(nodes.origin, shared_store(nodes.server.address(), near));
  versions.version = 2;
  EXPECT_EQ(purge(nodes[1], hard_all).status, 200);
  expect_version(nodes.all, "/a", "2");
}

// PRG-1, SRV-6: the same where nobody has purged by tag: writes are numbered by the same counter.
TEST(ValkeyPurge, AnEmptyServerIsRaisedToWhatWritesHaveCounted) {
  Nodes nodes(1);
  Versions versions(nodes.origin);
  for (int i = 0; i < 5; ++i) Client(nodes[0].port()).request("POST", "/other", {}, "x");
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  auto const number = std::stoul(nodes.server.cli({"GET", "weir:number"}));
  nodes.server.kill();
  nodes.server.start();
  ASSERT_TRUE(eventually([&] {
    auto const raised = nodes.server.cli({"GET", "weir:number"});
    return raised.find_first_not_of("0123456789") == std::string::npos && std::stoul(raised) > number;
  }));
  nodes.all.emplace_back(nodes.origin, shared_store(nodes.server.address()));
  versions.version = 2;
  Client(nodes[1].port()).request("POST", "/a", {}, "x");
  nodes.turn(1100ms);
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "2");
}

// PRG-1: what is stored carries a number that nobody was told; what is purged after that gets a higher one.
TEST(ValkeyPurge, APurgeIsAboveWhatIsStored) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Versions versions(origin);
  Weir other(origin, shared_store(server.address(), "near: {ttl: 0s}"));
  Weir ahead(origin, shared_store(server.address(), "near: {ttl: 0s}"));
  for (int i = 0; i < 5; ++i) ahead.daemon().shared().purges.next();
  EXPECT_EQ(get(ahead.port(), "/a").body, "1");
  ASSERT_TRUE(ahead.waits_until_no_flights());
  versions.version = 2;
  Client(other.port()).request("POST", "/a", {}, "x");
  EXPECT_EQ(get(ahead.port(), "/a").body, "2");
}

// PRG-1, VAL-2: a node that was cut off numbers its own writes beyond what the others know, who purge meanwhile what it has
// fetched under those numbers.
TEST(ValkeyPurge, ReachesANodeThatWroteWhileItWasCutOff) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Versions versions(origin);
  std::deque<Weir> cut_off;
  cut_off.emplace_back(origin, shared_store(relay.address(), "near: {ttl: 0s}", "", "100ms"));
  Weir other(origin, shared_store(server.address()));
  relay.refuse();
  for (int i = 0; i < 5; ++i) Client(cut_off[0].port()).request("POST", "/other", {}, "x");
  for (auto const* const path : {"/x", "/y"}) EXPECT_EQ(get(cut_off[0].port(), path).body, "1");
  ASSERT_TRUE(eventually([&] { return store_errors(cut_off[0], "subscribe") >= 2; }));
  versions.version = 2;
  EXPECT_EQ(purge(other, R"({"urls":["http://weir.test/x"],"mode":"hard"})").status, 200);
  Client(other.port()).request("POST", "/y", {}, "x");
  ASSERT_TRUE(eventually([&] { return other.daemon().store().is_idle(); }));
  relay.pass();
  for (auto const* const path : {"/x", "/y"}) expect_version(cut_off, path, "2");
}

// STO-5, SRV-2: what a 304 has made one requester's own is gone on every node, and does not come back from the server.
TEST(ValkeyPurge, WhatA304MadePrivateIsGoneOnEveryNode) {
  Nodes nodes(2);
  nodes.origin.answer(
      "/a", {respond(200, {{"Cache-Control", "max-age=10, stale-while-revalidate=600"}, {"ETag", "\"1\""}}, "ours"),
             respond(304, {{"Cache-Control", "private"}, {"ETag", "\"1\""}}),
             respond(200, {{"Cache-Control", "private"}, {"ETag", "\"1\""}}, "mine")});
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "ours");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(20s);
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "ours");
  ASSERT_TRUE(nodes.origin.waits_for_calls(3));
  ASSERT_TRUE(nodes.settle());
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  for (auto& node : nodes.all) {
    auto const own = get(node.port(), "/a");
    EXPECT_EQ(own.body, "mine");
    EXPECT_EQ(cache_status(own).detail(), "hit-for-miss");
  }
}

// VAL-3: SCRIPT FLUSH, while the connections stay.
TEST(ValkeyPurge, ReachesEveryNodeAfterTheServerForgotItsScripts) {
  Nodes nodes(2, "near: {ttl: 1h}");
  Versions versions(nodes.origin);
  for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  nodes.server.cli({"SCRIPT", "FLUSH"});
  versions.version = 2;
  EXPECT_EQ(purge(nodes[0], hard_all).status, 200);
  expect_version(nodes.all, "/a", "2");
  EXPECT_EQ(get(nodes[0].port(), "/b").body, "2");
  ASSERT_TRUE(nodes.settle());
  EXPECT_TRUE(is_hit(get(nodes[1].port(), "/b")));
}

// VAL-3: what another program wrote in place of a key record or the counter does not stop what is told of a write, and all
// that is told after it.
TEST(ValkeyPurge, AForeignRecordStopsNothing) {
  std::string const in_place_of_the_key =
      "local k = redis.call('KEYS', 'weir:{*}/-')[1]\n"
      "return redis.call('SET', string.sub(k, 1, -3), ARGV[1])";
  for (std::string const text : {R"({"n":1})", R"({"n":null,"m":[],"u":"x"})", R"({"v":{"-":1}})", "[1,2]", "no JSON"}) {
    SCOPED_TRACE(text);
    Nodes nodes(2);
    Versions versions(nodes.origin);
    EXPECT_EQ(get(nodes[0].port(), "/a").body, "1");
    ASSERT_TRUE(nodes.settle());
    EXPECT_EQ(nodes.server.cli({"EVAL", in_place_of_the_key, "0", text}), "OK");
    nodes.server.cli({"SET", "weir:number", "1e300"});
    versions.version = 2;
    Client(nodes[0].port()).request("POST", "/a", {}, "x");
    ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
    expect_version(nodes.all, "/a", "2");
  }
}

// VAL-3: a counter that no Weir counts to is none, and the next number that is known takes its place.
TEST(ValkeyPurge, AForeignCounterIsPutRight) {
  for (auto const* const counter : {"weir:number", "weir:epoch"}) {
    SCOPED_TRACE(counter);
    Nodes nodes(2);
    Versions versions(nodes.origin);
    EXPECT_EQ(get(nodes[0].port(), "/a").body, "1");
    ASSERT_TRUE(nodes.settle());
    EXPECT_EQ(nodes.server.cli({"SET", counter, "9223372036854775807"}), "OK");
    for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/b").body, "1");  // now each has seen it
    ASSERT_TRUE(nodes.settle());
    versions.version = 2;
    purge(nodes[0], hard_all);
    ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
    expect_version(nodes.all, "/a", "2");
    for (auto& node : nodes.all) EXPECT_TRUE(eventually([&] { return is_hit(get(node.port(), "/a")); }));
    EXPECT_LT(nodes.server.cli({"GET", counter}).size(), 5U);
  }
}

// VAL-3, SRV-6: a node that was cut off tells what was invalidated through it faster than more comes, over a slow wire too,
// and so that nothing else is purged.
TEST(ValkeyPurge, ManyInvalidationsAreToldWhileMoreCome) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Versions versions(origin);
  Weir cut_off(origin, shared_store(relay.address()));
  Weir other(origin, shared_store(server.address(), "near: {ttl: 0s}"));
  for (auto const* const path : {"/first", "/last", "/kept"}) EXPECT_EQ(get(other.port(), path).body, "1");
  ASSERT_TRUE(other.waits_until_no_flights());
  relay.refuse();
  versions.version = 2;
  Client client(cut_off.port());
  auto const write = [&](std::string const& path) { return client.request("POST", path, {}, "x").status; };
  EXPECT_EQ(write("/first"), 200);
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(write("/a" + std::to_string(i)), 200);
  EXPECT_EQ(write("/last"), 200);
  EXPECT_EQ(get(other.port(), "/last").body, "1");
  relay.delay(Milliseconds(30));
  int more = 0;
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 20; ++i) write("/more" + std::to_string(++more));
    return get(other.port(), "/last").body == "2";
  }));
  EXPECT_EQ(get(other.port(), "/first").body, "2");
  EXPECT_TRUE(is_hit(get(other.port(), "/kept")));
  EXPECT_EQ(server.cli({"ZCARD", "weir:epochs"}), "0");  // no purge of all
}

// PRG-2: epochs in the server are bounded; the oldest become a floor, which holds for all that is older.
TEST(ValkeyPurge, TheServersEpochsAreBounded) {
  Nodes nodes(1, "", "purge: {max_epochs: 10}\n");
  Versions versions(nodes.origin);
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  versions.version = 2;
  purge(nodes[0], R"({"urls":["http://weir.test/a"],"mode":"hard"})");
  for (int i = 0; i < 30; ++i)
    purge(nodes[0], R"({"urls":["http://weir.test/b)" + std::to_string(i) + R"("],"mode":"hard"})");
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  EXPECT_EQ(nodes.server.cli({"ZCARD", "weir:epochs"}), "10");
  EXPECT_EQ(nodes.server.cli({"HLEN", "weir:times"}), "10");
  Weir late(nodes.origin, shared_store(nodes.server.address(), "", "purge: {max_epochs: 10}\n"));
  EXPECT_EQ(get(late.port(), "/a").body, "2");
}

// RFC 9875, PRG-1: a group that an origin invalidates through one node is invalid on all.
TEST(ValkeyPurge, GroupsOfOriginsReachEveryNode) {
  Nodes nodes(2, "near: {ttl: 1h}");
  std::atomic<int> version{1};
  nodes.origin.answer_rest([&](Request const& request) {
    if (request.method == "POST") {
      ++version;
      return respond(200, {{"Cache-Group-Invalidation", "\"g\""}}, "");
    }
    return respond(200, {{"Cache-Control", "max-age=600"}, {"Cache-Groups", "\"g\""}}, std::to_string(version.load()));
  });
  for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "1");
  ASSERT_TRUE(nodes.settle());
  Client(nodes[0].port()).request("POST", "/other", {}, "x");
  expect_version(nodes.all, "/a", "2");
}

}  // namespace
}  // namespace weir::test
