// RFC 9110 as a proxy: what is added to messages, taken off them and read in them on their way, in both directions.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/status_members.hpp"
#include "weir/http/date.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// FWD-1, STO-3, RFC 9110 7.6.1: what belongs to a connection stays there, from the origin and out of the store.
TEST(Proxying, FieldsOfTheConnectionStayThere) {
  Fields const of_the_hop{{"Connection", "X-Hop, keep-alive ,\tclose-not,, x-other"},
                          {"Connection", "X-Third"},
                          {"Keep-Alive", "timeout=5"},
                          {"Proxy-Connection", "keep-alive"},
                          {"Proxy-Authenticate", "Basic"},
                          {"Proxy-Authentication-Info", "x"},
                          {"TE", "trailers"},
                          {"Trailer", "X-T"},
                          {"Upgrade", "h2c"},
                          {"X-HOP", "1"},
                          {"X-Hop", "2"},
                          {"X-Other", "3"},
                          {"x-third", "4"}};
  Fields const end_to_end{{"X-End", "1"}, {"X-End", "2"}, {"X-Hop-Not", "5"}, {"Server", "s"}, {"Warning", "110 - \"x\""}};
  for (std::string const words : {"max-age=60", "no-store"}) {
    ScriptedOrigin origin;
    auto fields = of_the_hop;
    fields.insert(fields.end(), end_to_end.begin(), end_to_end.end());
    fields.push_back({"Cache-Control", words});
    origin.answer("/x", respond(200, fields, "x"));
    Weir weir(origin, plain);
    Client client(weir.port());
    for (auto const* const method : {"GET", "GET", "HEAD", "POST"}) {
      auto const response = client.request(method, "/x");
      for (auto const& field : of_the_hop) EXPECT_FALSE(response.has(field.name)) << method << field;
      EXPECT_EQ(response.value("X-End"), "1, 2");
      for (auto const* const name : {"X-Hop-Not", "Server", "Warning"}) EXPECT_EQ(response.count(name), 1U) << name;
    }
  }
}

// FWD-1, RFC 9110 7.6.1: a client cannot take off by name what frames, routes or identifies its request; what it may name,
// it may.
TEST(Proxying, WhatConnectionMayName) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "no-store"}}, "x"); });
  Weir weir(origin);
  Client client(weir.port());
  for (std::string const name : {"Host", "Authorization", "Cookie", "Cache-Control", "Via", "CDN-Loop"}) {
    client.request("POST", "/x", {{"Connection", name}, {"Host", "weir.test"}, {name == "Host" ? "X" : name, "v"}});
    EXPECT_TRUE(origin.last_request().value(name).starts_with(name == "Host" ? "weir.test" : "v")) << name;
  }
  client.request("POST", "/x", {{"Connection", "Content-Length, X-A"}, {"X-A", "1"}}, "ab");
  EXPECT_EQ(origin.last_request().body, "ab");
  EXPECT_FALSE(origin.last_request().has("X-A"));
}

// FWD-1, RFC 9110 7.6.3: with the version in which each message came. A fetch that others may share tells nothing of who
// led it.
TEST(Proxying, Via) {
  ScriptedOrigin origin;
  origin.answer("/one", respond(200, {max_age(60), {"Via", "1.1 a"}, {"Via", "1.0 b (x, y)"}}, "x"));
  origin.answer("/old", Script().send("HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\nx").close());
  Weir weir(origin, plain);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get(weir.port(), "/one").value("Via"), "1.1 a, 1.0 b (x, y), 1.1 weir");
    EXPECT_EQ(get(weir.port(), "/old").value("Via"), "1.0 weir");
  }
  EXPECT_EQ(origin.last_request().value("Via"), "1.1 weir");
  for (std::string const method : {"GET", "POST"}) {
    Client old(weir.port());
    old.send(method + " /other HTTP/1.0\r\nHost: weir.test\r\nVia: 1.1 c\r\n\r\n");
    old.read();
    EXPECT_EQ(origin.last_request().value("Via"), method == "GET" ? "1.1 c, 1.1 weir" : "1.1 c, 1.0 weir");
  }
}

// REQ-4, RFC 9110 7.6.2: a count of none is answered here, any other goes on by one less, and what is no count as it came.
// It means nothing with another method.
TEST(Proxying, MaxForwards) {
  struct Row {
    std::string method, asked;
    int status;
    std::string forwarded;
  };
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(204, {{"Allow", "GET"}}); });
  Weir weir(origin);
  Client client(weir.port());
  for (std::string const target : {"/x", "*"}) {
    for (auto const& row : std::vector<Row>{{"OPTIONS", "0", 200, ""},
                                            {"OPTIONS", "000", 200, ""},
                                            {"OPTIONS", "1", 204, "0"},
                                            {"OPTIONS", "70", 204, "69"},
                                            {"OPTIONS", "99999999999999999999999", 204, "18446744073709551614"},
                                            {"OPTIONS", "-1", 204, "-1"},
                                            {"OPTIONS", "1.5", 204, "1.5"},
                                            {"OPTIONS", "", 204, ""},
                                            {"TRACE", "0", 405, ""},
                                            {"TRACE", "5", 405, ""},
                                            {"DELETE", "0", 204, "0"},
                                            {"GET", "0", 204, "0"}}) {
      if (target == "*" && row.method != "OPTIONS") continue;
      SCOPED_TRACE(row.method + ' ' + target + ' ' + row.asked);
      auto const calls = origin.calls();
      auto const response = client.request(row.method, target, {{"Max-Forwards", row.asked}});
      EXPECT_EQ(response.status, row.status) << response;
      EXPECT_EQ(origin.calls(), calls + (row.status == 204 ? 1 : 0));
      EXPECT_EQ(response.has("Proxy-Status"), row.status == 405);
      EXPECT_TRUE(response.has("Allow"));
      EXPECT_TRUE(row.status != 204 || origin.last_request().value("Max-Forwards") == row.forwarded)
          << origin.last_request();
    }
  }
}

// REQ-2, RFC 9110 10.1.1: what is expected beside 100-continue is the origin's affair where the request goes whole, and
// nobody's where its answer is for all; without a body, or in HTTP/1.0, there is nothing to expect.
TEST(Proxying, Expectations) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "no-store"}}, "x"));
  origin.answer("/refuses",
                [](Request const& request) { return respond(request.value("Expect") == "wonders" ? 417 : 200); });
  Weir weir(origin);
  Client client(weir.port());
  EXPECT_EQ(client.request("POST", "/refuses", {{"Expect", "wonders"}}, "body").status, 417);
  for (std::string const method : {"GET", "POST"}) {
    EXPECT_EQ(client.request(method, "/x", {{"Expect", "100-continue"}}).status, 200);
    EXPECT_FALSE(origin.last_request().has("Expect")) << method;
  }
  EXPECT_EQ(client.get("/x", {{"Expect", "wonders"}}).status, 200);
  EXPECT_FALSE(origin.last_request().has("Expect"));
  Client old(weir.port());
  old.send("POST /x HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  old.send("ab");
  auto const response = old.read();
  EXPECT_TRUE(response.status == 200 && response.interim.empty()) << response;
  EXPECT_EQ(origin.last_request().body, "ab");
}

// REQ-2, RFC 9112 3.2.2: the target's own host counts, not the field's; a path that is missing is the root, or for OPTIONS
// the server as a whole (3.2.4).
TEST(Proxying, AbsoluteForm) {
  struct Row {
    std::string line, forwarded, host;
  };
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {max_age(60)}, "x"); });
  Weir weir(origin, plain);
  Client client(weir.port());
  for (auto const& row : std::vector<Row>{{"GET http://a.test/x?q", "/x?q", "a.test"},
                                          {"GET http://a.test", "/", "a.test"},
                                          {"GET http://a.test?q", "/?q", "a.test"},
                                          {"GET HTTP://A.test:80/y", "/y", "a.test"},
                                          {"GET http://a.test:81/y", "/y", "a.test:81"},
                                          {"GET http://[::1]:81/z", "/z", "[::1]:81"},
                                          {"POST http://a.test", "/", "a.test"},
                                          {"OPTIONS http://a.test", "*", "a.test"},
                                          {"OPTIONS http://a.test/", "/", "a.test"},
                                          {"OPTIONS http://a.test?q", "/?q", "a.test"},
                                          {"OPTIONS *", "*", "b.test"}}) {
    SCOPED_TRACE(row.line);
    client.send(row.line + " HTTP/1.1\r\nHost: b.test\r\n\r\n");
    EXPECT_EQ(client.read().status, 200);
    EXPECT_EQ(origin.last_request().target, row.forwarded);
    EXPECT_EQ(origin.last_request().value("Host"), row.host);
  }
  auto const calls = origin.calls();
  EXPECT_TRUE(cache_status(client.get("/x?q", {{"Host", "a.test"}})).hit());
  EXPECT_EQ(origin.calls(), calls);
}

// FRS-1, RFC 9110 6.6.1: an answer without a Date, or with one that is none, gets one; any other keeps its own.
TEST(Proxying, Date) {
  struct Row {
    std::string name;
    Fields dates;
    bool kept;
  };
  for (auto const& row : std::vector<Row>{{"none", {}, false},
                                          {"empty", {{"Date", ""}}, false},
                                          {"none that is one", {{"Date", "yesterday"}}, false},
                                          {"two", {{"Date", http_date(-5s)}, {"Date", http_date(-9s)}}, false},
                                          {"of now", {{"Date", http_date(0s)}}, true},
                                          {"of an hour ago", {{"Date", http_date(-1h)}}, true},
                                          {"of tomorrow", {{"Date", http_date(24h)}}, true},
                                          {"in an old form", {{"Date", "Sunday, 06-Nov-94 08:49:37 GMT"}}, true}}) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer_rest([&](Request const& request) {
      auto fields = row.dates;
      if (request.target == "/kept") fields.push_back(max_age(600));
      return respond(200, fields, "x");
    });
    Weir weir(origin, plain);
    auto const earliest = base::read_clock().wall - 1s;

    for (auto const* const target : {"/kept", "/kept", "/other"}) {
      auto const response = get(weir.port(), target);
      ASSERT_TRUE(weir.waits_until_no_flights());
      ASSERT_EQ(response.count("Date"), 1U) << response;
      auto const date = http::parse_date(response.value("Date"), base::read_clock().wall);
      bool const ours = date && *date >= earliest && *date <= base::read_clock().wall;
      EXPECT_TRUE(row.kept ? response.value("Date") == row.dates[0].value : ours) << response;
    }
  }
}

// FRS-1, SRV-1, RFC 9111 4.2.3: an origin whose clock is wrong neither shortens nor lengthens a life, and what the caches
// before us say counts; where an HTTP/1.0 cache may have kept it, so does its date. Half a minute later the rest has grown
// by that.
TEST(Proxying, AgeWithSkewedClocks) {
  struct Row {
    std::string name;
    std::optional<std::chrono::seconds> clock;  // the origin's, from ours
    Fields fields;
    long age, ttl;  // on arrival
    bool expires = false;
  };
  for (auto const& row : std::vector<Row>{
           {"right", 0s, {max_age(100)}, 0, 100},
           {"an hour behind", -1h, {max_age(100)}, 0, 100},
           {"an hour ahead", 1h, {max_age(100)}, 0, 100},
           {"behind, with an age", -1h, {max_age(100), {"Age", "20"}}, 20, 80},
           {"ahead, with an age", 1h, {max_age(100), {"Age", "20"}}, 20, 80},
           {"none, with an age", {}, {max_age(100), {"Age", "20"}}, 20, 80},
           {"two ages", 0s, {max_age(100), {"Age", "20"}, {"Age", "70"}}, 20, 80},
           {"an age that is none", 0s, {max_age(100), {"Age", "-20"}}, 0, 100},
           {"behind an old cache", -40s, {max_age(100), {"Via", "1.0 old"}}, 40, 60},
           {"behind an old cache that knows", -40s, {max_age(100), {"Age", "70"}, {"Via", "1.0 old"}}, 70, 30},
           {"behind a new cache", -40s, {max_age(100), {"Via", "1.1 new"}}, 0, 100},
           {"Expires by an hour behind", -1h, {}, 0, 100, true},
           {"Expires by an hour ahead", 1h, {}, 0, 100, true},
       }) {
    SCOPED_TRACE(row.name);
    auto fields = row.fields;
    if (row.clock) fields.push_back({"Date", http_date(*row.clock)});
    if (row.expires) fields.push_back({"Expires", http_date(*row.clock + 100s)});
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, fields, "x"));
    Weir weir(origin, plain);
    auto const near = [](long value, long expected) { return value >= expected && value <= expected + 5; };
    auto const arrived = get(weir.port(), "/x");
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_TRUE(near(arrived.has("Age") ? age(arrived) : 0, row.age)) << arrived;
    EXPECT_TRUE(near(-own_ttl(arrived).value_or(-999), -row.ttl)) << arrived;
    weir.turn(25s);
    auto const later = get(weir.port(), "/x");
    EXPECT_EQ(own_cache_status(later), "hit");
    EXPECT_TRUE(near(age(later), row.age + 25)) << later;
    EXPECT_TRUE(near(-own_ttl(later).value_or(-999), -row.ttl + 25)) << later;
  }
}

// SRV-1, RFC 9111 5.1: what Weir keeps nothing of keeps the age that it came with.
TEST(Proxying, AgeOfWhatIsNotStored) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "no-store"}, {"Age", "20"}}, "x"));
  origin.answer("/y", respond(200, {{"Cache-Control", "no-store"}}, "x"));
  Weir weir(origin);
  EXPECT_EQ(age(get(weir.port(), "/x")), 20);
  EXPECT_FALSE(get(weir.port(), "/y").has("Age"));
  EXPECT_EQ(Client(weir.port()).request("POST", "/x").value("Age"), "20");
}

}  // namespace
}  // namespace weir::test
