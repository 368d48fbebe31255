// What is asked for most, and a site whose pages are missed.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Script page() { return respond(200, {{"Cache-Control", "max-age=600"}}, "page"); }

// OBS-3: the keys with the most requests, misses and collapsed requests.
TEST(Hot, KeysAreListed) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([](Request const&) { return page(); });
  origin.answer("/burst", Script().wait(gate).head(200, {{"Cache-Control", "max-age=600"}, {"Content-Length", "0"}}));
  Weir weir(origin);
  Burst burst(weir.port(), 50);
  burst.get("/burst");
  ASSERT_TRUE(weir.waits_for_waiters(50));
  gate.open();
  burst.collect();
  Client client(weir.port());
  for (int i = 0; i < 321; ++i) client.get("/hot?x=1");  // one miss, and hits that are counted sixteen at a time
  auto const hot = get(weir.admin_port(), "/v1/hot?limit=1").body;
  EXPECT_NE(hot.find(R"("requests":[{"key":"GET http://weir.test/hot?x=1","count":321,"error":0}])"), std::string::npos)
      << hot;
  EXPECT_NE(hot.find(R"("collapsed":[{"key":"GET http://weir.test/burst","count":49,"error":0}])"), std::string::npos)
      << hot;
  EXPECT_EQ(get(weir.admin_port(), "/v1/hot?limit=0").status, 400);
}

// MR-1: one busted path is told of, and counted without a label; an ordinary window is not. A window ends in the second in
// which what has expired is swept out, so a short life shows when it is over.
TEST(Hot, AMissRateIsTold) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return page(); });
  origin.answer("/brief", respond(200, {{"Cache-Control", "max-age=30"}}, "brief"));
  Weir weir(origin, "freshness: {keep: 1s}");
  auto const play = [&](std::string const& path, int misses, int hits) {
    Client client(weir.port());
    for (int i = 0; i < misses; ++i) client.get(path + std::to_string(i));
    for (int i = 0; i < hits; ++i) client.get(path + "0");
    client.get("/brief");
    auto const entries = weir.entries();
    weir.turn(61s);
    return eventually([&] { return weir.entries() < entries; });
  };
  ASSERT_TRUE(play("/shop?q=", 200, 3200));
  EXPECT_EQ(weir.metric("weir_miss_rate_anomalies_total"), 0);
  ASSERT_TRUE(play("/search?q=", 200, 0));
  EXPECT_TRUE(eventually([&] { return weir.metric("weir_miss_rate_anomalies_total") == 1; }));
}

}  // namespace
}  // namespace weir::test
