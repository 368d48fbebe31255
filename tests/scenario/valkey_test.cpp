// One cache for many nodes: what is fetched, marked and invalidated on one, as the others see it.
#include <gtest/gtest.h>

#include <thread>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Script cached(std::string body, Fields more = {}) {
  more.push_back({"Cache-Control", "max-age=600"});
  return respond(200, std::move(more), std::move(body));
}

// VAL-1, VAL-2, OBS-1: what one node has fetched is a hit on all; in the near tier for a second without a question, after
// that one of forty bytes.
TEST(Valkey, WhatOneNodeFetchedAllServe) {
  Nodes nodes(2);
  nodes.origin.answer("/a", cached("one", {{"ETag", "\"1\""}, {"X-Kept", "yes"}}));
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "one");
  ASSERT_TRUE(nodes.settle());
  nodes.server.forget_calls();
  auto const there = get(nodes[1].port(), "/a");
  EXPECT_TRUE(is_hit(there));
  EXPECT_EQ(there.body, "one");
  EXPECT_EQ(there.value("ETag"), "\"1\"");
  EXPECT_EQ(there.value("X-Kept"), "yes");
  EXPECT_EQ(nodes.server.calls("get"), 1U);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_hit(get(nodes[1].port(), "/a")));
  EXPECT_EQ(nodes.server.calls("get"), 1U);
  nodes.turn(2s);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(is_hit(get(nodes[1].port(), "/a")));
  EXPECT_EQ(nodes.server.calls("get"), 1U);
  EXPECT_EQ(nodes.server.calls("getrange"), 1U);
  EXPECT_EQ(nodes.origin.calls(), 1U);
}

// VAL-2, SRV-1: age counts from when it came, whichever node it came to. The server's clock is known to a tenth of a second.
TEST(Valkey, AgeGoesOnAcrossNodes) {
  Nodes nodes(2);
  nodes.origin.answer("/a", cached("one"));
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(100s + 200ms);
  auto const there = get(nodes[1].port(), "/a");
  EXPECT_EQ(there.value("Age"), "100");
  EXPECT_EQ(cache_status(there).ttl(), 500);
  nodes.turn(501s);
  EXPECT_FALSE(is_hit(get(nodes[1].port(), "/a")));
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// SRV-2, STL-1: what another node has stored is validated, and served stale while that happens.
TEST(Valkey, AStaleOneFromAnotherNodeIsValidatedOrServedMeanwhile) {
  Nodes nodes(3);
  auto const answer = [](Request const& request) {
    Fields const fields{{"Cache-Control", "max-age=10, stale-while-revalidate=60"}, {"ETag", "\"1\""}};
    return request.value("If-None-Match") == "\"1\"" ? respond(304, fields, "") : respond(200, fields, "one");
  };
  nodes.origin.answer("/a", answer);
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(20s);
  auto const meanwhile = get(nodes[1].port(), "/a");
  EXPECT_EQ(meanwhile.body, "one");
  EXPECT_EQ(cache_status(meanwhile).detail(), "stale-while-revalidate");
  ASSERT_TRUE(nodes.origin.waits_for_calls(2));
  ASSERT_TRUE(nodes.settle());
  EXPECT_EQ(nodes.origin.last_request().value("If-None-Match"), "\"1\"");
  EXPECT_TRUE(is_hit(get(nodes[2].port(), "/a")));
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// STL-2: a stale one that only the server has stands in when the origin fails.
TEST(Valkey, AStaleOneFromAnotherNodeStandsInForAnError) {
  Nodes nodes(2);
  nodes.origin.answer("/a",
                      {respond(200, {{"Cache-Control", "max-age=10, stale-if-error=600"}}, "one"), respond(503, {}, "no")});
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(20s);
  auto const there = get(nodes[1].port(), "/a");
  EXPECT_EQ(there.status, 200);
  EXPECT_EQ(there.body, "one");
  EXPECT_EQ(cache_status(there).detail(), "stale-if-error");
}

// KEY-6: the vary spec and the variants are everyone's.
TEST(Valkey, VariantsAreFoundOnEveryNode) {
  Nodes nodes(2);
  nodes.origin.answer_rest([](Request const& request) { return cached(request.value("X-Lang"), {{"Vary", "X-Lang"}}); });
  for (auto const* const language : {"de", "en", "fr"}) get(nodes[0].port(), "/a", {{"X-Lang", language}});
  ASSERT_TRUE(nodes.settle());
  for (auto const* const language : {"fr", "de", "en"}) {
    auto const there = get(nodes[1].port(), "/a", {{"X-Lang", language}});
    EXPECT_TRUE(is_hit(there)) << language;
    EXPECT_EQ(there.body, language);
  }
  EXPECT_EQ(get(nodes[1].port(), "/a", {{"X-Lang", "it"}}).body, "it");
  EXPECT_EQ(nodes.origin.calls(), 4U);
}

// KEY-6, STO-6: 64 writers on two nodes: none is lost where there is room for all, else there are as many as there may be.
TEST(Valkey, ManyWritersOfVariantsKeepToTheBound) {
  for (std::size_t const room : {64U, 24U}) {
    SCOPED_TRACE(room);
    auto const rules = "key: {max_variants: " + std::to_string(room) + "}\n";
    Nodes nodes(2, "near: {ttl: 0s}", rules);
    Gate gate;
    nodes.origin.answer_rest([&](Request const& request) {
      auto const body = request.value("X-Who");
      Fields const fields{
          {"Cache-Control", "max-age=600"}, {"Vary", "X-Who"}, {"Content-Length", std::to_string(body.size())}};
      return Script().wait(gate).head(200, fields).body(body);
    });
    auto const ask = [](std::size_t i) { return write_request("GET", "/a", {{"X-Who", "w" + std::to_string(i)}}); };
    Burst first(nodes[0].port(), 32), second(nodes[1].port(), 32);
    first.send_each(ask);
    second.send_each([&](std::size_t i) { return ask(i + 32); });
    ASSERT_TRUE(nodes.origin.waits_for_calls(1));
    gate.open();
    first.collect();
    second.collect();
    ASSERT_TRUE(nodes.settle());
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(first.responses()[i].body, "w" + std::to_string(i));
      EXPECT_EQ(second.responses()[i].body, "w" + std::to_string(i + 32));
    }
    EXPECT_EQ(nodes.server.cli({"EVAL", "return #redis.call('KEYS', '*/*')", "0"}), std::to_string(room));
    if (room < 64) continue;
    Weir third(nodes.origin, shared_store(nodes.server.address(), "", rules));
    for (std::size_t i = 0; i < 64; ++i) EXPECT_TRUE(is_hit(get(third.port(), "/a", {{"X-Who", "w" + std::to_string(i)}})));
  }
}

// STO-5: that an answer is for one each, all nodes know from the first.
TEST(Valkey, AMarkerHoldsOnEveryNode) {
  Nodes nodes(2);
  nodes.origin.answer("/a", respond(200, {{"Cache-Control", "private"}}, "mine"));
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  EXPECT_EQ(cache_status(get(nodes[1].port(), "/a")).detail(), "hit-for-miss");
}

// SRV-6: what was written through one node, no node serves as it was, once its second is over.
TEST(Valkey, AWriteInvalidatesOnEveryNode) {
  Nodes nodes(2);
  std::atomic<int> version{1};
  nodes.origin.answer("/a", [&](Request const& request) {
    if (request.method == "POST") ++version;
    return request.method == "POST" ? respond(200, {}, "written") : cached(std::to_string(version.load()));
  });
  for (std::size_t i : {0U, 1U}) {
    EXPECT_EQ(get(nodes[i].port(), "/a").body, "1");
    ASSERT_TRUE(nodes.settle());
  }
  EXPECT_EQ(Client(nodes[0].port()).request("POST", "/a", {}, "x").status, 200);
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "2");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(1100ms);
  EXPECT_EQ(get(nodes[1].port(), "/a").body, "2");
  EXPECT_EQ(nodes.origin.calls("/a"), 3U);
}

// SRV-6: for as long as anything older is stored, also where headers are keyed, and for a node that had never seen it.
TEST(Valkey, AWriteIsRememberedAsLongAsWhatItInvalidates) {
  for (auto const* const rules : {"", "key: {headers: [X-Tenant]}\n"}) {
    SCOPED_TRACE(rules);
    Nodes nodes(2, "", rules);
    std::atomic<int> version{1};
    nodes.origin.answer("/a", [&](Request const& request) {
      if (request.method == "POST") ++version;
      return request.method == "POST" ? respond(200, {}, "written") : cached(std::to_string(version.load()));
    });
    Fields const tenant{{"X-Tenant", "one"}};
    EXPECT_EQ(get(nodes[0].port(), "/a", tenant).body, "1");
    ASSERT_TRUE(nodes.settle());
    EXPECT_EQ(Client(nodes[0].port()).request("POST", "/a", {}, "x").status, 200);
    EXPECT_EQ(get(nodes[1].port(), "/a", tenant).body, "2");
  }
  Nodes nodes(1);
  nodes.origin.answer("/a",
                      [&](Request const& request) { return request.method == "POST" ? respond(200, {}, "") : cached("1"); });
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  Client(nodes[0].port()).request("POST", "/a", {}, "x");
  auto const lives = [&](std::string const& which) {
    return std::stol(nodes.server.cli({"EVAL", "return redis.call('PTTL', redis.call('KEYS', ARGV[1])[1])", "0", which}));
  };
  EXPECT_GE(lives("*}") + 50, lives("*/-"));
  EXPECT_GT(lives("*}"), 3'000'000);
}

// SRV-6, LCY-2: for as long as a fetch that began before it may take at another node, by whichever origin's time is longest,
// also where nothing is stored; a reload may lengthen it.
TEST(Valkey, AWriteIsRememberedAsLongAsAFetchMayTake) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200); });
  ValkeyServer server;
  auto const settings = [&](std::string const& top, std::string const& own) {
    return shared_store(
        server.address(), "",
        "timeouts: {store: 5s, origin: " + top + "}\norigins: {default: {timeouts: {origin: " + own + "}}}\n");
  };
  Weir node(origin, settings("1s", "10m"));
  auto const written_for = [&] {
    server.cli({"EVAL", "for _, record in ipairs(redis.call('KEYS', '*}')) do redis.call('DEL', record) end", "0"});
    Client(node.port()).request("POST", "/a", {}, "x");
    EXPECT_TRUE(eventually([&] { return node.daemon().store().is_idle(); }));
    auto const life = server.cli({"EVAL", "return redis.call('PTTL', redis.call('KEYS', '*}')[1])", "0"});
    return std::chrono::milliseconds(std::stol(life));
  };
  EXPECT_GT(written_for(), 10min);
  EXPECT_LT(written_for(), 11min);
  EXPECT_TRUE(node.reload(settings("1s", "20m")).empty());
  EXPECT_GT(written_for(), 20min);
  EXPECT_TRUE(node.reload(settings("30m", "1s")).empty());
  EXPECT_GT(written_for(), 30min);
  EXPECT_TRUE(node.reload(settings("1s", "1s")).empty());
  EXPECT_GT(written_for(), 30min) << "fetches from before may be under way";
}

// STO-6: of two nodes' fetches the one that began later stays, whichever ends last.
TEST(Valkey, TheFetchThatBeganLaterWins) {
  Nodes nodes(3);
  Gate slow;
  nodes.origin.answer(
      "/a", {Script().wait(slow).head(200, {{"Cache-Control", "max-age=600"}, {"Content-Length", "5"}}).body("older"),
             cached("newer")});
  Burst first(nodes[0].port(), 1);
  first.get("/a");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  nodes.turn(1s);
  EXPECT_EQ(get(nodes[1].port(), "/a").body, "newer");
  ASSERT_TRUE(nodes[1].waits_until_no_flights());
  slow.open();
  first.collect();
  ASSERT_TRUE(nodes.settle());
  EXPECT_EQ(get(nodes[2].port(), "/a").body, "newer");
}

// STO-6, VAL-2: what is near stays, if the server has only something older: the newer one was too large for it,
TEST(Valkey, ANewerOneNearIsNotReplacedByAnOlderOneOfTheServer) {
  Nodes nodes(1, "max_object: 10KiB");
  nodes.origin.answer("/a", {respond(200, {{"Cache-Control", "max-age=10"}}, "old"), cached(std::string(20'000, 'n'))});
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "old");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(20s);
  EXPECT_EQ(get(nodes[0].port(), "/a").body.size(), 20'000U);
  ASSERT_TRUE(nodes.settle());
  for (int i = 0; i < 3; ++i) {
    nodes.turn(2s);
    auto const again = get(nodes[0].port(), "/a");
    EXPECT_TRUE(is_hit(again));
    EXPECT_EQ(again.body.size(), 20'000U);
  }
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// or the server could not be reached when it was fetched.
TEST(Valkey, WhatWasFetchedWhileCutOffIsNotReplacedByAnOlderOneOfTheServer) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay relay(server.address());
  origin.answer("/a", {cached("older"), cached("newer")});
  Weir other(origin, shared_store(server.address()));
  Weir cut_off(origin, shared_store(relay.address(), "near: {ttl: 0s}", "", "100ms"));
  EXPECT_EQ(get(other.port(), "/a").body, "older");
  ASSERT_TRUE(other.waits_until_no_flights());
  relay.refuse();
  EXPECT_EQ(get(cut_off.port(), "/a").body, "newer");
  relay.pass();
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(get(cut_off.port(), "/a").body, "newer");
    return relay.commands("getrange") > 0;
  }));
  EXPECT_EQ(get(cut_off.port(), "/a").body, "newer");
  EXPECT_EQ(origin.calls(), 2U);
}

// STO-6, SRV-2: what a fetch brings in place of the stale one that its own look-up found is kept, here and in the server.
TEST(Valkey, WhatReplacesAStaleOneOfTheServerIsKept) {
  for (bool const validates : {false, true}) {
    SCOPED_TRACE(validates);
    Nodes nodes(3);
    nodes.origin.answer("/a", [&](Request const& request) {
      Fields const fields{{"Cache-Control", "max-age=10"}, {"ETag", "\"1\""}};
      bool const same = validates && request.value("If-None-Match") == "\"1\"";
      return same ? respond(304, fields) : respond(200, fields, "one");
    });
    get(nodes[0].port(), "/a");
    ASSERT_TRUE(nodes.settle());
    nodes.turn(20s);
    EXPECT_FALSE(is_hit(get(nodes[1].port(), "/a")));
    ASSERT_TRUE(nodes.settle());
    for (auto const number : {1U, 2U}) EXPECT_TRUE(is_hit(get(nodes[number].port(), "/a")));
    EXPECT_EQ(nodes.origin.calls(), 2U);
  }
}

// What the relay makes of TIME's reply: the server's clock is so many seconds off.
std::string shifted(std::string reply, long by) {
  std::string const start = "*2\r\n$10\r\n";
  if (by != 0 && reply.starts_with(start))
    reply.replace(start.size(), 10, std::to_string(std::stol(reply.substr(start.size(), 10)) + by));
  return reply;
}

// VAL-1, SRV-1: as long as the server has not said what time it is nobody knows how old its records are.
TEST(Valkey, WithoutTheServersTimeNothingIsTakenFromIt) {
  ScriptedOrigin origin;
  ValkeyServer server;
  Relay past(server.address()), untimed(server.address());
  past.rewrite([](std::string reply) { return shifted(std::move(reply), -1'000); });
  untimed.refuse();
  origin.answer("/a", {cached("long ago"), cached("now")});
  Weir writer(origin, shared_store(past.address()));
  EXPECT_EQ(get(writer.port(), "/a").body, "long ago");
  ASSERT_TRUE(writer.waits_until_no_flights());
  Weir reader(origin, shared_store(untimed.address()));
  auto const times = std::make_shared<std::atomic<int>>(0);
  untimed.rewrite([times](std::string reply) {  // the first one is lost: the look's, which is the first to connect
    return reply.starts_with("*2\r\n$10\r\n") && times->fetch_add(1) == 0 ? std::string() : reply;
  });
  ASSERT_TRUE(eventually([&] { return times->load() > 0; }));
  EXPECT_EQ(get(reader.port(), "/a").body, "now");
  EXPECT_EQ(origin.calls(), 2U);
}

// VAL-1: a node whose `max_object` is larger has stored it.
TEST(Valkey, ARecordThatIsLargerThanOnesOwnIsRead) {
  ScriptedOrigin origin;
  ValkeyServer server;
  origin.answer("/a", cached(std::string(6'000'000, 'a')));
  Weir large(origin, shared_store(server.address(), "max_object: 8MiB"));
  Weir small(origin, shared_store(server.address(), "max_object: 1MiB"));
  EXPECT_EQ(get(large.port(), "/a").body.size(), 6'000'000U);
  ASSERT_TRUE(large.waits_until_no_flights());
  auto const there = get(small.port(), "/a");
  EXPECT_TRUE(is_hit(there));
  EXPECT_EQ(there.body.size(), 6'000'000U);
  EXPECT_EQ(store_errors(small, "get"), 0);
}

// VAL-1: what is too large for the server stays near.
TEST(Valkey, LargeOnesStayNear) {
  Nodes nodes(2, "max_object: 10KiB");
  nodes.origin.answer("/a", cached(std::string(20'000, 'a')));
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  EXPECT_EQ(nodes.server.cli({"EVAL", "return #redis.call('KEYS', '*/*')", "0"}), "0");
  EXPECT_TRUE(is_hit(get(nodes[0].port(), "/a")));
  EXPECT_FALSE(is_hit(get(nodes[1].port(), "/a")));
}

// VAL-2, COA-1: without a near tier the server answers each time, and newcomers join until it would.
TEST(Valkey, WithoutANearTierTheServerAnswers) {
  Nodes nodes(2, "near: {max_bytes: off}");
  nodes.origin.answer("/a", cached("one"));
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "one");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(nodes[0].port(), "/a").body, "one");
  ASSERT_TRUE(nodes.settle());
  nodes.server.forget_calls();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_hit(get(nodes[1].port(), "/a")));
  EXPECT_EQ(nodes.server.calls("get"), 5U);
  EXPECT_EQ(nodes.origin.calls(), 1U);
}

// STO-5, MEM-1: without a near tier, too, a marker goes when something storable comes, and fetches have room.
TEST(Valkey, WithoutANearTierAMarkerGoes) {
  Nodes nodes(1, "near: {max_bytes: off}");
  EXPECT_EQ(nodes[0].daemon().shared().flight_bytes_max.load(), 16U << 20U);
  nodes.origin.answer("/a", {respond(200, {{"Cache-Control", "private"}}, "mine"), cached("ours")});
  EXPECT_EQ(get(nodes[0].port(), "/a").body, "mine");
  ASSERT_TRUE(nodes.settle());
  ASSERT_TRUE(eventually([&] { return nodes[0].daemon().store().is_idle(); }));
  EXPECT_EQ(cache_status(get(nodes[0].port(), "/a")).detail(), "hit-for-miss");
  ASSERT_TRUE(nodes.settle());
  EXPECT_TRUE(is_hit(get(nodes[0].port(), "/a")));
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// VAL-1, VAL-3: a damaged record, a foreign one, one of another key, another type: a miss and a count, and the origin's
// answer.
TEST(Valkey, WhatDoesNotDecodeIsAMiss) {
  Nodes nodes(1);
  nodes.origin.answer_rest([](Request const& request) { return cached(request.target); });
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  auto const name = nodes.server.cli({"EVAL", "return redis.call('KEYS', '*/*')[1]", "0"});
  auto const lua = [&](std::string const& change) {
    return nodes.server.cli(
        {"EVAL", "local r = redis.call('GET', KEYS[1]); local key = string.sub(KEYS[1], 1, -3) " + change, "1", name});
  };
  double counted = 0;
  for (auto const* const change :
       {"redis.call('SETRANGE', KEYS[1], #r - 1, 'X')", "redis.call('SETRANGE', KEYS[1], 45, 'XX')",
        "redis.call('SET', KEYS[1], 'WR' .. string.rep('x', 100))", "redis.call('SET', KEYS[1], string.sub(r, 1, -2))",
        "redis.call('SET', KEYS[1], '')", "redis.call('SET', key, '{nonsense')", "redis.call('SET', key, '[]')"}) {
    SCOPED_TRACE(change);
    nodes.server.cli({"FLUSHALL"});
    Weir writer(nodes.origin, shared_store(nodes.server.address()));
    get(writer.port(), "/a");
    ASSERT_TRUE(writer.waits_until_no_flights());
    lua(change);
    Weir reader(nodes.origin, shared_store(nodes.server.address()));
    auto const calls = nodes.origin.calls();
    EXPECT_EQ(get(reader.port(), "/a").body, "/a");
    EXPECT_EQ(nodes.origin.calls(), calls + 1);
    counted += store_errors(reader, "decode");
  }
  EXPECT_GE(counted, 6);  // an empty one is none
}

// VAL-1, VAL-2: beside what cannot be read, or cannot be had, the near entry is no hit, however lately it was checked.
TEST(Valkey, WhatTheServerSpeaksAgainstIsNotUsedNear) {
  struct Row {
    std::string spoil;
    bool loses_gets;
  };
  std::string const another = "redis.call('SET', KEYS[1], 'WR' .. string.rep('x', 100))";
  for (auto const& row :
       {Row{"redis.call('SET', string.sub(KEYS[1], 1, -3), '{nonsense')", false}, Row{another, false}, Row{another, true}}) {
    SCOPED_TRACE(row.spoil + (row.loses_gets ? ", lost" : ""));
    ScriptedOrigin origin;
    ValkeyServer server;
    Relay relay(server.address());
    Weir node(origin, shared_store(relay.address()));
    std::atomic<int> version{1};
    origin.answer_rest([&](Request const&) { return cached(std::to_string(version.load())); });
    EXPECT_EQ(get(node.port(), "/a").body, "1");
    ASSERT_TRUE(node.waits_until_no_flights());
    server.cli({"EVAL", "local KEYS = redis.call('KEYS', '*/*'); " + row.spoil, "0"});
    if (row.loses_gets) relay.answer("-ERR no\r\n", {"GET"});
    version = 2;
    node.turn(2s);
    EXPECT_EQ(get(node.port(), "/a").body, "2");
    EXPECT_GE(store_errors(node, row.loses_gets ? "get" : "decode"), 1);
    relay.pass();
    ASSERT_TRUE(node.waits_until_no_flights());
    node.turn(2s);
    EXPECT_TRUE(is_hit(get(node.port(), "/a")));  // the fetch has mended what was spoiled
    EXPECT_EQ(origin.calls(), 2U);
  }
}

// VAL-1: AUTH, a database and a prefix; and that a wrong password is no way in, and no failure for anyone.
TEST(Valkey, PasswordDatabaseAndPrefix) {
  ScriptedOrigin origin;
  ValkeyServer server({"--requirepass", "secret"});
  origin.answer("/a", cached("one"));
  auto const store = [&](std::string const& password) {
    return shared_store(server.address(), "password: " + password + ", database: 3, prefix: \"x:\"", "", "200ms");
  };
  Weir right(origin, store("secret"));
  get(right.port(), "/a");
  ASSERT_TRUE(right.waits_until_no_flights());
  Weir also_right(origin, store("secret"));
  EXPECT_TRUE(is_hit(get(also_right.port(), "/a")));
  Weir wrong(origin, store("guess"));
  EXPECT_EQ(get(wrong.port(), "/a").body, "one");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_TRUE(eventually([&] { return store_errors(wrong, "subscribe") > 0; }));
}

}  // namespace
}  // namespace weir::test
