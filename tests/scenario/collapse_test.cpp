// COA-12: reads that are not GET, collapsed by their bodies; and routes that share nothing, or less.
#include <gtest/gtest.h>

#include <atomic>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field const type{"Content-Type", "application/json"};
Field const chunked{"Transfer-Encoding", "chunked"};
std::string const query = R"({"q": "shoes"})";

std::string routes(std::string const& collapse) {
  return "sites: [{routes: [{path: /search*, methods: [POST, QUERY, GET], collapse: {key_body: true" + collapse + "}}]}]\n";
}
std::string const opted_in = routes("") + "key: {headers: [x-tenant]}\n";

std::string post(std::string_view path, std::string_view body, Fields fields = {type}) {
  return write_request("POST", path, fields, body);
}

Response send(Weir const& weir, std::string_view body, std::string_view method = "POST", Fields const& fields = {type}) {
  return Client(weir.port()).request(method, "/search", fields, body);
}

Script echo(Request const& request) { return respond(200, {}, request.method + ' ' + request.body); }

// COA-12, COA-1, OBS-1: also where the answer says nothing of freshness, and until its last byte.
TEST(Collapse, EqualPostsAtOnceAreOneCall) {
  ScriptedOrigin origin;
  Gate gate, rest;
  origin.answer("/search", Script().wait(gate).head(200, {{"Content-Length", "10"}}).body("hello").wait(rest).body("world"));
  Weir weir(origin, opted_in);
  Burst burst(weir.port(), 100);
  burst.send(post("/search", query), "POST");
  ASSERT_TRUE(weir.waits_for_waiters(100));
  gate.open();
  Client late(weir.port());
  ASSERT_TRUE(eventually([&] { return weir.daemon().flights().waiting() == 0; }));
  late.send(write_request("POST", "/search", {type, chunked}) + "e\r\n" + query + "\r\n0\r\n\r\n");
  EXPECT_EQ(late.read_at_least(5).body, "hello");
  rest.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 100}}));
  for (auto const& response : burst.responses()) ASSERT_EQ(response.body, "helloworld");
  EXPECT_EQ(origin.calls("/search"), 1U);
  EXPECT_EQ(weir.coalesced(), 100U);
  auto const request = origin.requests("/search").front();
  EXPECT_TRUE(request.method == "POST" && request.body == query && request.value("Content-Type") == type.value) << request;
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_FALSE(send(weir, query).body.empty());
  EXPECT_EQ(origin.calls("/search"), 2U);
}

// COA-12, KEY-4: what differs in body, type, coding, tenant, method or path is another question.
TEST(Collapse, OtherQuestionsAreTheirOwn) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const& request) {
    auto const body = request.target + request.method + request.value("X-Tenant") + request.value("Content-Type") +
                      request.value("Content-Encoding") + request.body;
    return Script().wait(gate).head(200, {{"Content-Length", std::to_string(body.size())}}).body(body);
  });
  Weir weir(origin, opted_in);
  std::array<std::string, 7> const questions{
      post("/search", query),
      post("/search", query + ' '),
      post("/search", query, {type, {"X-Tenant", "a"}}),
      post("/search", query, {{"Content-Type", "text/plain"}}),
      post("/search", query, {type, {"Content-Encoding", "zstd"}}),
      post("/search/more", query),
      write_request("QUERY", "/search", {type}, query),
  };
  Burst burst(weir.port(), 70);
  burst.send_each([&](std::size_t i) { return questions[i % questions.size()]; }, "POST");
  ASSERT_TRUE(weir.waits_for_waiters(70));
  gate.open();
  burst.collect();
  EXPECT_EQ(origin.calls(), questions.size());
  EXPECT_EQ(weir.coalesced(), 70 - questions.size());
  auto const responses = burst.responses();
  for (std::size_t i = 0; i < responses.size(); ++i) ASSERT_EQ(responses[i].body, responses[i % questions.size()].body);
  EXPECT_EQ(responses[2].body, "/searchPOSTaapplication/json" + query);
}

// COA-12, FWD-4: nobody opted in: each goes on its own, and so does a GET with a body.
TEST(Collapse, WithoutAWordNothingIsCollapsed) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {{"Cache-Control", "max-age=60"}}, request.body); });
  Weir weir(origin, opted_in);
  for (std::string const method : {"POST", "GET", "QUERY"}) {
    Burst burst(weir.port(), 100);
    burst.send(write_request(method, "/other", {type}, query), method);
    burst.collect();
    EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 100}}));
  }
  EXPECT_EQ(origin.calls(), 300U);
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(weir.coalesced(), 0U);
}

// COA-12: for `ttl` after the flight, whatever the answer says of freshness, and not a moment longer.
TEST(Collapse, AnswersAreKeptForTheirTtl) {
  for (auto const* const says : {"max-age=60", "no-cache", "max-age=0, must-revalidate", "s-maxage=5"}) {
    for (std::string const method : {"POST", "QUERY", "GET"}) {
      ScriptedOrigin origin;
      origin.answer("/search", [&](Request const& request) {
        return respond(200, {{"Cache-Control", says}, {"ETag", "\"v\""}}, request.method + ' ' + request.body);
      });
      Weir weir(origin, routes(", ttl: 1m"));
      for (int i = 0; i < 3; ++i) EXPECT_EQ(send(weir, query, method).body, method + ' ' + query) << says;
      EXPECT_EQ(origin.calls(), 1U) << says << method;
      EXPECT_TRUE(cache_status(send(weir, query, method)).hit());
      weir.turn(61s);
      auto const again = send(weir, query, method);
      EXPECT_FALSE(cache_status(again).hit());
      EXPECT_EQ(again.body, method + ' ' + query);
      EXPECT_EQ(origin.calls(), 2U);
      EXPECT_FALSE(origin.last_request().has("If-None-Match"));
    }
  }
}

// COA-12: what is one client's is neither kept nor shared.
TEST(Collapse, PrivateAnswersAreNeitherKeptNorShared) {
  for (Field const& field : {Field{"Cache-Control", "private"}, Field{"Cache-Control", "no-store"},
                             Field{"Set-Cookie", "id=1"}, Field{"Set-Cookie", "kept=1"}}) {
    ScriptedOrigin origin;
    Gate gate;
    std::atomic<int> number{0};
    origin.answer("/search", [&](Request const&) {
      auto const body = std::to_string(number.fetch_add(1));
      return Script().wait(gate).head(200, {field, {"Content-Length", std::to_string(body.size())}}).body(body);
    });
    Weir weir(origin, routes(", ttl: 1m") + (field.value == "kept=1" ? "storable: {set_cookie: store}\n" : ""));
    Burst burst(weir.port(), 8);
    burst.send(post("/search", query), "POST");
    ASSERT_TRUE(weir.waits_for_waiters(8));
    gate.open();
    burst.collect();
    EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 8}}));
    EXPECT_EQ(send(weir, query).status, 200);
    EXPECT_EQ(origin.calls(), 9U) << field;
    EXPECT_EQ(weir.coalesced(), 0U);
    EXPECT_EQ(weir.entries(), 0U);
  }
}

// COA-12, COA-5: errors go to all who asked at once; they are kept only where the route says so.
TEST(Collapse, ErrorsAreSharedAndKeptOnlyOnDemand) {
  for (int const status : {404, 422, 500, 503}) {
    for (bool const keeps : {false, true}) {
      ScriptedOrigin origin;
      Gate gate;
      origin.answer("/search", Script().wait(gate).head(status, {{"Content-Length", "2"}}).body("no"));
      Weir weir(origin, routes(std::string(", ttl: 1m") + (keeps ? ", errors: true" : "")));
      Burst burst(weir.port(), 20);
      burst.send(post("/search", query), "POST");
      ASSERT_TRUE(weir.waits_for_waiters(20));
      gate.open();
      burst.collect();
      EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{status, 20}}));
      EXPECT_EQ(origin.calls(), 1U) << status;
      ASSERT_TRUE(weir.waits_until_no_flights());
      EXPECT_EQ(send(weir, query).status, status);
      EXPECT_EQ(origin.calls(), keeps ? 1U : 2U) << status;
    }
  }
}

// COA-12, REQ-2: a body over `max_body` is forwarded alone, whole and in its order, whatever its framing.
TEST(Collapse, LargeBodiesGoAlone) {
  ScriptedOrigin origin;
  origin.answer("/search", [](Request const& request) { return respond(200, {}, request.body); });
  Weir weir(origin, routes(", ttl: 1m"));
  std::string body(65'537, 'b');
  for (std::size_t i = 0; i < body.size(); i += 100) body.replace(i, 5, std::to_string(10'000 + i / 100));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(send(weir, body).body == body);
    Client client(weir.port());
    client.send_request("POST", "/search", {type, chunked});
    client.send("8000\r\n" + body.substr(0, 0x8000) + "\r\n8000\r\n" + body.substr(0x8000, 0x8000) + "\r\n");
    client.send("1\r\n" + body.substr(0x10000) + "\r\n0\r\n\r\n");
    EXPECT_TRUE(client.read().body == body);
    EXPECT_TRUE(client.request("POST", "/search", {type}, body).body == body);  // the connection goes on
  }
  EXPECT_EQ(origin.calls(), 6U);
  EXPECT_EQ(weir.entries(), 0U);
  auto const edge = body.substr(0, 65'536);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(send(weir, edge).body == edge);
  EXPECT_EQ(origin.calls(), 7U);
}

// COA-12, REQ-2: whoever waits for a 100 gets it before the origin is asked, and the origin is not asked for one.
TEST(Collapse, ContinueIsSaidBeforeTheBodyIsRead) {
  ScriptedOrigin origin;
  origin.answer("/search", echo);
  Weir weir(origin, opted_in);
  for (bool const large : {false, true}) {
    Client client(weir.port());
    client.send_request("POST", "/search", {type, chunked, {"Expect", "100-continue"}});
    EXPECT_EQ(client.read_exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(origin.calls(), large ? 1U : 0U);
    std::string const body(large ? 0x20000 : 5, 'b');
    client.send((large ? "20000\r\n" : "5\r\n") + body + "\r\n0\r\n\r\n");
    EXPECT_TRUE(client.read().body == "POST " + body);
    EXPECT_FALSE(origin.last_request().has("Expect"));
  }
  EXPECT_TRUE(origin.problems().empty());
}

// COA-12, REQ-3: a body that breaks while it is read is its client's own affair.
TEST(Collapse, BrokenBodiesNeverReachTheOrigin) {
  ScriptedOrigin origin;
  origin.answer("/search", echo);
  Weir weir(origin, opted_in);
  Client malformed(weir.port()), slow(weir.port()), gone(weir.port());
  malformed.send_request("POST", "/search", {type, chunked});
  malformed.send("nonsense\r\n");
  EXPECT_EQ(malformed.read().status, 400);
  gone.send_request("POST", "/search", {type, {"Content-Length", "10"}});
  gone.send("hello");
  gone.reset();
  slow.send_request("POST", "/search", {type, {"Content-Length", "10"}});
  slow.send("hello");
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() <= 2; }));
  ASSERT_TRUE(eventually([&] {
    weir.turn(31s);
    return slow.has_answer();
  }));
  EXPECT_EQ(slow.read().status, 408);
  EXPECT_EQ(origin.calls(), 0U);
}

// COA-12, REL-2, SRV-6: such a request is a read: repeated on a dead connection, and no reason to forget anything.
TEST(Collapse, OptedInRequestsAreSafeAndIdempotent) {
  ScriptedOrigin origin;
  std::atomic<int> number{0};
  origin.answer("/search", [&](Request const& request) {
    if (request.method == "GET") return respond(200, {{"Cache-Control", "max-age=60"}}, "page");
    return number.fetch_add(1) == 0 ? close() : respond(200, {}, request.body);
  });
  Weir weir(origin, opted_in);
  Client client(weir.port());  // one worker, so one pool
  EXPECT_EQ(client.get("/search").body, "page");
  weir.turn(2s);  // too old for a request that is not idempotent
  EXPECT_EQ(client.request("POST", "/search", {type}, query).body, query);
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"retry\",result=\"ok\"}"), 1);
  EXPECT_EQ(client.request("POST", "/search", {type}, std::string(100'000, 'b')).body.size(), 100'000U);
  EXPECT_TRUE(cache_status(client.get("/search")).hit());
}

// COA-12: `collapse: off`: everyone has an answer of their own, and what may be stored is.
TEST(Collapse, OffMeansOneFetchEach) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/random",
                Script().wait(gate).head(200, {{"Cache-Control", "max-age=60"}, {"Content-Length", "1"}}).body("r"));
  Weir weir(origin, "sites: [{routes: [{path: /random, collapse: off}]}]\n");
  Burst burst(weir.port(), 12);
  burst.get("/random");
  ASSERT_TRUE(origin.waits_for_calls(12));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 12}}));
  EXPECT_EQ(weir.coalesced(), 0U);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(get(weir.port(), "/random")).hit());
  EXPECT_EQ(origin.calls(), 12U);
}

// COA-17: `collapse: strict`: an answer that is stale on arrival is for one only, a 304 about such a one too.
TEST(Collapse, StrictSharesOnlyWhatIsFresh) {
  for (std::string const says : {"max-age=60", "no-cache"}) {
    ScriptedOrigin origin;
    Gate first, second;
    origin.answer("/x", [&](Request const& request) {
      bool const validates = request.has("If-None-Match");
      Fields fields{{"Cache-Control", says}, {"ETag", "\"v\""}};
      if (validates) return Script().wait(second).head(304, fields);
      fields.push_back({"Content-Length", "4"});
      return Script().wait(first).head(200, fields).body("body");
    });
    Weir weir(origin, "sites: [{routes: [{path: /x, collapse: strict}]}]\n");
    std::size_t const each = says == "no-cache" ? 10 : 1;
    Burst burst(weir.port(), 10);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(10));
    first.open();
    burst.collect();
    EXPECT_EQ(origin.calls(), each);
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(61s);
    Burst again(weir.port(), 10);
    again.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(10));
    second.open();
    again.collect();
    for (auto const& response : again.responses()) EXPECT_EQ(response.body, "body");
    EXPECT_EQ(origin.calls(), each + each);
  }
}

}  // namespace
}  // namespace weir::test
