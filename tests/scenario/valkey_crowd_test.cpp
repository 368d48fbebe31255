// Many who wait for one look-up in a shared store.
#include <gtest/gtest.h>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Script cached(std::string body) { return respond(200, {{"Cache-Control", "max-age=600"}}, std::move(body)); }

// COA-1: look-ups are shared as fetches are.
TEST(ValkeyCrowd, AThousandAsksForOneKeyAreOneQuestion) {
  Nodes nodes(1);
  nodes.origin.answer("/a", cached("one"));
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  Relay relay(nodes.server.address());
  Weir other(nodes.origin, shared_store(relay.address()));
  EXPECT_TRUE(is_hit(get(other.port(), "/a")));  // connected
  other.turn(700s);                              // and stale: the others' is asked for
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  auto const before = relay.commands("get");
  relay.hang();
  Burst burst(other.port(), 1000);
  burst.get("/a");
  ASSERT_TRUE(other.waits_for_waiters(1000));
  relay.pass();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 1000}}));
  EXPECT_EQ(relay.commands("get"), before + 1);
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// COA-1: what the server has is good enough for who leads, but not for those who wait; what they want is fetched once.
TEST(ValkeyCrowd, WhatTheServerHasIsNotGoodEnoughForThoseWhoWait) {
  Nodes nodes(1);
  nodes.origin.answer("/a", cached("one"));
  get(nodes[0].port(), "/a");
  ASSERT_TRUE(nodes.settle());
  Relay relay(nodes.server.address());
  Weir other(nodes.origin, shared_store(relay.address()) + "client: {honor_revalidation: true}\n");
  nodes.origin.answer("/b", cached("another"));
  get(other.port(), "/b");  // connected
  other.turn(10s);
  relay.hang();
  Burst leader(other.port(), 1), others(other.port(), 100);
  leader.get("/a");
  ASSERT_TRUE(other.waits_for_waiters(1));
  others.get("/a", {{"Cache-Control", "max-age=5"}});
  ASSERT_TRUE(other.waits_for_waiters(101));
  relay.pass();
  leader.collect();
  others.collect();
  EXPECT_TRUE(is_hit(leader.responses().front()));
  EXPECT_EQ(statuses(others.responses()), (std::map<int, std::size_t>{{200, 100}}));
  EXPECT_EQ(nodes.origin.calls("/a"), 2U);
}

}  // namespace
}  // namespace weir::test
