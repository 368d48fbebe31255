// What one client, one operator or one moment of the origin does, and that those beside it do not pay for it.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/raw_origin.hpp"
#include "support/burst.hpp"
#include "support/gate.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Script gated(Gate const& gate, Fields const& fields, std::string const& body, int status = 200) {
  auto all = fields;
  all.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(status, all).body(body);
}

// COA-1, SRV-6, COA-14: a write while many wait takes what they get out of the store, and lets none of them loose.
TEST(Bystanders, AWriteDuringAFetchLetsNobodyLoose) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", [&, calls = std::make_shared<std::atomic<int>>(0)](Request const& request) {
    if (request.method == "POST") return respond(204);
    return calls->fetch_add(1) == 0 ? gated(gate, {max_age(60)}, "before") : respond(200, {max_age(60)}, "after");
  });
  Weir weir(origin, plain);
  Burst burst(weir.port(), 40);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(40));
  EXPECT_EQ(Client(weir.port()).request("POST", "/x").status, 204);
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) EXPECT_EQ(response.body, "before");
  EXPECT_EQ(origin.calls(), 2U);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.metric(R"(weir_not_stored_total{reason="invalidated"})"), 1);
  EXPECT_EQ(get(weir.port(), "/x").body, "after");
}

// KEY-6, COA-5, MODE-1: who waits when an operator says bypass gets an own variant or asks for it.
TEST(Bystanders, BypassGivesNobodyAnothersVariant) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const& request) {
    auto const language = request.value("Accept-Language");
    return gated(gate, {max_age(60), {"Vary", "Accept-Language"}}, "in " + language);
  });
  Weir weir(origin, plain);
  std::vector<std::string> const languages{"de", "fr", "en", "de"};
  Burst burst(weir.port(), languages.size());
  burst.send_each([&](std::size_t client) { return write_request("GET", "/x", {{"Accept-Language", languages[client]}}); });
  ASSERT_TRUE(weir.waits_for_waiters(languages.size()));
  weir.daemon().shared().mode.set(cache::Mode::bypass, base::Clock::now() + 1min);
  gate.open();
  burst.collect();
  auto const responses = burst.responses();
  for (std::size_t i = 0; i < languages.size(); ++i) EXPECT_EQ(responses[i].body, "in " + languages[i]);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.entries(), 0U);
}

// STO-5: a range or a condition of one client leaves no marker for the others.
TEST(Bystanders, AClientsOwnConditionsLeaveNoMarker) {
  struct Row {
    Field condition;
    int status;
  };
  for (auto const& [condition, status] :
       {Row{{"Range", "bytes=0-0"}, 206}, Row{{"If-None-Match", "\"e\""}, 304}, Row{{"Range", "bytes=99-"}, 416}}) {
    ScriptedOrigin origin;
    Gate gate;
    origin.answer("/x", {respond(status, {{"ETag", "\"e\""}, {"Content-Range", "bytes 0-0/2"}}, status == 206 ? "o" : ""),
                         gated(gate, {max_age(60), {"ETag", "\"e\""}}, "ok")});
    Weir weir(origin, plain);
    auto const alone = get(weir.port(), "/x", {condition, {"Cache-Control", "no-store"}});
    EXPECT_EQ(alone.status, status) << alone;
    Burst burst(weir.port(), 10);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(10)) << condition;
    gate.open();
    burst.collect();
    EXPECT_EQ(origin.calls(), 2U);
  }
}

// COA-9, STL-2: what outgrows its bound before anybody was told of it is whole for all the same.
TEST(Bystanders, AHeadThatIsHeldBackIsToldBeforeItsBodyOutgrows) {
  ScriptedOrigin origin;
  std::string const body(200'000, 'y');
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=1, stale-if-error=600"}}, "x"),
                       respond_chunked(200, {{"Cache-Control", "max-age=1, stale-if-error=600"}}, {body})});
  Weir weir(origin, plain + "storable: {max_object: 32KiB}\n");
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  weir.turn(2s);
  auto const answer = get(weir.port(), "/x");
  EXPECT_TRUE(answer.complete && answer.body == body) << answer.body.size();
}

// STL-3, COA-9: what may not stand in holds nothing back.
TEST(Bystanders, AnInvalidatedEntryHoldsNoHeadBack) {
  ScriptedOrigin origin;
  Gate rest;
  Fields const fields{{"Cache-Control", "max-age=60, stale-if-error=600"}};
  auto const slow = Script().head(200, {fields[0], {"Content-Length", "4"}}).body("be").wait(rest).body("gu");
  origin.answer("/x", [slow, fields, calls = std::make_shared<std::atomic<int>>(0)](Request const& request) {
    if (request.method == "POST") return respond(204);
    return calls->fetch_add(1) == 0 ? respond(200, fields, "x") : slow;
  });
  Weir weir(origin, plain + "coalesce: {hold_time: 1m}\n");
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").body, "x");
  EXPECT_EQ(client.request("POST", "/x").status, 204);
  client.send_request("GET", "/x");
  EXPECT_EQ(client.read_at_least(2).body, "be");
  rest.open();
  EXPECT_EQ(client.read().body, "begu");
}

// COA-12, REQ-2: nothing comes behind the body of a GET.
TEST(Bystanders, AKeyedBodyOfAGetIsTheLastOfItsConnection) {
  RawOrigin origin;
  Weir weir(origin.url(), plain + "sites: [{origin: default, routes: [{path: \"/x\", collapse: {key_body: true}}]}]\n");
  Client client(weir.port());
  client.send_request("GET", "/x", {}, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n");
  auto connection = origin.accept();
  auto const head = read_until(connection, "\r\n\r\n");
  EXPECT_NE(head.find("\r\nConnection: close\r\n"), std::string::npos) << head;
  connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=60\r\n\r\nok");
  EXPECT_EQ(client.read().body, "ok");
  expect_on_another(origin, client, "/victim");
}

// CB-1, REL-3, REQ-3: uploads that clients break off say nothing of the origin.
TEST(Bystanders, ABrokenUploadIsNoFailureOfTheOrigin) {
  RawOrigin origin;
  Weir weir(origin.url(), "breaker: {min_requests: 2}\n");
  for (int i = 0; i < 6; ++i) {
    Client client(weir.port());
    client.send_request("POST", "/x", {{"Content-Length", "1000"}});
    client.send("abc");
    auto connection = origin.accept();
    read_until(connection, "abc");
    connection.send_all("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    client.read_at_least(5);
    client.close();
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
  EXPECT_EQ(weir.metric(R"(weir_breaker_transitions_total{to="open"})"), 0);
  EXPECT_EQ(weir.metric(R"(weir_origin_servers{state="in"})"), 1);
  EXPECT_EQ(weir.metric(R"(weir_origin_fetches_total{class="bypass",result="abandoned"})"), 6);
}

// COA-2: who comes by while a fetch goes on alone reads on as if nobody had left.
TEST(Bystanders, WhoJoinsAfterTheFirstLeftHasAllOfTheTime) {
  ScriptedOrigin origin;
  Gate rest;
  origin.answer("/x", Script().head(200, {max_age(60), {"Content-Length", "10"}}).body("12345").wait(rest).body("67890"));
  Weir weir(origin, plain + "timeouts: {origin: 5s, stream_idle: 1m}\n");
  Client first(weir.port());
  first.send_request("GET", "/x");
  first.read_at_least(5);
  first.reset();
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_client_connections") == 0; }));
  weir.turn(2s);
  Client second(weir.port());
  second.send_request("GET", "/x");
  second.read_at_least(5);
  weir.turn(10s);
  rest.open();
  EXPECT_EQ(second.read().body, "1234567890");
  EXPECT_EQ(origin.calls(), 1U);
}

// KEY-5, COA-5: an error page is for those who take its coding; the others are told of the error.
TEST(Bystanders, AnErrorIsToldInACodingThatWasAskedFor) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const& request) {
    bool const coded = request.value("Accept-Encoding").find("gzip") != std::string::npos;
    return gated(gate, coded ? Fields{{"Content-Encoding", "gzip"}} : Fields{}, coded ? "packed" : "plain", 503);
  });
  Weir weir(origin, plain + "negative: {ttl: 0s}\n");
  Client packed(weir.port()), also(weir.port()), unpacked(weir.port());
  packed.send_request("GET", "/x", {{"Accept-Encoding", "gzip"}});
  ASSERT_TRUE(weir.waits_for_waiters(1));
  also.send_request("GET", "/x", {{"Accept-Encoding", "gzip"}});
  unpacked.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(3));
  gate.open();
  EXPECT_EQ(packed.read().body, "packed");
  EXPECT_EQ(also.read().body, "packed");
  auto const told = unpacked.read();
  EXPECT_EQ(told.status, 503);
  EXPECT_FALSE(told.has("Content-Encoding"));
  EXPECT_EQ(told.body.find("packed"), std::string::npos);
  EXPECT_EQ(origin.calls(), 1U);
}

}  // namespace
}  // namespace weir::test
