// HDR-1: what a route sets and removes.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string const routes =
    "sites:\n"
    "  - origin: default\n"
    "    routes:\n"
    "      - path: /plain\n"
    "      - path: /off\n"
    "        cache: off\n"
    "        headers: {request: {set: {X-Route: off}, remove: [X-Drop]}, response: {remove: [X-Secret]}}\n"
    "      - path: /query\n"
    "        methods: [QUERY]\n"
    "        collapse: {key_body: true}\n"
    "        headers: {request: {set: {X-Tenant: t1}, remove: [X-Drop]}}\n"
    "      - path: /*\n"
    "        key: {headers: [x-tenant]}\n"
    "        headers:\n"
    "          request: {set: {X-Tenant: t1, X-Forwarded-Port: \"443\"}, remove: [X-Drop, Cookie, Accept-Language]}\n"
    "          response: {set: {Strict-Transport-Security: max-age=9, Server: weir}, remove: [X-Secret]}\n";

void echo(ScriptedOrigin& origin) {
  origin.answer_rest([](Request const& request) {
    return respond(200,
                   {max_age(60), {"ETag", "\"e\""}, {"Server", "origin"}, {"X-Secret", "s"}, {"Vary", "Accept-Language"}},
                   request.value("X-Tenant") + request.value("X-Drop") + request.value("Cookie") +
                       request.value("Accept-Language") + request.value("X-Forwarded-Port") + request.value("X-Route"));
  });
}

void expect_edited(Response const& response) {
  EXPECT_EQ(response.value("Strict-Transport-Security"), "max-age=9") << response;
  EXPECT_EQ(response.value("Server"), "weir");
  EXPECT_FALSE(response.has("X-Secret"));
}

// HDR-1: before the key is built: what differs in removed fields is one request, without credentials.
TEST(Edits, RequestsAreEditedBeforeTheKeyIsBuilt) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, plain + routes);
  Client client(weir.port());
  for (int i = 0; i < 3; ++i) {
    auto const n = std::to_string(i);
    auto const response = client.get("/x", {{"X-Tenant", n}, {"x-drop", n}, {"Cookie", "s=" + n}, {"Accept-Language", n}});
    EXPECT_EQ(response.body, "t1443");
    EXPECT_EQ(cache_status(response).hit(), i > 0);
    expect_edited(response);
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(client.get("/plain", {{"X-Tenant", "a"}, {"X-Drop", "b"}}).body, "ab");
  EXPECT_EQ(client.get("/plain").value("X-Secret"), "s");
}

// HDR-1, SRV-1, SRV-4: whatever form the answer takes, and the store keeps what the origin said.
TEST(Edits, EveryAnswerIsEdited) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, plain + routes);
  Client client(weir.port());
  Gate gate;
  origin.answer("/burst", Script()
                              .wait(gate)
                              .head(200, {max_age(60), {"X-Secret", "s"}, {"Server", "origin"}, {"Content-Length", "1"}})
                              .body("x"));
  Burst burst(weir.port(), 20);
  burst.get("/burst");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) expect_edited(response);
  client.get("/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  expect_edited(client.request("HEAD", "/x"));
  auto const not_modified = client.get("/x", {{"If-None-Match", "\"e\""}});
  EXPECT_EQ(not_modified.status, 304);
  expect_edited(not_modified);
  auto const part = client.get("/x", {{"Range", "bytes=0-1"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "t1");
  expect_edited(part);
  expect_edited(client.request("POST", "/x", {}, "body"));
  auto const off = client.get("/off", {{"X-Drop", "d"}});
  EXPECT_EQ(off.body, "off");
  EXPECT_FALSE(off.has("X-Secret"));
  EXPECT_EQ(off.value("Server"), "origin");
  EXPECT_EQ(client.get("/x").head.find("X-Secret"), std::string::npos);
}

// HDR-1, COA-14: a request that waited, and looks again, was edited once and for all.
TEST(Edits, LookingAgainKeepsTheEdits) {
  ScriptedOrigin origin;
  Weir weir(origin, plain + routes);
  Gate gate;
  origin.answer("/x", [&](Request const& request) {
    return Script()
        .wait(gate)
        .head(200, {{"Cache-Control", "private"}, {"Content-Length", "2"}, {"X-Secret", "s"}})
        .body(request.value("X-Tenant"));
  });
  Burst burst(weir.port(), 10);
  burst.get("/x", {{"X-Tenant", "abc"}, {"X-Drop", "d"}});
  ASSERT_TRUE(weir.waits_for_waiters(10));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) {
    EXPECT_EQ(response.body, "t1");
    expect_edited(response);
  }
  for (auto const& request : origin.requests()) EXPECT_FALSE(request.has("X-Drop"));
  EXPECT_EQ(origin.calls(), 10U);
}

// HDR-1, COA-12: a body that is read before the decision changes nothing.
TEST(Edits, KeyedBodiesAreEditedToo) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, plain + routes);
  Client client(weir.port());
  for (Fields const& fields :
       {Fields{{"X-Drop", "d"}, {"Expect", "100-continue"}, {"X-Last", "l"}}, Fields{{"X-Drop", "d"}}}) {
    EXPECT_EQ(client.request("QUERY", "/query", fields, "body").body, "t1");
    EXPECT_FALSE(origin.last_request().has("X-Drop") || origin.last_request().has("Expect"));
    EXPECT_EQ(origin.last_request().value("X-Last"), fields.size() == 3 ? "l" : "");
  }
}

}  // namespace
}  // namespace weir::test
