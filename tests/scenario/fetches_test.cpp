// One client request causes one fetch. What may cause a second one is named, and each name is a class of
// weir_origin_fetches_total. Whatever an origin does before its head, its client gets an answer.
#include <gtest/gtest.h>

#include <functional>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields const kept{{"Cache-Control", "max-age=60"}, {"ETag", "\"e\""}};

double fetches(Weir& weir, std::string const& why, std::string const& result = "ok") {
  return weir.metric("weir_origin_fetches_total{class=\"" + why + "\",result=\"" + result + "\"}");
}

// What came to the origin is what was counted.
void expect_counted(Weir& weir, ScriptedOrigin& origin, std::size_t calls) {
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.calls(), calls);
  EXPECT_EQ(weir.daemon().metrics().total_fetches(), calls);
}

// Whatever is asked and whatever is answered.
TEST(Fetches, OneForEachRequest) {
  struct Row {
    std::string name;
    Script answer;
    std::string method = "GET";
    Fields fields = {};
    std::string body = {};
  };
  std::string const large(2 << 20, 'x');
  for (auto const& row : std::vector<Row>{
           {"stored", respond(200, kept, "x")},
           {"not stored", respond(200, {{"Cache-Control", "no-store"}}, "x")},
           {"private", respond(200, {{"Cache-Control", "private"}}, "x")},
           {"too large", respond(200, kept, large)},
           {"outgrown", respond_chunked(200, kept, {large})},
           {"until it closes", respond_until_close(200, kept, "x")},
           {"Vary: *", respond(200, {{"Vary", "*"}}, "x")},
           {"an error", respond(500)},
           {"unavailable", respond(503, {{"Retry-After", "1"}})},
           {"a redirect", respond(302, {{"Location", "/y"}})},
           {"408", respond(408)},
           {"421", respond(421)},
           {"425", respond(425)},
           {"a 304 that nobody asked for", respond(304)},
           {"a part that nobody asked for", respond(206, {{"Content-Range", "bytes 0-0/9"}}, "x")},
           {"no answer", close()},
           {"a broken answer", Script().send("?\r\n\r\n").close()},
           {"half an answer", respond(200, kept, "x").close_after(60)},
           {"half a body", respond(200, {{"Cache-Control", "max-age=60"}}, std::string(500, 'x')).close_after(300)},
           {"HEAD", respond(200, kept, "x"), "HEAD"},
           {"a part", respond(200, kept, "0123456789"), "GET", {{"Range", "bytes=2-3"}}},
           {"parts", respond(200, kept, "0123456789"), "GET", {{"Range", "bytes=2-3, 5-6"}}},
           {"what is known", respond(200, kept, "x"), "GET", {{"If-None-Match", "\"e\""}}},
           {"credentials", respond(200, kept, "x"), "GET", {{"Authorization", "a"}}},
           {"no-store", respond(200, kept, "x"), "GET", {{"Cache-Control", "no-store"}}},
           {"POST", respond(200), "POST", {}, "body"},
           {"PUT that fails", close(), "PUT", {}, "body"},
           {"DELETE that fails", reset(), "DELETE"},
       }) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer("/x", row.answer);
    Weir weir(origin, "storable: {max_object: 1MiB}\n");
    Client(weir.port()).request(row.method, "/x", row.fields, row.body);
    expect_counted(weir, origin, 1);
  }
}

// REL-2: a connection of the pool turned out to be dead.
TEST(Fetches, Retry) {
  ScriptedOrigin origin;
  origin.answer("/warm", respond(200));
  origin.answer("/x", {close(), respond(200, kept, "x")});
  Weir weir(origin);
  Client client(weir.port());
  client.get("/warm");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(client.get("/x").body, "x");
  expect_counted(weir, origin, 3);
  EXPECT_EQ(fetches(weir, "miss", "broken"), 1);
  EXPECT_EQ(fetches(weir, "retry"), 1);
}

// REL-4: a shared body broke off and went on.
TEST(Fetches, Resume) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    if (!request.has("Range")) return Script().head(200, {kept[0], kept[1], {"Content-Length", "10"}}).body("01234").reset();
    return respond(206, {kept[1], {"Content-Range", "bytes 5-9/10"}}, "56789");
  });
  Weir weir(origin);
  EXPECT_EQ(get(weir.port(), "/x").body, "0123456789");
  expect_counted(weir, origin, 2);
  EXPECT_EQ(fetches(weir, "miss", "broken"), 1);
  EXPECT_EQ(fetches(weir, "resume"), 1);
}

// SRV-2: a 304 that does not fit what is stored.
TEST(Fetches, Mismatch) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, kept, "x"), respond(304, {{"ETag", "\"other\""}}), respond(200, kept, "y")});
  Weir weir(origin);
  get(weir.port(), "/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  weir.turn(61s);
  EXPECT_EQ(get(weir.port(), "/x").body, "y");
  expect_counted(weir, origin, 3);
  EXPECT_EQ(fetches(weir, "revalidate", "not-modified"), 1);
  EXPECT_EQ(fetches(weir, "mismatch"), 1);
}

// REL-2: and the origin has closed the connection behind it.
TEST(Fetches, MismatchOnAConnectionThatCloses) {
  ScriptedOrigin origin;
  origin.answer("/x",
                {respond(200, kept, "x"), Script().head(304, {{"ETag", "\"other\""}}).close(), respond(200, kept, "y")});
  Weir weir(origin);
  get(weir.port(), "/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  weir.turn(61s);
  EXPECT_EQ(get(weir.port(), "/x").body, "y");
  EXPECT_EQ(origin.calls(), 3U);
  EXPECT_EQ(fetches(weir, "retry"), 1);
}

// COA-3: who comes to a fetch that is overdue starts another.
TEST(Fetches, ReplacementByALateRequest) {
  ScriptedOrigin origin;
  Gate stuck;
  origin.answer("/x", {Script().wait(stuck).close(), respond(200, kept, "x")});
  Weir weir(origin, "coalesce: {follower_max_wait: 30s}");
  Client first(weir.port());
  first.send_request("GET", "/x");
  ASSERT_TRUE(origin.waits_for_calls(1));
  ASSERT_TRUE(weir.waits_for_waiters(1));
  weir.turn(12s);
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(first.read().body, "x");
  stuck.open();
  expect_counted(weir, origin, 2);
  EXPECT_EQ(fetches(weir, "replacement"), 1);
}

// COA-4: who waited too long for a fetch that is overdue starts another.
TEST(Fetches, Replacement) {
  ScriptedOrigin origin;
  Gate stuck;
  origin.answer("/x", {Script().wait(stuck).close(), respond(200, kept, "x")});
  Weir weir(origin);
  Client first(weir.port()), later(weir.port());
  first.send_request("GET", "/x");
  ASSERT_TRUE(origin.waits_for_calls(1));
  later.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(2));
  weir.turn(11s);
  EXPECT_EQ(first.read().body, "x");
  EXPECT_EQ(later.read().body, "x");
  stuck.open();
  expect_counted(weir, origin, 2);
  EXPECT_EQ(fetches(weir, "replacement"), 1);
  EXPECT_EQ(fetches(weir, "miss", "broken"), 1);
}

// SRV-3: a part was asked for, and the whole turned out to be too large to be kept.
TEST(Fetches, Range) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    if (request.has("Range")) return respond(206, {kept[1], {"Content-Range", "bytes 2-3/9000000000"}}, "23");
    return Script().head(200, {kept[0], kept[1], {"Content-Length", "9000000000"}}).body("0123").hang();
  });
  Weir weir(origin);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(get(weir.port(), "/x", {{"Range", "bytes=2-3"}}).body, "23");
    expect_counted(weir, origin, static_cast<std::size_t>(1 + i));
  }
  EXPECT_EQ(fetches(weir, "miss", "abandoned"), 1);
  EXPECT_EQ(fetches(weir, "range"), 1);
  EXPECT_EQ(fetches(weir, "pass"), 1) << "what is known to be too large is asked for once";
}

// COA-11: who waited too long for another node.
TEST(Fetches, Hedge) {
  Nodes nodes(2, "", "coalesce: {cluster: true, cluster_max_wait: 300ms}\n");
  Gate stuck;
  nodes.origin.answer("/x", {Script().wait(stuck).close(), respond(200, kept, "x")});
  Client first(nodes[0].port());
  first.send_request("GET", "/x");
  ASSERT_TRUE(nodes.origin.waits_for_calls(1));
  EXPECT_EQ(get(nodes[1].port(), "/x").body, "x");
  EXPECT_EQ(fetches(nodes[1], "hedge"), 1);
  stuck.open();
  first.read();
  EXPECT_EQ(nodes.origin.calls(), 2U);
}

// CB-1: the one that an open breaker lets through; and STL-1: what nobody waits for.
TEST(Fetches, ProbeAndBackground) {
  ScriptedOrigin origin;
  origin.answer("/swr", respond(200, {{"Cache-Control", "max-age=60, stale-while-revalidate=600"}}, "swr"));
  origin.answer("/x", {respond(503), respond(200, kept, "x")});
  Weir weir(origin, "breaker: {min_requests: 1}\n");
  get(weir.port(), "/swr");
  get(weir.port(), "/x");
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  weir.turn(61s);
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(get(weir.port(), "/swr").body, "swr");
  ASSERT_TRUE(origin.waits_for_calls(4));
  ASSERT_TRUE(weir.waits_until_no_flights());
  expect_counted(weir, origin, 4);
  EXPECT_EQ(fetches(weir, "miss", "shed"), 1);
  EXPECT_EQ(weir.metric(R"(weir_origin_fetch_seconds_count{class="miss"})"), 2);
  EXPECT_EQ(fetches(weir, "probe"), 1);
  EXPECT_EQ(fetches(weir, "background"), 1);
}

// LIM-1, OBS-2: what was refused by the limiter, or left its queue, is no call to the origin.
TEST(Fetches, WhatWasNotSentIsNotCounted) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) { return Script().wait(gate).head(200, {{"Content-Length", "0"}}); });
  Weir weir(origin, "limiter: {max_concurrent: 1, max_queue: 1, max_queue_wait: 30s}\n");
  Fields const alone{{"Authorization", "a"}};
  Client first(weir.port()), leaves(weir.port());
  first.send_request("GET", "/x", alone);
  ASSERT_TRUE(origin.waits_for_calls(1));
  leaves.send_request("GET", "/y", alone);
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 1; }));
  EXPECT_EQ(get(weir.port(), "/z", alone).status, 503);
  leaves.reset();
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 0; }));
  gate.open();
  EXPECT_EQ(first.read().status, 200);
  expect_counted(weir, origin, 1);
  EXPECT_EQ(fetches(weir, "pass", "shed"), 1);
  EXPECT_EQ(fetches(weir, "pass", "abandoned"), 0);
  EXPECT_EQ(weir.metric(R"(weir_origin_fetch_seconds_count{class="pass"})"), 1);
}

// STL-2, STL-3, OBS-1: an origin that breaks off before its head, wherever and whoever asked: 502, or 504 where it was too
// late, never a dropped connection, and the connection goes on where nothing of the request is left.
TEST(Fetches, BreakingOffBeforeTheHead) {
  std::vector<std::pair<std::string, Script>> const ends{
      {"at once", close()},
      {"by a reset", reset()},
      {"in the status line", Script().send("HTTP/1.1 2").close()},
      {"behind the status line", Script().send("HTTP/1.1 200 OK\r\n").reset()},
      {"in a field", Script().send("HTTP/1.1 200 OK\r\nContent-Length: 1").close()},
      {"before the blank line", Script().send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n").close()},
      {"behind 100", Script().send("HTTP/1.1 100 Continue\r\n\r\n").close()},
      {"behind early hints", Script().send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n").reset()},
      {"with nonsense", Script().send("nonsense\r\n\r\n").close()},
      {"with a body alone", Script().send("<html>").close()},
  };
  for (auto const& [name, end] : ends) {
    ScriptedOrigin origin;
    origin.answer("/x", end);
    origin.answer("/y", respond(200, {}, "y"));
    Weir weir(origin);
    Client client(weir.port());
    for (std::string const method : {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}) {
      SCOPED_TRACE(name + ' ' + method);
      auto const response = client.request(method, "/x");
      EXPECT_EQ(response.status, 502) << response;
      EXPECT_TRUE(response.complete);
      EXPECT_EQ(client.get("/y").body, "y");
    }
    auto const upload = client.request("POST", "/x", {}, std::string(100'000, 'u'));
    EXPECT_TRUE(upload.status == 502 && upload.complete) << name << upload;
  }
}

TEST(Fetches, SilenceBeforeTheHead) {
  for (std::string const method : {"GET", "HEAD", "POST"}) {
    for (std::string const begun : {"", "HTTP/1.1 200", "HTTP/1.1 102 Wait\r\n\r\n"}) {
      SCOPED_TRACE(method + ' ' + begun);
      ScriptedOrigin origin;
      origin.answer("/x", Script().send(begun).hang());
      origin.answer("/y", respond(200, {}, "y"));
      Weir weir(origin, "coalesce: {follower_max_wait: 60s}\n");
      Client client(weir.port());
      client.send_request(method, "/x");
      ASSERT_TRUE(origin.waits_for_calls(1));
      weir.turn(31s);
      auto const response = client.read();
      EXPECT_TRUE(response.status == 504 && response.complete) << response;
      EXPECT_EQ(client.get("/y").body, "y");
    }
  }
}

// REQ-2, REL-1: an origin that sends more than it said loses its connection, and nobody gets what was too much: not who
// asked, not who waits for another answer, not who comes later. It comes in one piece: what comes after the connection was
// found to be silent and taken for the next request cannot be told from that request's answer.
TEST(Fetches, MoreThanItsLength) {
  std::string const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=600\r\n\r\nevil";
  for (bool const chunked : {false, true}) {
    ScriptedOrigin origin;
    auto const good = chunked ? respond_chunked(200, kept, {"good"}) : respond(200, kept, "good");
    std::string bytes;
    for (auto const& step : good.steps()) bytes += std::get<Script::Send>(step).bytes;
    origin.answer_rest([=](Request const&) { return Script().send(bytes + evil + evil); });
    Weir weir(origin);
    Burst burst(weir.port(), 40);
    burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i % 20)); });
    burst.collect();
    for (auto const& response : burst.responses()) {
      EXPECT_EQ(response.body, "good");
      EXPECT_EQ(response.raw.find("evil"), std::string::npos);
    }
    ASSERT_TRUE(weir.waits_until_no_flights());
    Client later(weir.port());
    for (int i = 0; i < 40; ++i) EXPECT_EQ(later.get("/" + std::to_string(i)).body, "good");
    EXPECT_EQ(origin.connections(), 40U);
    EXPECT_EQ(origin.calls(), 40U);
  }
}

}  // namespace
}  // namespace weir::test
