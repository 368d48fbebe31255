// Desynchronised connections: answers before the end of a body, pauses, bodies that an origin does not expect, upgrades that
// are refused. Nobody's bytes become another's request or answer.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/raw_client.hpp"
#include "scenario/raw_origin.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

std::string const evil = "GET /evil HTTP/1.1\r\nHost: a.test\r\n\r\n";
std::string const one_worker = "workers: 1\n";  // so that all clients share its connections to the origin

bool is_in(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A connection from Weir with a request on it; fails the test if none comes.
Socket accepted(RawOrigin& origin) {
  EXPECT_TRUE(origin.waits()) << "no new connection";
  return origin.accept();
}
bool is_over(Socket& socket) {
  std::string rest;
  Socket::Got got = Socket::Got::bytes;
  while (got == Socket::Got::bytes) got = socket.receive(rest, 65'536);
  return got == Socket::Got::end || got == Socket::Got::reset;
}
// The next client's request comes on a connection of its own and gets its own answer.
void expect_next_on_a_new_connection(Weir& weir, RawOrigin& origin) {
  Client next(weir.port());
  next.send_request("GET", "/next");
  auto server = accepted(origin);
  EXPECT_TRUE(read_until(server, "\r\n\r\n").starts_with("GET /next HTTP/1.1\r\n"));
  server.send_all("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 4\r\n\r\nnext");
  EXPECT_EQ(next.read().body, "next");
}

// REQ-2: an origin answers without reading; the rest of the body becomes no request, on either side.
TEST(Desync, AnswerBeforeTheBodyEndsBothConnections) {
  for (bool const chunked : {false, true}) {
    RawOrigin origin;
    Weir weir(origin.url(), one_worker);
    RawClient client(weir.port());
    client.send("POST /x HTTP/1.1\r\nHost: a.test\r\n" +
                (chunked ? "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"s : "Content-Length: 1000\r\n\r\nbody"s));
    auto server = accepted(origin);
    EXPECT_TRUE(is_in(read_until(server, "body"), "POST /x"));
    server.send_all("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly");
    auto const answer = client.read();
    EXPECT_EQ(answer.body, "early");
    EXPECT_EQ(answer.value("Connection"), "close");
    client.send(evil);
    EXPECT_TRUE(client.ends_here());
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_TRUE(is_over(server));
    expect_next_on_a_new_connection(weir, origin);
  }
}

// REQ-2: nor where the body is whole before the answer is: the origin had given up on it.
TEST(Desync, AnswerBeforeTheBodyIsTheLastOnItsConnection) {
  RawOrigin origin;
  Weir weir(origin.url(), one_worker);
  RawClient client(weir.port());
  client.send("POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + std::to_string(4 + evil.size()) + "\r\n\r\nbody");
  auto server = accepted(origin);
  read_until(server, "body");
  server.send_all("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nlate");
  auto const head = [&] {
    std::string bytes;
    while (!is_in(bytes, "late") && client.socket().receive(bytes, 65'536) == Socket::Got::bytes) {}
    return bytes;
  }();
  EXPECT_TRUE(is_in(head, "Connection: close\r\n")) << head;
  client.send(evil);
  EXPECT_EQ(read_until(server, evil), evil);
  server.send_all("rest");
  std::string rest;
  while (client.socket().receive(rest, 65'536) == Socket::Got::bytes) {}
  EXPECT_EQ(rest, "rest");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(is_over(server));
  expect_next_on_a_new_connection(weir, origin);
}

// REQ-3: a client that pauses in its body until it is too late; what it sends then is nothing.
TEST(Desync, PauseInABody) {
  RawOrigin origin;
  Weir weir(origin.url(), one_worker);
  RawClient client(weir.port());
  client.send("POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + std::to_string(4 + evil.size()) + "\r\n\r\nbody");
  auto server = accepted(origin);
  read_until(server, "body");
  weir.turn(31s);
  auto const answer = client.read();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.value("Connection"), "close");
  client.send(evil);
  EXPECT_TRUE(client.ends_here());
  EXPECT_TRUE(is_over(server));
  expect_next_on_a_new_connection(weir, origin);
}

// REQ-3: the same pause in a head.
TEST(Desync, PauseInAHead) {
  ScriptedOrigin origin;
  Weir weir(origin, one_worker);
  RawClient client(weir.port());
  client.send("GET /x HTTP/1.1\r\nHost: a.test\r\nX: ");
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 1; }));
  EXPECT_TRUE(eventually([&] {
    weir.turn(1s);
    return weir.outcome(observe::Outcome::refused) == 1;
  }));
  EXPECT_EQ(client.read().status, 408);
  client.send("y\r\n\r\n" + evil);
  EXPECT_TRUE(client.ends_here());
  EXPECT_EQ(origin.connections(), 0U);
}

// FWD-4: a body where few origins expect one (CL.0): it is the last of its connection, and the origin is told so.
TEST(Desync, UnexpectedBodiesAreTheLastOfTheirConnection) {
  for (std::string const method : {"GET", "HEAD", "DELETE", "OPTIONS"}) {
    SCOPED_TRACE(method);
    RawOrigin origin;
    Weir weir(origin.url(), one_worker);
    RawClient client(weir.port());
    client.send(method + " /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + std::to_string(evil.size()) + "\r\n\r\n" +
                evil);
    auto server = accepted(origin);
    auto const asked = read_until(server, evil);
    EXPECT_TRUE(is_in(asked, "\r\nConnection: close\r\n")) << asked;
    server.send_all("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(client.read(method).status, 200);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_TRUE(is_over(server));
    expect_next_on_a_new_connection(weir, origin);
  }
}

// REQ-2: an interim head that promises a body may be followed by one, which would be the next request's answer.
TEST(Desync, InterimWithABodyIsTheLastOfItsConnection) {
  RawOrigin origin;
  Weir weir(origin.url(), one_worker);
  RawClient client(weir.port());
  client.send(write_request("GET", "/x"));
  auto server = accepted(origin);
  read_until(server, "\r\n\r\n");
  server.send_all("HTTP/1.1 100 X\r\nContent-Length: 99\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(client.read().body, "x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(is_over(server));
  expect_next_on_a_new_connection(weir, origin);
}

// REQ-2, REQ-4: what Weir answers itself, before it read the body, ends the connection.
TEST(Desync, OwnAnswersToUnreadBodiesEndTheConnection) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
  Weir weir(origin,
            "sites: [{hosts: [\"a.test\"], origin: default}, {hosts: [\"s.test\"], origin: default, redirect: https}]\n");
  auto const loop = [&] {
    get(weir.port(), "/loop", {{"Host", "a.test"}});
    return origin.last_request().value("CDN-Loop");
  }();
  struct Case {
    std::string method, host, fields;
    int status;
  };
  for (auto const& row : std::vector<Case>{{"POST", "s.test", "", 308},
                                           {"GET", "s.test", "", 301},
                                           {"POST", "unknown.test", "", 421},
                                           {"POST", "a.test", "CDN-Loop: " + loop + "\r\n", 508},
                                           {"TRACE", "a.test", "", 405},
                                           {"PURGE", "a.test", "", 405},
                                           {"OPTIONS", "a.test", "Max-Forwards: 0\r\n", 200}}) {
    for (std::string const framing :
         {"Content-Length: " + std::to_string(evil.size()) + "\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n25\r\n"s}) {
      SCOPED_TRACE(row.method + " " + row.host + " " + row.fields + framing);
      auto const calls = origin.calls();
      RawClient client(weir.port());
      client.send(row.method + " /x HTTP/1.1\r\nHost: " + row.host + "\r\n" + row.fields + framing + evil);
      auto const answer = client.read(row.method);
      if (answer.status == row.status) {
        EXPECT_EQ(answer.value("Connection"), "close") << answer;
        EXPECT_TRUE(client.ends_here());
      } else {
        ADD_FAILURE() << answer;
      }
      EXPECT_EQ(origin.calls(), calls);
    }
  }
}

// REQ-2: nor is there room for the rest of a body where the origin cannot be asked.
TEST(Desync, FailureBeforeTheBodySaysThatItCloses) {
  auto const nobody = reserve_port();
  Weir weir("http://127.0.0.1:" + std::to_string(local_port(nobody)), one_worker);
  RawClient client(weir.port());
  client.send("POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\nbody");
  auto const answer = client.read();
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(answer.value("Connection"), "close");
  client.send(evil);
  EXPECT_TRUE(client.ends_here());
}

// REQ-4: an upgrade that the origin does not agree to makes no tunnel, whatever status it says so with: what stands behind
// the handshake is a request, and goes the way of all requests.
TEST(Desync, RefusedUpgradesMakeNoTunnel) {
  for (auto const& [line, status] :
       std::vector<std::pair<std::string, int>>{{"426 Upgrade Required", 426},
                                                {"400 Bad Request", 400},
                                                {"401 X", 401},
                                                {"200 OK", 200},
                                                {"302 X", 302},
                                                {"500 X", 500},
                                                {"101 Switching Protocols", 502},
                                                {"101 X\r\nUpgrade: h2c\r\nConnection: upgrade", 502},
                                                {"101 X\r\nUpgrade: websocket, h2c\r\nConnection: upgrade", 502},
                                                {"426 X\r\nUpgrade: websocket\r\nConnection: upgrade", 426},
                                                {"200 X\r\nUpgrade: websocket\r\nConnection: upgrade", 200}}) {
    SCOPED_TRACE(line);
    ScriptedOrigin origin;
    origin.answer("/chat", Script().send("HTTP/1.1 " + line + "\r\nContent-Length: 0\r\n\r\n"));
    origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
    Weir weir(origin, one_worker);
    RawClient client(weir.port());
    client.send(write_request("GET", "/chat",
                              {{"Connection", "Upgrade"},
                               {"Upgrade", "websocket"},
                               {"Sec-WebSocket-Version", "666"},
                               {"Sec-WebSocket-Key", "x"}}) +
                write_request("GET", "/behind", {{"X-Forwarded-Host", "evil.test"}, {"X-Original-URL", "/evil"}}));
    EXPECT_EQ(client.read().status, status);
    EXPECT_EQ(client.read().body, "/behind");
    auto const seen = origin.last_request();
    EXPECT_EQ(seen.value("Via"), "1.1 weir");
    EXPECT_EQ(seen.value("X-Forwarded-Host"), "weir.test");
    EXPECT_FALSE(seen.has("X-Original-URL")) << seen;
    EXPECT_EQ(get(weir.port(), "/other").body, "/other");
    EXPECT_EQ(origin.problems(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace weir::test
