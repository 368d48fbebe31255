// Section 6, the heart: what a burst costs the origin, and what everyone gets.
#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::size_t count_collapsed(std::vector<Response> const& responses) {
  std::size_t count = 0;
  for (auto const& response : responses) count += cache_status(response).collapsed();
  return count;
}

Script gated(Gate const& gate, Fields fields, std::string body) {
  fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

// COA-1, COA-16, OBS-1, OBS-2
TEST(Coalesce, ColdKeyCostsOneRequest) {
  ScriptedOrigin origin;
  Gate gate;
  std::string const body(20'000, 'b');
  origin.answer("/cold", gated(gate, {{"Cache-Control", "max-age=60"}}, body));
  Weir weir(origin);
  Burst burst(weir.port(), 1000);
  burst.get("/cold");
  ASSERT_TRUE(weir.waits_for_waiters(1000));
  gate.open();
  burst.collect();
  auto const responses = burst.responses();
  EXPECT_EQ(statuses(responses), (std::map<int, std::size_t>{{200, 1000}}));
  for (auto const& response : responses) ASSERT_EQ(response.body, body);
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(count_collapsed(responses), 999U);
  EXPECT_EQ(weir.coalesced(), 999U);
  EXPECT_EQ(weir.metric("weir_coalesced_total"), 999);
}

// COA-1, SRV-2
TEST(Coalesce, ExpiredKeyCostsOneRequest) {
  for (bool const validates : {false, true}) {
    ScriptedOrigin origin;
    Gate gate;
    Fields fields{{"Cache-Control", "max-age=60"}};
    if (validates) fields.push_back({"ETag", "\"v1\""});
    auto const second =
        validates
            ? Script().wait(gate).send("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nCache-Control: max-age=60\r\n\r\n")
            : gated(gate, fields, "two");
    origin.answer("/x", {respond(200, fields, "one"), second});
    Weir weir(origin);
    EXPECT_EQ(get(weir.port(), "/x").body, "one");
    weir.turn(61s);
    Burst burst(weir.port(), 1000);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(1000));
    gate.open();
    burst.collect();
    EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 1000}}));
    for (auto const& response : burst.responses()) ASSERT_EQ(response.body, validates ? "one" : "two");
    EXPECT_EQ(origin.calls(), 2U);
    EXPECT_EQ(count_collapsed(burst.responses()), 999U);
    EXPECT_EQ(weir.coalesced(), 999U);
    EXPECT_EQ(origin.last_request().has("If-None-Match"), validates);
  }
}

// COA-1: a flight leaves only when a look-up would return its entry.
TEST(Coalesce, NoGapBetweenFlightAndStore) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "max-age=600"}}, "body"); });
  Weir weir(origin);
  constexpr int rounds = 10'000, callers = 8;
  std::vector<std::thread> threads;
  std::barrier together(callers);
  std::atomic<int> bad{0};
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&] {
      Client client(weir.port());
      for (int round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        if (client.get("/" + std::to_string(round)).status != 200) bad.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bad.load(), 0);
  EXPECT_EQ(origin.calls(), static_cast<std::size_t>(rounds));
}

// COA-1: clients spread over the moment in which the fetch ends.
TEST(Coalesce, CollapsedAndHitsTogether) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", gated(gate, {{"Cache-Control", "max-age=60"}}, "body"));
  Weir weir(origin);
  std::vector<std::unique_ptr<Burst>> bursts;
  for (int i = 0; i < 10; ++i) bursts.push_back(std::make_unique<Burst>(weir.port(), 100));
  for (int i = 0; i < 10; ++i) {
    bursts[static_cast<std::size_t>(i)]->get("/x");
    if (i == 4) gate.open();
  }
  for (auto& burst : bursts) burst->collect();
  for (auto& burst : bursts) EXPECT_EQ(statuses(burst->responses()), (std::map<int, std::size_t>{{200, 100}}));
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(weir.outcome(observe::Outcome::collapsed) + weir.outcome(observe::Outcome::hit), 999U);
}

// COA-2
TEST(Coalesce, LeaderHangsUpAndNobodyNotices) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", gated(gate, {{"Cache-Control", "max-age=60"}}, "body"));
  Weir weir(origin);
  Client leader(weir.port());
  leader.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  Burst followers(weir.port(), 100);
  followers.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(101));
  leader.reset();
  gate.open();
  followers.collect();
  EXPECT_EQ(statuses(followers.responses()), (std::map<int, std::size_t>{{200, 100}}));
  EXPECT_EQ(origin.calls(), 1U);
}

// COA-2
TEST(Coalesce, AllHangUpAndTheEntryIsThere) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", gated(gate, {{"Cache-Control", "max-age=60"}}, "body"));
  Weir weir(origin);
  {
    Burst burst(weir.port(), 50);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(50));
    for (std::size_t i = 0; i < burst.size(); ++i) burst.reset(i);
  }
  gate.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  auto const response = get(weir.port(), "/x");
  EXPECT_TRUE(cache_status(response).hit());
  EXPECT_EQ(origin.calls(), 1U);
}

// COA-7, COA-9, COA-10: nothing is ever stored here, and the flight works the same.
TEST(Coalesce, BodyThatBreaksIsBrokenForAllAndNotStored) {
  ScriptedOrigin origin;
  Gate gate;
  auto broken = Script()
                    .wait(gate)
                    .head(200, {{"Cache-Control", "max-age=60"}, {"Content-Length", "100000"}})
                    .body(std::string(50'000, 'x'))
                    .reset();
  origin.answer("/x", {broken, respond(200, {{"Cache-Control", "max-age=60"}}, "whole")});
  Weir weir(origin);
  Burst burst(weir.port(), 20);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) EXPECT_FALSE(response.complete) << response;
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(get(weir.port(), "/x").body, "whole");
  EXPECT_EQ(origin.calls(), 2U);
}

// COA-9
TEST(Coalesce, LateFollowerGetsTheBytesFromTheStart) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script()
                          .head(200, {{"Cache-Control", "max-age=60"}, {"Content-Length", "10"}})
                          .body("hello")
                          .wait(gate)
                          .body("world"));
  Weir weir(origin);
  Client leader(weir.port());
  leader.send_request("GET", "/x");
  EXPECT_EQ(leader.read_at_least(5).body, "hello");
  Client follower(weir.port());
  follower.send_request("GET", "/x");
  EXPECT_EQ(follower.read_at_least(5).body, "hello");
  gate.open();
  EXPECT_EQ(leader.read().body, "helloworld");
  auto const response = follower.read();
  EXPECT_EQ(response.body, "helloworld");
  EXPECT_TRUE(cache_status(response).collapsed());
  EXPECT_EQ(origin.calls(), 1U);
}

// COA-8
TEST(Coalesce, CredentialsFetchOnTheirOwn) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/me", [&](Request const& request) {
    return gated(gate, {{"Cache-Control", "max-age=60"}}, request.value("Authorization"));
  });
  Weir weir(origin, "limiter: {max_partition_share: 100}\n");
  Burst burst(weir.port(), 50);
  burst.send_each([](std::size_t i) {
    return write_request("GET", "/me", {{"Authorization", "user" + std::to_string(i)}});
  });
  ASSERT_TRUE(origin.waits_for_calls(50));
  gate.open();
  burst.collect();
  auto const responses = burst.responses();
  for (std::size_t i = 0; i < responses.size(); ++i) EXPECT_EQ(responses[i].body, "user" + std::to_string(i));
  EXPECT_EQ(origin.calls(), 50U);
  EXPECT_EQ(weir.entries(), 0U);
}

// COA-5, STO-2, STO-5: an answer that cannot be shared reaches one client each, and nobody stands in line for it.
TEST(Coalesce, UnshareableAnswersReachOneClientEach) {
  for (Field const& unshareable : {Field{"Set-Cookie", "session=1"}, Field{"Cache-Control", "private, max-age=60"},
                                   Field{"Cache-Control", "no-store"}}) {
    ScriptedOrigin origin;
    Gate first, rest;
    std::atomic<int> number{0};
    origin.answer("/x", [&](Request const&) {
      int const n = number.fetch_add(1);
      return gated(n == 0 ? first : rest, {unshareable, {"X-Number", std::to_string(n)}}, std::to_string(n));
    });
    Weir weir(origin);
    Burst burst(weir.port(), 40);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(40));
    first.open();
    ASSERT_TRUE(origin.waits_for_calls(40));  // all at once, not one after the other
    rest.open();
    burst.collect();
    std::set<std::string> bodies;
    for (auto const& response : burst.responses()) bodies.insert(response.body);
    EXPECT_EQ(bodies.size(), 40U);
    EXPECT_EQ(weir.coalesced(), 0U);
    auto const later = get(weir.port(), "/x");
    EXPECT_EQ(cache_status(later).detail(), "hit-for-miss");
  }
}

// KEY-6, COA-1, COA-5
TEST(Coalesce, LanguagesAreFetchedOnceEach) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", [&](Request const& request) {
    return gated(gate, {{"Cache-Control", "max-age=60"}, {"Vary", "Accept-Language"}}, request.value("Accept-Language"));
  });
  Weir weir(origin);
  std::array<std::string, 3> const languages{"en", "de", "fr"};
  Burst burst(weir.port(), 300);
  burst.send_each([&](std::size_t i) { return write_request("GET", "/x", {{"Accept-Language", languages[i % 3]}}); });
  ASSERT_TRUE(weir.waits_for_waiters(300));
  gate.open();
  burst.collect();
  auto const responses = burst.responses();
  for (std::size_t i = 0; i < responses.size(); ++i) ASSERT_EQ(responses[i].body, languages[i % 3]) << responses[i];
  EXPECT_GE(origin.calls(), 3U);
  EXPECT_LE(origin.calls(), 4U);
}

// COA-14, SRV-6
TEST(Coalesce, FlightThatBeganBeforeAWriteTakesNoNewcomers) {
  ScriptedOrigin origin;
  Gate gate;
  std::atomic<int> n{0};
  origin.answer("/x", [&](Request const& request) {
    if (request.method == "POST") return respond(200, {}, "written");
    if (n++ == 0) return gated(gate, {{"Cache-Control", "max-age=60"}}, "old");
    return respond(200, {{"Cache-Control", "max-age=60"}}, "new");
  });
  Weir weir(origin);
  Client early(weir.port());
  early.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  ASSERT_TRUE(origin.waits_for_calls(1));
  EXPECT_EQ(Client(weir.port()).request("POST", "/x", {}, "data").body, "written");
  EXPECT_EQ(get(weir.port(), "/x").body, "new");
  EXPECT_EQ(early.read().body, "new");  // the first usable head of any fetch in the slot answers all who wait (COA-4)
  gate.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/x").body, "new");
  EXPECT_EQ(weir.metric("weir_not_stored_total{reason=\"invalidated\"}"), 1);
}

// COA-5, COA-6: an error goes to everyone at once and is not remembered.
TEST(Coalesce, ErrorGoesToEveryoneAtOnce) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", {Script().wait(gate).head(500, {{"Content-Length", "4"}}).body("oops"),
                       respond(200, {{"Cache-Control", "max-age=60"}}, "fine")});
  Weir weir(origin);
  Burst burst(weir.port(), 200);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(200));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{500, 200}}));
  for (auto const& response : burst.responses()) EXPECT_EQ(response.body, "oops");
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(get(weir.port(), "/x").body, "fine");
}

// COA-17
TEST(Coalesce, AnswerThatIsStaleOnArrivalIsSharedWithThoseWhoWaited) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", gated(gate, {{"Cache-Control", "no-cache"}, {"ETag", "\"v\""}}, "body"));
  Weir weir(origin);
  Burst burst(weir.port(), 50);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(50));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 50}}));
  EXPECT_EQ(origin.calls(), 1U);
  get(weir.port(), "/x");
  EXPECT_EQ(origin.calls(), 2U);
}

}  // namespace
}  // namespace weir::test
