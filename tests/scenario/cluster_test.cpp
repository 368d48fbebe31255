// COA-11: one fetch for all nodes, whoever dies, fails or is not heard.
#include <gtest/gtest.h>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t crowd = 8;
std::string const clustered = "coalesce: {cluster: true, cluster_max_wait: 60s}\n";

Script gated(Gate const& gate, std::string body, Fields fields = {{"Cache-Control", "max-age=600"}}) {
  fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

// A burst on every node, all of whom wait.
struct Bursts {
  Bursts(std::deque<Weir>& nodes, std::size_t each, std::string const& target) {
    for (auto& node : nodes) all.emplace_back(node.port(), each).get(target);
    for (auto& node : nodes) waiting &= node.waits_for_waiters(each);
  }
  std::map<int, std::size_t> collect() {
    std::map<int, std::size_t> sum;
    for (auto& burst : all) {
      burst.collect();
      for (auto const& [status, count] : statuses(burst.responses())) sum[status] += count;
    }
    return sum;
  }
  std::deque<Burst> all;
  bool waiting = true;
};

double leases(std::deque<Weir>& nodes, std::string const& result) {
  double sum = 0;
  for (auto& node : nodes) sum += node.metric("weir_cluster_leases_total{result=\"" + result + "\"}");
  return sum;
}

// COA-11, COA-1: eight nodes, eighty clients each: without leases a fetch for each node, with them one.
TEST(Cluster, AColdKeyCostsOneFetchForAllNodes) {
  for (bool const with_leases : {false, true}) {
    SCOPED_TRACE(with_leases);
    Nodes nodes(crowd, "", with_leases ? clustered : "");
    std::size_t const expected = with_leases ? 1 : crowd;
    for (std::size_t round = 1; round <= 3; ++round) {
      Gate gate;
      auto const path = "/r" + std::to_string(round);
      nodes.origin.answer(path, gated(gate, "body"));
      Bursts bursts(nodes.all, 80, path);
      ASSERT_TRUE(bursts.waiting);
      ASSERT_TRUE(nodes.origin.waits_for_calls(round * expected));
      nodes.keep_leases();
      if (with_leases) {
        ASSERT_TRUE(eventually([&] { return leases(nodes.all, "refused") == 7.0 * static_cast<double>(round); }));
      }
      gate.open();
      EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 640}}));
      ASSERT_TRUE(nodes.settle());
      EXPECT_EQ(nodes.origin.calls(path), expected);
    }
  }
}

// COA-11, STO-6: a stale one in the server costs one fetch, too: what replaces it is for those who wait elsewhere.
TEST(Cluster, AStaleKeyCostsOneFetchForAllNodes) {
  Nodes nodes(4, "", clustered);
  nodes.origin.answer("/a", respond(200, {{"Cache-Control", "max-age=10"}}, "old"));
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "old");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(20s);
  Gate gate;
  nodes.origin.answer("/a", gated(gate, "new"));
  Bursts bursts(nodes.all, 10, "/a");
  ASSERT_TRUE(bursts.waiting);
  ASSERT_TRUE(nodes.origin.waits_for_calls(2));
  nodes.keep_leases();
  ASSERT_TRUE(eventually([&] { return leases(nodes.all, "refused") >= 3; }));
  gate.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 40}}));
  ASSERT_TRUE(nodes.settle());
  EXPECT_EQ(nodes.origin.calls("/a"), 2U);
  for (auto& node : nodes.all) EXPECT_EQ(get(node.port(), "/a").body, "new");
}

// COA-11: what is announced can be lost; who waits asks again.
TEST(Cluster, WhatIsAnnouncedCanBeLost) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  relay.lose_messages();
  std::deque<Weir> nodes;
  for (std::size_t i = 0; i < 4; ++i) nodes.emplace_back(origin, shared_store(relay.address(), "", clustered));
  Gate gate;
  origin.answer("/a", gated(gate, "body"));
  Bursts bursts(nodes, 10, "/a");
  ASSERT_TRUE(origin.waits_for_calls(1));
  gate.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 40}}));
  EXPECT_EQ(origin.calls("/a"), 1U);
  EXPECT_EQ(leases(nodes, "announced"), 0);
}

// COA-11, COA-5: that the origin fails, one node asks and all hear.
TEST(Cluster, AFailureIsToldToAllNodes) {
  struct Row {
    Script answer;
    int status;
  };
  for (auto const& row : {Row{respond(503, {}, "no"), 503}, Row{respond(504, {}, "no"), 504},
                          Row{respond(502, {}, "no"), 502}, Row{Script().close(), 502}}) {
    SCOPED_TRACE(row.status);
    Nodes nodes(4, "", clustered);
    Gate gate;
    nodes.origin.answer("/a", [&](Request const&) {
      gate.wait();
      return row.answer;
    });
    Bursts bursts(nodes.all, 10, "/a");
    ASSERT_TRUE(bursts.waiting);
    ASSERT_TRUE(eventually([&] { return nodes.origin.calls() == 1; }));
    nodes.keep_leases();
    ASSERT_TRUE(eventually([&] { return leases(nodes.all, "refused") == 3; }));
    gate.open();
    EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{row.status, 40}}));
    EXPECT_EQ(nodes.origin.calls("/a"), 1U);
    ASSERT_TRUE(nodes.settle());
    std::uint64_t counted = 0;
    for (auto& node : nodes.all) counted += node.daemon().metrics().total_fetches();
    EXPECT_EQ(counted, 1U);
  }
}

// COA-11, STO-5: that it is for one each, too: they go on at once, and not one behind the other.
TEST(Cluster, AnAnswerForOneEachHoldsNobodyUp) {
  Nodes nodes(4, "", clustered);
  Gate gate;
  nodes.origin.answer("/a", gated(gate, "mine", {{"Cache-Control", "private"}}));
  Bursts bursts(nodes.all, 5, "/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  nodes.keep_leases();
  ASSERT_TRUE(eventually([&] { return leases(nodes.all, "refused") == 3; }));
  gate.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 20}}));
  EXPECT_EQ(nodes.origin.calls("/a"), 20U);
}

// COA-11: nobody waits elsewhere for the end of a body that will not be in the store.
TEST(Cluster, ALongBodyThatIsNotStoredHoldsNobodyUp) {
  struct Row {
    std::string name;
    int status;
    std::string mode, rest;
  };
  for (auto const& row : {Row{"its_request", 403, "", ""}, Row{"bypass", 200, R"({"mode":"bypass","for":"5m"})", ""},
                          Row{"outgrown", 200, "", "storable: {max_object: 10KiB}\n"}}) {
    SCOPED_TRACE(row.name);
    Nodes nodes(2, "", clustered + row.rest);
    Gate head, end;
    Fields const fields{{"Cache-Control", "max-age=600"}, {"Transfer-Encoding", "chunked"}};
    nodes.origin.answer("/a",
                        {Script().wait(head).head(row.status, fields).chunk(std::string(20'000, 'x')).wait(end).last_chunk(),
                         respond(200, {{"Cache-Control", "max-age=600"}}, "own")});
    Client first(nodes[0].port());
    first.send_request("GET", "/a");
    ASSERT_TRUE(nodes.origin.waits_for_calls(1));
    Burst other(nodes[1].port(), 1);
    other.get("/a");
    ASSERT_TRUE(eventually([&] { return leases(nodes.all, "refused") == 1; }));
    nodes.keep_leases();
    if (!row.mode.empty()) {
      Client(nodes[0].admin_port()).request("PUT", "/v1/mode", {{"Content-Type", "application/json"}}, row.mode);
    }
    head.open();
    other.collect();
    EXPECT_EQ(statuses(other.responses()), (std::map<int, std::size_t>{{200, 1}}));
    EXPECT_EQ(nodes.origin.calls("/a"), 2U);
    EXPECT_FALSE(end.is_open());
    end.open();
    EXPECT_EQ(first.read().body.size(), 20'000U);
  }
}

// COA-11: the owner of the lease hangs or is gone: another node fetches as soon as the lease is over.
TEST(Cluster, TheDeathOfTheOwnerHoldsNobodyUp) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir owner(origin, shared_store(relay.address(), "", clustered));
  std::deque<Weir> others;
  for (std::size_t i = 0; i < 3; ++i) others.emplace_back(origin, shared_store(server.address(), "", clustered));
  Gate dead, living;
  origin.answer("/a", {gated(dead, "dead"), gated(living, "living")});
  Burst first(owner.port(), 5);
  first.get("/a");
  ASSERT_TRUE(origin.waits_for_calls(1));
  relay.hang();  // it renews nothing any more
  Bursts bursts(others, 10, "/a");
  ASSERT_TRUE(origin.waits_for_calls(2));
  living.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 30}}));
  EXPECT_EQ(origin.calls("/a"), 2U);
  relay.pass();
  dead.open();
  first.collect();
  EXPECT_EQ(statuses(first.responses()), (std::map<int, std::size_t>{{200, 5}}));
  ASSERT_TRUE(owner.waits_until_no_flights());
  EXPECT_EQ(get(others[0].port(), "/a").body, "living");  // began later
}

// COA-11: the owner renews its lease for as long as the fetch takes.
TEST(Cluster, ASlowFetchKeepsItsLease) {
  Nodes nodes(2, "", clustered);
  Gate gate;
  nodes.origin.answer("/a", gated(gate, "body"));
  Bursts bursts(nodes.all, 5, "/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  auto const sets = nodes.server.calls("set");
  ASSERT_TRUE(eventually([&] { return nodes.server.calls("pexpire") >= 4; }));  // more than its first second
  ASSERT_TRUE(eventually([&] { return nodes.server.calls("set") >= sets + 2; }));
  EXPECT_EQ(nodes.origin.calls(), 1U);
  gate.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 10}}));
  EXPECT_EQ(nodes.origin.calls(), 1U);
}

// COA-11: who has waited long enough fetches without it.
TEST(Cluster, AfterTheLongestWaitANodeFetchesByItself) {
  Nodes nodes(2, "", "coalesce: {cluster: true, cluster_max_wait: 300ms}\n");
  Gate stuck;
  nodes.origin.answer("/a", {gated(stuck, "stuck"), respond(200, {{"Cache-Control", "max-age=600"}}, "own")});
  Burst first(nodes[0].port(), 1);
  first.get("/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  EXPECT_EQ(get(nodes[1].port(), "/a").body, "own");
  EXPECT_EQ(nodes[1].metric(R"(weir_origin_fetches_total{class="hedge",result="ok"})"), 1);
  EXPECT_EQ(leases(nodes.all, "hedged"), 1);
  stuck.open();
  first.collect();
}

// COA-11, COA-7: a dead store costs a fetch for each node, and nothing more.
TEST(Cluster, WithoutTheStoreEachNodeFetchesOnce) {
  Nodes nodes(3, "", clustered);
  nodes.server.kill();
  Gate gate;
  nodes.origin.answer("/a", gated(gate, "body"));
  Bursts bursts(nodes.all, 20, "/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(3));
  gate.open();
  EXPECT_EQ(bursts.collect(), (std::map<int, std::size_t>{{200, 60}}));
  EXPECT_EQ(nodes.origin.calls("/a"), 3U);
}

// COA-11: the clients have their answer before the store has.
TEST(Cluster, TheWriteToTheStoreIsNotWaitedFor) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  Weir node(origin, shared_store(relay.address(), "", clustered));
  Gate gate;
  origin.answer("/a", gated(gate, "body"));
  Burst burst(node.port(), 5);
  burst.get("/a");
  ASSERT_TRUE(origin.waits_for_calls(1));
  relay.hang();
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 5}}));
  EXPECT_NE(server.cli({"EVAL", "return #redis.call('KEYS', '*!*')", "0"}), "0");
  relay.pass();
  ASSERT_TRUE(node.waits_until_no_flights());
  EXPECT_TRUE(eventually([&] {
    return server.cli({"EVAL", "return #redis.call('KEYS', '*!*')", "0"}) == "0";
  }));  // given back
}

}  // namespace
}  // namespace weir::test
