// RFC 9112 sections 6 to 9: where messages end, in both directions, and that nobody gets what lies behind.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

std::string const fresh = "Cache-Control: max-age=60\r\n";
std::string const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";

struct Row {
  std::string name, answer;  // the origin's bytes
  bool closes;               // and it closes then
  std::string body;
  bool whole;  // as the client can tell
  bool kept;   // its connection is used for the next fetch
};

std::vector<Row> rows() {
  std::string const ok = "HTTP/1.1 200 OK\r\n" + fresh, old = "HTTP/1.0 200 OK\r\n" + fresh;
  std::string const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  std::string const none = "HTTP/1.1 204 No Content\r\n" + fresh, same = "HTTP/1.1 304 Not Modified\r\n" + fresh;
  return {
      {"a length", ok + "Content-Length: 4\r\n\r\nbody", false, "body", true, true},
      {"no length", ok + "Content-Length: 0\r\n\r\n", false, "", true, true},
      {"a length, and it closes", ok + "Connection: close\r\nContent-Length: 4\r\n\r\nbody", true, "body", true, false},
      {"a length in HTTP/1.0", old + "Content-Length: 4\r\n\r\nbody", true, "body", true, false},
      {"a length in HTTP/1.0, kept", old + "Connection: keep-alive\r\nContent-Length: 4\r\n\r\nbody", false, "body", true,
       true},
      {"until it closes", ok + "\r\nbody", true, "body", true, false},
      {"until it closes, in HTTP/1.0", old + "\r\nbody", true, "body", true, false},
      {"until it closes, although kept", old + "Connection: keep-alive\r\n\r\nbody", true, "body", true, false},
      {"chunks", chunked + "2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", false, "body", true, true},
      {"chunks of none", chunked + "0\r\n\r\n", false, "", true, true},
      {"zeros and capitals", chunked + "0000A\r\n0123456789\r\n000\r\n\r\n", false, "0123456789", true, true},
      {"extensions", chunked + "4;a;b=c;d=\"e;f\"\r\nbody\r\n0;last\r\n\r\n", false, "body", true, true},
      {"an extension without end", chunked + "4;" + std::string(100'000, 'a') + "\r\nbody\r\n0\r\n\r\n", false, "", false,
       false},
      {"trailers", chunked + "4\r\nbody\r\n0\r\nX-T: 1\r\nSet-Cookie: a=b\r\n\r\n", false, "body", true, true},
      {"trailers that frame", chunked + "4\r\nbody\r\n0\r\nContent-Length: 9\r\n\r\n", false, "body", false, false},
      {"trailers that are none", chunked + "4\r\nbody\r\n0\r\nno trailer\r\n\r\n", false, "body", false, false},
      {"trailers without end", chunked + "4\r\nbody\r\n0\r\nX: " + std::string(100'000, 'a'), false, "body", false, false},
      {"a size that is none", chunked + "4\r\nbody\r\nx\r\n", false, "body", false, false},
      {"a size below none", chunked + "4\r\nbody\r\n-1\r\n", false, "body", false, false},
      {"a size without end", chunked + "4\r\nbody\r\nffffffffffffffffff\r\n", false, "body", false, false},
      {"a chunk too long", chunked + "4\r\nbodyevil\r\n0\r\n\r\n", false, "body", false, false},
      {"too few bytes", ok + "Content-Length: 9\r\n\r\nbody", true, "body", false, false},
      {"too few chunks", chunked + "4\r\nbody\r\n", true, "body", false, false},
      {"too many bytes", ok + "Content-Length: 4\r\n\r\nbody" + evil, false, "body", true, false},
      {"more behind the last chunk", chunked + "4\r\nbody\r\n0\r\n\r\n" + evil, false, "body", true, false},
      {"204", none + "\r\n", false, "", true, true},
      {"204 of no length", none + "Content-Length: 0\r\n\r\n", false, "", true, true},
      {"204 that promises a body", none + "Content-Length: 4\r\n\r\n", false, "", true, false},
      {"204 with a body", none + "Content-Length: " + std::to_string(evil.size()) + "\r\n\r\n" + evil, false, "", true,
       false},
      {"204 in chunks", none + "Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n", false, "", true, false},
      {"304", same + "\r\n", false, "", true, true},
      {"304 that tells a length", same + "Content-Length: 44\r\n\r\n", false, "", true, true},
      {"304 with a body", same + "Content-Length: 44\r\n\r\n" + evil, false, "", true, false},
      {"interim heads before it",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 X\r\nContent-Length: 0\r\n\r\n" + ok + "Content-Length: 4\r\n\r\nbody",
       false, "body", true, true},
  };
}

// How an answer of this row may be framed towards clients: what is whole has one end, by a length or by chunks, or none
// where there is no body; what is not has no such end.
void expect_framed(Response const& response, Row const& row) {
  EXPECT_EQ(response.complete, row.whole) << response;
  EXPECT_TRUE(response.end != End::malformed) << response.problem;
  EXPECT_EQ(response.body, row.body);
  EXPECT_TRUE(response.trailers.empty());
  EXPECT_EQ(response.raw.find("evil"), std::string::npos) << response;
  bool const bodiless = response.status == 204 || response.status == 304;
  auto const framings = response.count("Content-Length") + response.count("Transfer-Encoding");
  EXPECT_EQ(framings, bodiless || response.value("Connection") == "close" ? framings & 1U : 1U) << response;
  EXPECT_TRUE(!bodiless || framings == 0) << response;
}

// REQ-2, STO-1, COA-10: every framing an origin may use or abuse, from the origin and from the store. What lies behind is
// never delivered, and the next answer is its own.
TEST(Framing, OfOrigins) {
  for (auto const& row : rows()) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    auto script = Script().send(row.answer);
    origin.answer("/x", row.closes ? script.close() : script);
    for (std::string const next : {"/1", "/2", "/3"})
      origin.answer(next, respond(200, {{"Cache-Control", "private"}}, next));
    Weir weir(origin, plain);
    Client client(weir.port());
    expect_framed(client.get("/x"), row);
    ASSERT_TRUE(weir.waits_until_no_flights());
    if (!row.whole) {
      EXPECT_TRUE(client.waits_until_closed());
      EXPECT_EQ(weir.entries(), 0U);
      continue;
    }
    for (std::string const next : {"/1", "/2", "/3"}) EXPECT_EQ(client.get(next).body, next);
    EXPECT_EQ(origin.connections(), row.kept ? 1U : 2U);
    auto const again = client.get("/x");
    expect_framed(again, row);
    EXPECT_EQ(cache_status(again).hit(), again.status != 304);
  }
}

// REQ-2: the same for a client that knows neither chunks nor connections that stay.
TEST(Framing, OfOriginsToHttp10) {
  for (auto const& row : rows()) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    auto script = Script().send(row.answer);
    origin.answer("/x", row.closes ? script.close() : script);
    Weir weir(origin, plain);
    for (int i = 0; i < 2; ++i) {
      Client client(weir.port());
      client.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
      auto const response = client.read();
      EXPECT_EQ(response.body, row.body);
      EXPECT_FALSE(response.has("Transfer-Encoding"));
      EXPECT_TRUE(response.interim.empty());
      EXPECT_EQ(response.complete, row.whole) << response;
      EXPECT_EQ(response.raw.find("evil"), std::string::npos);
      bool const ends = response.has("Content-Length") || response.status == 204 || response.status == 304;
      EXPECT_TRUE(!ends || !row.whole || response.value("Connection") == "keep-alive") << response;
      EXPECT_TRUE(ends || response.value("Connection") == "close") << response;
      ASSERT_TRUE(weir.waits_until_no_flights());
    }
  }
}

// REQ-2, SRV-4: the answer to a HEAD ends with its head, whatever that promises, and what an origin sends behind it goes
// nowhere.
TEST(Framing, OfAnswersToHead) {
  struct Case {
    std::string name, fields, stray;
    std::string length;
    bool kept;
  };
  for (auto const& row : std::vector<Case>{
           {"a length", "Content-Length: 44\r\n", "", "44", true},
           {"chunks", "Transfer-Encoding: chunked\r\n", "", "", true},
           {"neither", "", "", "", true},
           {"a body behind it", "Content-Length: 44\r\n", evil, "44", false},
           {"chunks behind it", "Transfer-Encoding: chunked\r\n", "4\r\nevil\r\n0\r\n\r\n", "", false},
       }) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer("/off/x", Script().send("HTTP/1.1 200 OK\r\n" + row.fields + "\r\n" + row.stray));
    origin.answer("/off/y", respond(200, {}, "y"));
    Weir weir(origin, "sites: [{origin: default, routes: [{path: \"/off/*\", cache: off}]}]\n");
    Client client(weir.port());
    auto const response = client.request("HEAD", "/off/x");
    EXPECT_EQ(origin.last_request().method, "HEAD");
    EXPECT_TRUE(response.complete && response.body.empty()) << response;
    EXPECT_EQ(response.value("Content-Length"), row.length);
    EXPECT_FALSE(response.has("Transfer-Encoding"));
    ASSERT_TRUE(weir.waits_until_no_flights());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/off/y").body, "y");
    EXPECT_EQ(origin.connections(), row.kept ? 1U : 2U);
  }
}

// REQ-2: what a request's body looks like on the other side: its own bytes in a framing of ours, without extensions and
// trailers, and the next request begins where it ended.
TEST(Framing, OfRequests) {
  struct Case {
    std::string name, method, fields, body;
    std::string seen, length;  // by the origin; "": no length
  };
  std::string const chunked = "Transfer-Encoding: chunked\r\n";
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {{"Cache-Control", "no-store"}}, request.body); });
  Weir weir(origin);
  Client client(weir.port());
  for (auto const& row : std::vector<Case>{
           {"a length", "POST", "Content-Length: 4\r\n", "body", "body", "4"},
           {"a length of none", "POST", "Content-Length: 0\r\n", "", "", "0"},
           {"no body", "POST", "", "", "", "0"},
           {"no body of PUT", "PUT", "", "", "", "0"},
           {"no body of DELETE", "DELETE", "", "", "", ""},
           {"no body of OPTIONS", "OPTIONS", "", "", "", ""},
           {"a body of DELETE", "DELETE", "Content-Length: 4\r\n", "body", "body", "4"},
           {"a body of GET", "GET", "Content-Length: 4\r\n", "body", "body", "4"},
           {"chunks", "POST", chunked, "2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", "body", ""},
           {"chunks of none", "POST", chunked, "0\r\n\r\n", "", ""},
           {"chunks of GET", "GET", chunked, "4\r\nbody\r\n0\r\n\r\n", "body", ""},
           {"extensions", "POST", chunked, "4;a;b=\"c;d\"\r\nbody\r\n000;e\r\n\r\n", "body", ""},
           {"trailers", "POST", chunked + "Trailer: X-T\r\n", "4\r\nbody\r\n0\r\nX-T: 1\r\nSet-Cookie: a=b\r\n\r\n", "body",
            ""},
       }) {
    SCOPED_TRACE(row.name);
    client.send(row.method + " /x HTTP/1.1\r\nHost: a\r\n" + row.fields + "\r\n" + row.body +
                "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read().body, row.seen);
    EXPECT_EQ(client.read().status, 200);
    auto const seen = origin.requests("/x").back();
    EXPECT_EQ(seen.body, row.seen);
    EXPECT_EQ(seen.value("Content-Length"), row.length);
    EXPECT_EQ(seen.value("Transfer-Encoding"), row.fields.starts_with(chunked) ? "chunked" : "");
    EXPECT_TRUE(seen.trailers.empty() && !seen.has("Trailer") && !seen.has("X-T")) << seen;
    EXPECT_EQ(origin.last_request().target, "/next");
  }
  EXPECT_TRUE(origin.problems().empty());
}

// SRV-1, RFC 9110 8.6: what is cut out of a stored answer has the length of what is sent, and none where nothing may be
// sent.
TEST(Framing, OfWhatIsCutFromTheStore) {
  ScriptedOrigin origin;
  origin.answer("/x", respond_chunked(200, {max_age(60), {"ETag", "\"e\""}}, {"0123", "456789"}));
  Weir weir(origin, plain);
  Client client(weir.port());
  client.get("/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  struct Case {
    std::string method;
    Fields fields;
    int status;
    std::string length, body;
  };
  for (auto const& row : std::vector<Case>{{"GET", {}, 200, "10", "0123456789"},
                                           {"HEAD", {}, 200, "10", ""},
                                           {"GET", {{"Range", "bytes=2-4"}}, 206, "3", "234"},
                                           {"GET", {{"Range", "bytes=10-"}}, 416, "0", ""},
                                           {"GET", {{"If-None-Match", "\"e\""}}, 304, "", ""},
                                           {"HEAD", {{"If-None-Match", "*"}}, 304, "", ""}}) {
    auto const response = client.request(row.method, "/x", row.fields);
    EXPECT_EQ(response.status, row.status) << response;
    EXPECT_EQ(response.value("Content-Length"), row.length) << response;
    EXPECT_EQ(response.body, row.body);
    EXPECT_FALSE(response.has("Transfer-Encoding"));
    EXPECT_TRUE(response.complete);
  }
  EXPECT_EQ(origin.calls(), 1U);
}

}  // namespace
}  // namespace weir::test
