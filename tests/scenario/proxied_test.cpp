// The PROXY protocol in front (SPEC section 12, `listen[].proxy_protocol`): the address that it tells is the client's in
// every respect, and without a header that may be believed there is no connection.
#include <gtest/gtest.h>

#include <unistd.h>

#include "scenario/answers.hpp"
#include "scenario/draining.hpp"
#include "support/certificate.hpp"
#include "support/tls_client.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

constexpr auto rejected = "weir_proxy_header_rejections_total";
std::string const trusting = "trusted_proxies: [127.0.0.1]\n";
std::string const proxied = "listen: [{address: \"127.0.0.1:0\", proxy_protocol: on}]\n" + trusting;

std::string from(std::string const& address) { return "PROXY TCP4 " + address + " 127.0.0.1 4711 80\r\n"; }
std::string const binary_v6 = std::string("\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x27", 16) + std::string("\x20\x01\x0d\xb8", 4) +
                              std::string(11, '\0') + "\x07" + std::string(20, '\1') + std::string("\x04\0\0", 3);
std::string const local = std::string("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);
// A client's connection, and not a word on whose.
std::string const unknown = "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n";
std::string const unspecified = std::string("\r\n\r\n\0\r\nQUIT\n\x21\0\0\0", 16);
std::string const through_a_file = std::string("\r\n\r\n\0\r\nQUIT\n\x21\x31\0\xd8", 16) + std::string(216, '\0');

// FWD-1
TEST(Proxied, TheOriginHearsWhomTheHeaderNames) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.value("X-Forwarded-For")); });
  Weir weir(origin.url(), proxied);
  struct Row {
    std::string header, told;
  };
  for (auto const& [header, told] :
       {Row{from("192.0.2.7"), "192.0.2.7"}, Row{binary_v6, "2001:db8::7"}, Row{local, "127.0.0.1"},
        Row{unknown, "127.0.0.1"}, Row{unspecified, "127.0.0.1"}, Row{through_a_file, "127.0.0.1"}}) {
    Client client(weir.port());
    client.send(header + write_request("GET", "/x", {{"X-Forwarded-For", "203.0.113.9"}}));
    auto const believed =
        header == local ? "203.0.113.9, 127.0.0.1" : told;  // the proxy itself is trusted, its clients are not
    EXPECT_EQ(client.read().body, believed);
    EXPECT_EQ(client.get("/x").body, told);
  }
  EXPECT_EQ(weir.metric(rejected), 0);
}

// REQ-1, REQ-3: bytewise, and then TLS.
TEST(Proxied, TheHeaderEndsWhereTheHandshakeBegins) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.value("Forwarded")); });
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), "listen: [{address: \"127.0.0.1:0\", proxy_protocol: on, tls: {certificates: [{cert: \"" +
                              certificate.file() + "\", key: \"" + certificate.key_file() + "\"}]}}]\n" + trusting);
  TlsClient client(weir.port(), {.before = binary_v6});
  auto const forwarded = client.get("/x").body;
  EXPECT_NE(forwarded.find("for=\"[2001:db8::7]\""), std::string::npos) << forwarded;
  EXPECT_NE(forwarded.find("proto=https"), std::string::npos) << forwarded;
  EXPECT_FALSE(TlsClient(weir.port()).is_connected());
  EXPECT_EQ(weir.metric(rejected), 1);
}

// REQ-1, REQ-3: nothing of it is answered or forwarded.
TEST(Proxied, WithoutAHeaderThereIsNoConnection) {
  ScriptedOrigin origin;
  Weir weir(origin.url(), proxied);
  for (auto const& bytes : {write_request("GET", "/x"), std::string("PROXY TCP4 nonsense\r\n"), std::string(200, 'P'),
                            std::string("PROXY UNKNOWN\n"), local.substr(0, 12) + std::string("\x21\x11\xff\xff", 4)}) {
    Client client(weir.port());
    client.send(bytes);
    EXPECT_TRUE(client.waits_until_closed()) << bytes;
  }
  EXPECT_EQ(weir.metric(rejected), 5);
  Client stranger(weir.port(), {.source = "127.0.0.2"});
  stranger.send(from("127.0.0.1") + write_request("GET", "/x"));
  EXPECT_TRUE(stranger.waits_until_closed());
  EXPECT_EQ(weir.metric(rejected), 6);
  EXPECT_EQ(origin.calls(), 0U);
}

// FWD-1, PRG-3, REQ-3: who has reset the connection before it is accepted is still who it was, and nobody's neighbour.
TEST(Proxied, WhoIsGoneBeforeTheAcceptIsStillAStranger) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200); });
  Weir weir(origin.url(), proxied + "purge: {allow: [192.0.2.7]}\n");
  Weir open(origin.url());
  for (auto* const held : {&weir, &open}) {
    Gate gate;
    hold(*held, gate);
    for (int i = 0; i < 20; ++i) {
      Client stranger(held->port(), {.source = "127.0.0.2"});
      stranger.send((held == &weir ? from("192.0.2.7") : "") + write_request(i % 2 == 0 ? "POST" : "PURGE", "/x"));
      stranger.reset();
    }
    gate.open();
    Client last(held->port());
    last.send(held == &weir ? local : "");
    EXPECT_EQ(last.get("/last").status, 200);
    ASSERT_TRUE(eventually([&] { return held->metric("weir_client_connections") == 1; }));
  }
  EXPECT_EQ(weir.metric(rejected), 20);
  EXPECT_EQ(weir.metric(R"(weir_purges_total{mode="soft"})"), 0);
  for (auto const& request : origin.requests("/x")) EXPECT_EQ(request.value("X-Forwarded-For"), "127.0.0.2");
}

// REQ-3: in pieces, but not for ever.
TEST(Proxied, ASlowHeaderIsCutOff) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {}, "x"));
  Weir weir(origin.url(), proxied);
  Client slow(weir.port()), pieces(weir.port());
  slow.send("PROXY TCP4 192.0.2");
  for (char const byte : from("192.0.2.7") + write_request("GET", "/x")) pieces.send({&byte, 1});
  EXPECT_EQ(pieces.read().body, "x");
  EXPECT_FALSE(slow.is_closed());
  weir.turn(11s);
  EXPECT_TRUE(slow.waits_until_closed());
  EXPECT_EQ(pieces.get("/x").body, "x");
}

// REQ-3: clients are counted by their own address, not by the proxy's.
TEST(Proxied, ConnectionsOfOneClientAreBounded) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {}, "x"));
  Weir weir(origin.url(), proxied + "limits: {connections_per_address: 1}\n");
  auto const opened = [&](std::string const& address) {
    auto client = std::make_unique<Client>(weir.port());
    client->send(from(address) + write_request("GET", "/x"));
    return client;
  };
  auto first = opened("192.0.2.1"), other = opened("192.0.2.2");
  EXPECT_EQ(first->read().body, "x");
  EXPECT_EQ(other->read().body, "x");
  EXPECT_TRUE(opened("192.0.2.1")->waits_until_closed());
  EXPECT_EQ(weir.metric(R"(weir_shed_total{reason="connections"})"), 1);
  first->reset();
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 1; }));
  EXPECT_EQ(opened("192.0.2.1")->read().body, "x");
  EXPECT_EQ(opened("192.0.2.2")->waits_until_closed(), true);
}

// PRG-3
TEST(Proxied, PurgeIsAllowedByTheClientsAddress) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(60)}, "x"));
  Weir weir(origin.url(), proxied + "purge: {allow: [192.0.2.7, 127.0.0.1]}\n");
  auto const purged = [&](std::string const& header, Fields const& fields = {}) {
    Client client(weir.port());
    client.send(header);
    return client.request("PURGE", "/x", fields).status;
  };
  EXPECT_EQ(purged(from("192.0.2.7")), 200);
  EXPECT_EQ(purged(from("192.0.2.8")), 405);
  EXPECT_EQ(purged(local), 200);
  EXPECT_EQ(purged(local, {{"X-Forwarded-For", "192.0.2.8"}}), 405);
  for (auto const& header : {unknown, unspecified, through_a_file}) {
    EXPECT_EQ(purged(header), 405);
    EXPECT_EQ(purged(header, {{"X-Forwarded-For", "192.0.2.7"}}), 405);
  }
}

// REQ-2: whoever may write to the socket's file may say who the client is.
TEST(Proxied, ThroughAUnixSocket) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.value("X-Forwarded-For")); });
  auto const address = "unix:" + testing::TempDir() + "weir-proxied-" + std::to_string(::getpid());
  Weir weir(origin.url(), "listen: [{address: \"" + address + "\", proxy_protocol: on}]\n");
  Client client(0, {.address = address});
  client.send(from("192.0.2.7"));
  EXPECT_EQ(client.get("/x").body, "192.0.2.7");
  Client bare(0, {.address = address});
  bare.send_request("GET", "/x");
  EXPECT_TRUE(bare.waits_until_closed());
}

}  // namespace
}  // namespace weir::test
