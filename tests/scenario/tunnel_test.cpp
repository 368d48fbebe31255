// REQ-4: WebSocket connections through Weir.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "scenario/raw_origin.hpp"
#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields const handshake{{"Connection", "keep-alive, Upgrade"},
                       {"Upgrade", "websocket"},
                       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                       {"Sec-WebSocket-Version", "13"}};
std::string const agreed =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: "
    "s3pPLMBi\r\n\r\n";

// A client and an origin that have changed protocols.
struct Open {
  explicit Open(std::string const& early = "", std::string const& yaml = "")
      : weir(origin.url(), yaml), client(weir.port()) {
    client.send_request("GET", "/chat?room=1", handshake);
    server = origin.accept();
    asked = read_until(server, "\r\n\r\n");
    server.send_all(agreed + early);
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos && !client.is_closed()) head += client.read_exactly(1);
    answer = head;
  }
  bool server_hears_end() {
    std::string rest;
    return server.receive(rest, 1000) == Socket::Got::end && rest.empty();
  }
  RawOrigin origin;
  Weir weir;
  Client client;
  Socket server;
  std::string asked, answer;
};

// REQ-4, LIM-1: the handshake passes whole, and what comes with it is the tunnel's.
TEST(Tunnel, HandshakePassesAndBytesGoBothWays) {
  Open it("early");
  EXPECT_TRUE(it.asked.starts_with("GET /chat?room=1 HTTP/1.1\r\n")) << it.asked;
  for (auto const* const line : {"Connection: Upgrade\r\n", "Upgrade: websocket\r\n", "Sec-WebSocket-Version: 13\r\n"})
    EXPECT_NE(it.asked.find(line), std::string::npos) << it.asked;
  EXPECT_TRUE(it.answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << it.answer;
  for (auto const* const line : {"Connection: Upgrade\r\n", "Upgrade: websocket\r\n", "Sec-WebSocket-Accept: s3pPLMBi\r\n"})
    EXPECT_NE(it.answer.find(line), std::string::npos) << it.answer;
  EXPECT_EQ(it.client.read_exactly(5), "early");
  it.client.send("ping");
  EXPECT_EQ(read_until(it.server, "ping"), "ping");
  it.server.send_all("pong");
  EXPECT_EQ(it.client.read_exactly(4), "pong");
  EXPECT_EQ(it.weir.metric("weir_origin_inflight"), 1);
  it.client.close();
  EXPECT_TRUE(it.server_hears_end());
  it.server.close();
  ASSERT_TRUE(it.weir.waits_until_no_flights());
  ASSERT_TRUE(eventually([&] { return it.weir.daemon().sessions() == 0; }));
  EXPECT_EQ(it.weir.metric("weir_origin_inflight"), 0);
  EXPECT_EQ(it.weir.metric("weir_origin_fetches_total{class=\"bypass\",result=\"ok\"}"), 1);
  EXPECT_EQ(it.weir.outcome(observe::Outcome::bypass), 1U);
}

// REQ-4: what a client sends behind its handshake waits for the 101 and is no request.
TEST(Tunnel, BytesBehindTheHandshakeAreTheTunnels) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send(write_request("GET", "/chat", handshake) + "GET /frame");
  auto server = origin.accept();
  read_until(server, "\r\n\r\n");
  server.send_all(agreed);
  EXPECT_EQ(read_until(server, "frame"), "GET /frame");
}

// REQ-4: both directions are full at once, and each ends for itself.
TEST(Tunnel, EachDirectionEndsForItself) {
  Open it;
  std::string const up(4'000'000, 'u'), down(4'000'000, 'd');
  std::string received;
  std::thread server([&] {
    std::thread sender([&] { it.server.send_all(down); });
    while (it.server.receive(received, 65'536) == Socket::Got::bytes) {}
    sender.join();
    it.server.send_all("after the end");
    it.server.close();
  });
  std::thread sender([&] {
    it.client.send(up);
    it.client.finish_sending();
  });
  EXPECT_TRUE(it.client.read_to_end() == down + "after the end");
  sender.join();
  server.join();
  EXPECT_TRUE(received == up);
  ASSERT_TRUE(it.weir.waits_until_no_flights());
}

// REQ-4, REQ-3: a word from either end keeps it open, silence closes it.
TEST(Tunnel, SilenceClosesIt) {
  Open it;
  for (int i = 0; i < 4; ++i) {
    it.weir.turn(40s);
    if (i % 2 == 0) {
      it.client.send("x");
      EXPECT_EQ(read_until(it.server, "x"), "x");
    } else {
      it.server.send_all("y");
      EXPECT_EQ(it.client.read_exactly(1), "y");
    }
  }
  ASSERT_TRUE(eventually([&] {
    it.weir.turn(30s);
    return it.client.is_closed();
  }));
  EXPECT_TRUE(it.server_hears_end());
  ASSERT_TRUE(it.weir.waits_until_no_flights());
}

// REQ-4: whoever breaks off breaks it for both.
TEST(Tunnel, ResetOfEitherEndEndsIt) {
  for (bool const by_client : {false, true}) {
    Open it;
    if (by_client)
      it.client.reset();
    else
      it.server.reset();
    std::string rest;
    if (by_client)
      EXPECT_NE(it.server.receive(rest, 1), Socket::Got::bytes);
    else
      EXPECT_TRUE(it.client.waits_until_closed());
    ASSERT_TRUE(it.weir.waits_until_no_flights());
    ASSERT_TRUE(eventually([&] { return it.weir.daemon().sessions() == 0; }));
  }
}

// REQ-4: a client that leaves before the answer takes its request with it.
TEST(Tunnel, ClientThatLeavesBeforeTheAnswerEndsIt) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("GET", "/chat", handshake);
  auto server = origin.accept();
  read_until(server, "\r\n\r\n");
  client.reset();
  EXPECT_TRUE(read_until(server, "x").empty());
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// REQ-4, LIM-1: tunnels hold none of the fetch permits, nor does a full set of their own keep anyone out.
TEST(Tunnel, PermitIsThatOfAStream) {
  Open it("", "limiter: {max_concurrent: 1}\n");
  Client client(it.weir.port());
  client.send_request("GET", "/page");
  auto second = it.origin.accept();
  EXPECT_TRUE(read_until(second, "\r\n\r\n").starts_with("GET /page "));
  second.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.read().body, "ok");
}

// REQ-4: an origin that does not want to answers like any other time, and the connection goes on.
TEST(Tunnel, RefusalIsAPlainAnswer) {
  ScriptedOrigin origin;
  origin.answer("/chat", respond(403, {{"Cache-Control", "max-age=60"}}, "no"));
  origin.answer("/page", respond(200, {{"Cache-Control", "max-age=60"}}, "page"));
  Weir weir(origin);
  Client client(weir.port());
  for (int i = 0; i < 2; ++i) {
    auto const response = client.get("/chat", handshake);
    EXPECT_TRUE(response.status == 403 && response.body == "no") << response;
    EXPECT_FALSE(response.has("Upgrade"));
  }
  EXPECT_EQ(origin.calls("/chat"), 2U);
  EXPECT_EQ(client.get("/page").body, "page");
  EXPECT_EQ(client.get("/page", handshake).body, "page");  // outside the cache
  EXPECT_EQ(origin.calls("/page"), 2U);
}

// REQ-4: a protocol that nobody asked for.
TEST(Tunnel, OtherProtocolsAreABrokenAnswer) {
  for (auto const& answer : {std::string("HTTP/1.1 101 S\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
                             std::string("HTTP/1.1 101 S\r\n\r\n"), agreed}) {
    RawOrigin origin;
    Weir weir(origin.url());
    Client client(weir.port());
    client.send_request("GET", "/chat", answer == agreed ? Fields{} : handshake);
    auto server = origin.accept();
    read_until(server, "\r\n\r\n");
    server.send_all(answer);
    EXPECT_EQ(client.read().status, 502) << answer;
  }
}

// REQ-4: what is no GET of HTTP/1.1 without a body is a plain request.
TEST(Tunnel, OnlyAGetOfHttp11Asks) {
  ScriptedOrigin origin;
  origin.answer("/chat", respond(200, {}, "plain"));
  Weir weir(origin);
  EXPECT_EQ(Client(weir.port()).request("POST", "/chat", handshake, "body").body, "plain");
  EXPECT_EQ(Client(weir.port()).request("GET", "/chat", handshake, "body").body, "plain");
  Client old(weir.port());
  old.send("GET /chat HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(old.read().body, "plain");
  for (auto const& request : origin.requests()) EXPECT_FALSE(request.has("Upgrade")) << request;
}

// REQ-4: of several protocols the one that is tunnelled is asked for alone; the rest of the request goes as it came, past
// the cache and whatever is kept from the origin in other requests.
TEST(Tunnel, AsksForNothingElse) {
  for (std::string const mode : {"guarded", "strict", "all"}) {
    RawOrigin origin;
    Weir weir(origin.url(), "forward: {mode: " + mode + "}\n");
    Client client(weir.port());
    auto fields = handshake;
    fields[0].value = "Upgrade, X-Hop";
    fields[1].value = "h2c, WebSocket";
    for (auto const& field : Fields{{"X-Hop", "1"},
                                    {"Cookie", "s=1; _ga=2"},
                                    {"Authorization", "Basic x"},
                                    {"Sec-WebSocket-Protocol", "chat"},
                                    {"Sec-WebSocket-Extensions", "permessage-deflate"}})
      fields.push_back(field);
    client.send_request("GET", "/chat", fields);
    auto server = origin.accept();
    auto const asked = read_until(server, "\r\n\r\n");
    for (auto const* const line : {"\r\nConnection: Upgrade\r\n", "\r\nUpgrade: websocket\r\n", "\r\nCookie: s=1; _ga=2\r\n",
                                   "\r\nAuthorization: Basic x\r\n", "\r\nSec-WebSocket-Protocol: chat\r\n",
                                   "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"})
      EXPECT_NE(asked.find(line), std::string::npos) << asked;
    for (auto const* const word : {"h2c", "X-Hop"}) EXPECT_EQ(asked.find(word), std::string::npos) << asked;
    server.send_all(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\n"
        "Sec-WebSocket-Protocol: chat\r\n\r\n");
    std::string answer;
    while (answer.find("\r\n\r\n") == std::string::npos && !client.is_closed()) answer += client.read_exactly(1);
    EXPECT_NE(answer.find("\r\nSec-WebSocket-Protocol: chat\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("X-Hop"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Content-Length"), std::string::npos) << answer;
  }
}

}  // namespace
}  // namespace weir::test
