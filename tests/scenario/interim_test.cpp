// Interim responses through Weir. SRV-7.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/weir.hpp"
#include "support/burst.hpp"
#include "support/client.hpp"

namespace weir::test {
namespace {

std::string const hints =
    "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\nSet-Cookie: s=1\r\nX-Hop: 1\r\n"
    "Connection: x-hop\r\n\r\n";

void expect_hints(Response const& response) {
  ASSERT_EQ(response.interim.size(), 1U) << response;
  EXPECT_EQ(response.interim[0].status, 103);
  EXPECT_EQ(response.interim[0].value("Link"), "</s.css>; rel=preload");
  for (auto const* const name : {"Set-Cookie", "X-Hop", "Content-Length", "Transfer-Encoding"})
    EXPECT_FALSE(response.interim[0].has(name)) << name;
  EXPECT_EQ(response.body, "body");
}

// The hints go out while the answer is still to come, to everyone, also to who comes after them.
TEST(Interim, ReachesAllWhoWait) {
  ScriptedOrigin origin;
  Gate hint, answer;
  origin.answer("/x",
                Script().wait(hint).send(hints).wait(answer).head(200, {max_age(60), {"Content-Length", "4"}}).body("body"));
  Weir weir(origin);
  Burst burst(weir.port(), 20);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  hint.open();
  Client late(weir.port());
  Client first(weir.port());
  first.send_request("GET", "/x");
  EXPECT_EQ(first.read_exactly(24), "HTTP/1.1 103 Early Hints") << "before the answer";
  late.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(22));
  answer.open();
  expect_hints(late.read());
  burst.collect();
  for (auto const& response : burst.responses()) expect_hints(response);
  EXPECT_EQ(origin.calls("/x"), 1U);
  EXPECT_EQ(get(weir.port(), "/x").interim.size(), 0U) << "a hit has none";
}

// 102, 103 and the answer in one piece; HTTP/1.0 gets the answer alone; a stranger's 1xx passes, 100 does not.
TEST(Interim, InOnePieceWithTheAnswer) {
  ScriptedOrigin origin;
  origin.answer("/x", Script().send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + hints +
                                    "HTTP/1.1 199 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
                                    "Cache-Control: private\r\n\r\nbody"));
  Weir weir(origin);
  auto const response = get(weir.port(), "/x");
  ASSERT_EQ(response.interim.size(), 3U) << response;
  EXPECT_EQ(response.interim[0].status, 102);
  EXPECT_EQ(response.interim[1].status, 103);
  EXPECT_EQ(response.interim[2].status, 199);
  EXPECT_EQ(response.body, "body");
  Client old(weir.port());
  old.send("GET /x HTTP/1.0\r\nHost: weir.test\r\n\r\n");
  EXPECT_EQ(old.read().interim.size(), 0U);
}

// Each pipelined answer has its own in front of it; an upload's stay away from its own 100.
TEST(Interim, KeepsTheOrderOfAnswers) {
  ScriptedOrigin origin;
  origin.answer("/x", Script().send(hints).head(200, {{"Content-Length", "4"}, {"Cache-Control", "no-store"}}).body("body"));
  Weir weir(origin);
  Client client(weir.port());
  for (int i = 0; i < 3; ++i) client.send_request("GET", "/x");
  for (int i = 0; i < 3; ++i) expect_hints(client.read());
  client.send_request("POST", "/x", {}, "upload");
  expect_hints(client.read());
  Client expecting(weir.port());
  expecting.send("POST /x HTTP/1.1\r\nHost: weir.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  expecting.send("ab");
  for (auto const& interim : expecting.read().interim) EXPECT_EQ(interim.status, 100);
}

// RFC 8297 2, RFC 9110 15.2: of those who wait for one fetch the ones that speak HTTP/1.1 hear the hints, whoever leads.
TEST(Interim, ReachesNobodyInHttp10) {
  for (bool const old_leads : {true, false}) {
    ScriptedOrigin origin;
    Gate hint;
    origin.answer("/x", Script().wait(hint).send(hints).head(200, {max_age(60), {"Content-Length", "4"}}).body("body"));
    Weir weir(origin);
    Client old(weir.port()), young(weir.port());
    auto const ask = [&](bool is_old) {
      (is_old ? old : young)
          .send(is_old ? "GET /x HTTP/1.0\r\nHost: weir.test\r\nConnection: keep-alive\r\n\r\n"
                       : write_request("GET", "/x"));
    };
    ask(old_leads);
    ASSERT_TRUE(weir.waits_for_waiters(1));
    ask(!old_leads);
    ASSERT_TRUE(weir.waits_for_waiters(2));
    hint.open();
    expect_hints(young.read());
    auto const answer = old.read();
    EXPECT_TRUE(answer.interim.empty() && answer.body == "body") << answer;
    EXPECT_EQ(origin.calls(), 1U);
  }
}

}  // namespace
}  // namespace weir::test
