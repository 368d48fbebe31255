// What a POST leaves in the store and what a forwarded HEAD says of it. SRV-4, SRV-6.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/weir.hpp"
#include "support/client.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields stands_for(std::string const& location) { return {max_age(60), {"Content-Location", location}, {"ETag", "\"p\""}}; }

// SRV-6: the answer replaces what was stored, which its own invalidation has made invalid.
TEST(Post, AnswerIsStoredForLaterGets) {
  ScriptedOrigin origin;
  origin.answer("/x?a=1", {respond(200, {max_age(60)}, "old"), respond(200, stands_for("/x?a=1"), "posted")});
  Weir weir(origin);
  Client client(weir.port());
  EXPECT_EQ(client.get("/x?a=1").body, "old");
  EXPECT_EQ(client.request("POST", "/x?a=1", {}, "form").body, "posted");
  ASSERT_TRUE(weir.waits_until_no_flights());
  auto const hit = client.get("/x?a=1");
  EXPECT_EQ(hit.body, "posted");
  EXPECT_TRUE(hit.value("Cache-Status").starts_with("Weir; hit")) << hit;
  EXPECT_EQ(client.request("HEAD", "/x?a=1").value("ETag"), "\"p\"");
  EXPECT_EQ(client.request("POST", "/x?a=1", {}, "form").body, "posted") << "a POST is never answered from the store";
  EXPECT_EQ(origin.calls("/x?a=1"), 3U);
}

// What does not say so, or was said to somebody, is not stored.
TEST(Post, AnswerIsStoredOnlyIfItStandsForItsUrl) {
  ScriptedOrigin origin;
  origin.answer("/none", respond(200, {max_age(60)}, "x"));
  origin.answer("/other", respond(200, stands_for("/else"), "x"));
  origin.answer("/elsewhere", respond(200, stands_for("http://other.test/elsewhere"), "x"));
  origin.answer("/created", respond(201, stands_for("/created"), "x"));
  origin.answer("/heuristic", respond(200, {{"Content-Location", "/heuristic"}, {"Last-Modified", http_date(-3600s)}}, "x"));
  origin.answer("/cookie", respond(200, stands_for("/cookie"), "x"));
  origin.answer("/encoded",
                respond(200, {max_age(60), {"Content-Location", "/encoded"}, {"Content-Encoding", "zstd"}}, "x"));
  origin.answer("/account/x", respond(200, stands_for("/account/x"), "x"));
  Weir weir(origin, "sites: [{routes: [{path: \"/account/*\", cache: off}]}]\n");
  Client client(weir.port());
  for (std::string const path :
       {"/none", "/other", "/elsewhere", "/created", "/heuristic", "/cookie", "/encoded", "/account/x"}) {
    client.request("POST", path, {{"Cookie", path == "/cookie" ? "_ga=1" : ""}, {"Accept-Encoding", "zstd"}}, "form");
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.entries(), 0U) << path;
  }
}

// COA-14: another change while the POST is under way overrules what it brings.
TEST(Post, AnswerDoesNotSurviveALaterChange) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer(
      "/x", {Script().head(200, {max_age(60), {"Content-Location", "/x"}, {"Content-Length", "4"}}).wait(gate).body("post"),
             respond(204), respond(200, {max_age(60)}, "new")});
  Weir weir(origin);
  Client slow(weir.port());
  slow.send_request("POST", "/x", {}, "form");
  slow.read_at_least(0);
  EXPECT_EQ(Client(weir.port()).request("DELETE", "/x").status, 204);
  gate.open();
  EXPECT_EQ(slow.read().body, "post");
  EXPECT_EQ(get(weir.port(), "/x").body, "new");
}

// SRV-4: on a marker a HEAD goes out as it came; its answer freshens the stale entry beside the marker.
TEST(Head, ForwardedFreshensWhatIsStored) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {max_age(10), {"ETag", "\"a\""}, {"X-A", "1"}}, "body"),
                       respond(200, {{"Cache-Control", "private"}}, "mine"),
                       Script().head(200, {max_age(60), {"ETag", "\"a\""}, {"X-A", "2"}, {"Content-Length", "4"}})});
  Weir weir(origin, plain);
  Client client(weir.port());
  client.get("/x");
  weir.turn(11s);
  EXPECT_EQ(client.get("/x").body, "mine");
  EXPECT_EQ(client.request("HEAD", "/x").status, 200);
  EXPECT_EQ(origin.last_request().method, "HEAD");
  auto const hit = client.get("/x");
  EXPECT_EQ(hit.body, "body");
  EXPECT_EQ(hit.value("X-A"), "2");
  EXPECT_EQ(hit.value("Cache-Status"), "Weir; hit; ttl=60");
  EXPECT_EQ(origin.calls("/x"), 3U);
}

// SRV-4: one about another representation makes what is stored stale.
TEST(Head, ForwardedMakesAnotherRepresentationStale) {
  ScriptedOrigin origin;
  Gate get_gate, head_gate;
  origin.answer("/x",
                {respond(200, {{"Cache-Control", "private"}}, "mine"),
                 Script().wait(get_gate).head(200, {max_age(60), {"ETag", "\"a\""}, {"Content-Length", "4"}}).body("body"),
                 Script().wait(head_gate).head(200, {max_age(60), {"ETag", "\"b\""}, {"Content-Length", "4"}}),
                 respond(200, {max_age(60), {"ETag", "\"b\""}}, "next")});
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  Client getting(weir.port()), heading(weir.port());
  getting.send_request("GET", "/x");
  ASSERT_TRUE(origin.waits_for_calls(2));
  heading.send_request("HEAD", "/x");
  ASSERT_TRUE(origin.waits_for_calls(3));
  get_gate.open();
  EXPECT_EQ(getting.read().body, "body");
  EXPECT_EQ(getting.get("/x").value("Cache-Status"), "Weir; hit; ttl=60");
  head_gate.open();
  EXPECT_EQ(heading.read().value("ETag"), "\"b\"");
  EXPECT_EQ(getting.get("/x").body, "next");
  EXPECT_EQ(origin.last_request().value("If-None-Match"), "\"a\"");
}

// STO-6: but not what was asked for after it.
TEST(Head, ForwardedLeavesWhatIsNewer) {
  ScriptedOrigin origin;
  Gate head_gate;
  origin.answer("/x", {respond(200, {{"Cache-Control", "private"}}, "mine"),
                       Script().wait(head_gate).head(200, {max_age(60), {"ETag", "\"b\""}, {"Content-Length", "4"}}),
                       respond(200, {max_age(60), {"ETag", "\"a\""}}, "body")});
  Weir weir(origin, plain);
  Client getting(weir.port()), heading(weir.port());
  getting.get("/x");
  heading.send_request("HEAD", "/x");
  ASSERT_TRUE(origin.waits_for_calls(2));
  EXPECT_EQ(getting.get("/x").body, "body");
  head_gate.open();
  EXPECT_EQ(heading.read().value("ETag"), "\"b\"");
  EXPECT_EQ(getting.get("/x").value("Cache-Status"), "Weir; hit; ttl=60");
}

// SRV-4, STL-1: stale already, it is no younger for what a HEAD says.
TEST(Head, MakesNothingYounger) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=1, stale-while-revalidate=2"}, {"ETag", "\"a\""}}, "old"),
                       Script().head(200, {max_age(60), {"ETag", "\"b\""}, {"Content-Length", "3"}}),
                       respond(200, {max_age(60), {"ETag", "\"b\""}}, "new")});
  Weir weir(origin, plain + "sites: [{origin: default, routes: [{path: \"/x\", collapse: off}]}]\n");
  Client client(weir.port());
  client.get("/x");
  weir.turn(6s);
  EXPECT_EQ(client.request("HEAD", "/x").value("ETag"), "\"b\"");
  EXPECT_EQ(origin.last_request().method, "HEAD");
  EXPECT_EQ(client.get("/x").body, "new");
}

// SRV-4, PRG-1: what was purged stays so, whatever a HEAD that went out alone says of it.
TEST(Head, ForwardedDoesNotUndoAPurge) {
  ScriptedOrigin origin;
  Field const anyone{"Cache-Control", "public, max-age=600"};
  origin.answer("/x", {respond(200, {anyone, {"Surrogate-Key", "red"}}, "old"),
                       Script().head(200, {anyone, {"Content-Length", "3"}}), respond(200, {anyone}, "new")});
  Weir weir(origin, plain);
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").body, "old");
  auto const purged =
      Client(weir.admin_port())
          .request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, R"({"tags":["red"],"mode":"hard"})");
  EXPECT_EQ(purged.status, 200);
  EXPECT_EQ(client.request("HEAD", "/x", {{"Cookie", "session=1"}}).status, 200);
  EXPECT_EQ(origin.last_request().method, "HEAD");
  EXPECT_EQ(client.get("/x").body, "new");
  EXPECT_EQ(origin.calls("/x"), 3U);
}

}  // namespace
}  // namespace weir::test
