// Response smuggling: an answer in a bad framing reaches no client as a good one and is never stored, and what an origin
// sends beside its answers is nobody's.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/raw_client.hpp"
#include "scenario/reply_shapes.hpp"

namespace weir::test {
namespace {

Script script_of(Reply const& reply, std::size_t piece) {
  Script script;
  if (reply.bytes.size() > 5'000) piece = std::max<std::size_t>(piece, 997);
  for (std::size_t at = 0; at < reply.bytes.size(); at += piece) script.send(reply.bytes.substr(at, piece));
  return reply.closes ? script.close() : script;
}

// One Weir and one origin for many answers: what one leaves behind would be found by the next.
class Rig {
 public:
  Rig() {
    origin_.answer_rest([](Request const& request) { return respond(200, {{"Cache-Control", "private"}}, request.target); });
  }

  void run(Reply const& reply, std::string const& method, std::string const& version, std::size_t piece) {
    SCOPED_TRACE(reply.name + ", " + method + " " + version + ", pieces of " + std::to_string(piece));
    auto const target = "/reply/" + std::to_string(++runs_);
    origin_.answer(target, {script_of(reply, piece), respond(200, {max_age(600)}, "again " + target)});
    expect_others_served();  // and there is a connection that waits
    auto const connections = origin_.connections();
    RawClient client(weir_.port());
    client.send(method + " " + target + " " + version + "\r\nHost: a.test\r\n\r\n");
    expect_read(reply, client.read(method));
    ASSERT_TRUE(weir_.waits_until_no_flights());
    // All of it is there: what came behind the next request would be taken for its answer.
    ASSERT_TRUE(eventually([&] { return origin_.at_once() == 0; }));
    EXPECT_EQ(origin_.calls(target), 1U);
    expect_others_served();
    EXPECT_EQ(origin_.connections(), connections + (reply.kept ? 0U : 1U));
    auto const again = get(weir_.port(), target, {{"Host", "a.test"}});
    bool const stored = reply.reading == Reading::good && method == "GET";
    EXPECT_EQ(again.body, stored ? reply.body : "again " + target);
    EXPECT_EQ(origin_.calls(target), stored ? 1U : 2U);
    EXPECT_EQ(origin_.problems(), std::vector<std::string>());
  }
  int runs() const noexcept { return runs_; }

 private:
  static void expect_read(Reply const& reply, Response const& answer) {
    EXPECT_TRUE(answer.end != End::malformed && answer.end != End::silence) << answer;
    EXPECT_EQ(answer.raw.find("stolen"), reply.reading == Reading::broken ? answer.raw.find("stolen") : std::string::npos);
    EXPECT_TRUE(answer.trailers.empty());
    switch (reply.reading) {
      case Reading::good:
        EXPECT_EQ(answer.status, 200);
        EXPECT_TRUE(answer.complete) << answer;
        EXPECT_EQ(answer.body, reply.body);
        return;
      case Reading::bad:
        EXPECT_EQ(answer.status, 502) << answer;
        EXPECT_TRUE(answer.complete);
        EXPECT_FALSE(answer.value("Proxy-Status").empty());
        return;
      case Reading::broken:
        EXPECT_TRUE(!answer.complete || answer.status == 502) << answer;
        return;
    }
  }
  void expect_others_served() {
    for (int i = 0; i < 2; ++i) {
      auto const target = "/other/" + std::to_string(runs_) + "/" + std::to_string(i);
      EXPECT_EQ(get(weir_.port(), target).body, target);
    }
  }

  ScriptedOrigin origin_;
  Weir weir_{origin_, plain + "workers: 1\n"};  // one: so that all clients share its connections to the origin
  int runs_ = 0;
};

void run_all(std::vector<Reply> const& replies) {
  Rig rig;
  for (auto const& reply : replies) {
    rig.run(reply, "GET", "HTTP/1.1", 100'000);
    rig.run(reply, "GET", "HTTP/1.1", 1);
    rig.run(reply, "GET", "HTTP/1.0", 100'000);
    rig.run(reply, "POST", "HTTP/1.1", 100'000);
  }
  testing::Test::RecordProperty("shapes", static_cast<int>(replies.size()));
  testing::Test::RecordProperty("runs", rig.runs());
}

// REQ-2, STO-1, COA-10: the statements about where a body ends that are refused of clients are refused of origins.
TEST(Replies, ShapedAsRequests) { run_all(replies_shaped_as_requests()); }
// REQ-2, STO-1
TEST(Replies, BadStatusLines) { run_all(bad_status_lines()); }
// REQ-2, STO-1
TEST(Replies, BadHeads) { run_all(bad_reply_heads()); }
// REQ-2, STO-1, COA-10, REL-1
TEST(Replies, Ends) { run_all(reply_ends()); }

// REL-1: what comes on a connection that waits for its next request ends it, and answers nobody.
TEST(Replies, BytesOnAnIdleConnection) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {{"Cache-Control", "private"}}, request.target); });
  Weir weir(origin, plain + "workers: 1\n");
  int run = 0;
  for (auto const& stray :
       {stray_answer, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"s, "\r\n"s, "x"s,
        "\0"s, "HTTP/1.1 100 Continue\r\n\r\n"s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"s}) {
    SCOPED_TRACE(testing::PrintToString(stray));
    auto const target = "/stray/" + std::to_string(++run);
    Gate gate;
    origin.answer(target, Script().send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").wait(gate).send(stray));
    EXPECT_EQ(get(weir.port(), target).body, "ok");
    ASSERT_TRUE(weir.waits_until_no_flights());
    auto const connections = origin.connections();
    gate.open();
    ASSERT_TRUE(eventually([&] { return origin.at_once() == 0; }));
    for (std::string const other : {"/a", "/b"}) EXPECT_EQ(get(weir.port(), other).body, other);
    EXPECT_EQ(origin.connections(), connections + 1);
  }
}

// REL-2: a connection that the origin gives up with a 408 is a dead one, and that 408 is nobody's answer.
TEST(Replies, FarewellOfAnIdleConnection) {
  ScriptedOrigin origin;
  origin.answer("/warm", respond(200, {}, "warm"));
  origin.answer("/x",
                {Script().send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").close(),
                 respond(200, {}, "x")});
  origin.answer("/slow", respond(408, {}, "slow"));
  Weir weir(origin, plain + "workers: 1\n");
  EXPECT_EQ(get(weir.port(), "/warm").body, "warm");
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(origin.calls("/x"), 2U);
  EXPECT_EQ(origin.connections(), 2U);
  EXPECT_EQ(get(weir.port(), "/slow").status, 408);  // on a new connection too: it is meant
}

// COA-6, COA-10: nobody who waits for a bad answer gets it for a good one.
TEST(Replies, ACrowdGetsNoneOfIt) {
  for (auto const& reply : {bad_reply_heads()[5], bad_status_lines()[0], reply_ends().back()}) {
    SCOPED_TRACE(reply.name);
    ScriptedOrigin origin;
    Gate gate;
    origin.answer("/x", {Script().wait(gate).send(reply.bytes).close(), respond(200, {max_age(600)}, "good")});
    Weir weir(origin, plain);
    Burst burst(weir.port(), 20);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(20));
    gate.open();
    burst.collect();
    for (auto const& answer : burst.responses())
      EXPECT_TRUE(!answer.complete || answer.status == 502 || answer.body == "good") << answer;
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(get(weir.port(), "/x").body, "good");
  }
}

// REQ-2: the tables are no smaller than they were.
TEST(Replies, TheTablesAreLarge) {
  EXPECT_GE(replies_shaped_as_requests().size() + bad_status_lines().size() + bad_reply_heads().size() + reply_ends().size(),
            300U);
}

}  // namespace
}  // namespace weir::test
