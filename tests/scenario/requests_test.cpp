// Section 2: what Weir refuses before anything is looked up, what it lets through byte for byte, and what a client can cost.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "scenario/malformed.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using wire::Refusal;

// REQ-2
TEST(Requests, Http10) {
  ScriptedOrigin origin;
  origin.answer("/x", respond_chunked(200, {}, {"he", "llo"}));
  origin.answer("/c", respond(200, {{"Cache-Control", "max-age=60"}}, "kept"));
  Weir weir(origin);
  Client plain(weir.port());
  plain.send("GET /x HTTP/1.0\r\n\r\n");
  auto const response = plain.read();
  EXPECT_EQ(response.body, "hello");
  EXPECT_FALSE(response.has("Transfer-Encoding"));
  EXPECT_EQ(response.value("Connection"), "close");
  EXPECT_TRUE(plain.waits_until_closed());
  EXPECT_EQ(origin.last_request().version, "HTTP/1.1");
  EXPECT_EQ(origin.last_request().count("Host"), 1U);
  for (int i = 0; i < 2; ++i) {  // from the origin, from the store
    Client kept(weir.port());
    for (int j = 0; j < 2; ++j) {
      kept.send("GET /c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
      auto const again = kept.read();
      EXPECT_EQ(again.body, "kept");
      EXPECT_EQ(again.value("Connection"), "keep-alive");
    }
  }
}

// REQ-2: answers in the order of the requests, whichever is ready first.
TEST(Requests, PipelinedAnswersComeInOrder) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/hit", respond(200, {{"Cache-Control", "max-age=60"}}, "hit"));
  origin.answer("/slow", Script().wait(gate).head(200, {{"Content-Length", "4"}}).body("slow"));
  Weir weir(origin);
  get(weir.port(), "/hit");
  Client client(weir.port());
  std::string requests = write_request("GET", "/slow") + write_request("POST", "/slow", {}, "GET /no HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 100; ++i) requests += write_request("GET", "/hit");
  client.send(requests + write_request("GET", "/slow") + write_request("GET", "/hit", {{"Connection", "close"}}));
  ASSERT_TRUE(weir.waits_for_waiters(1));
  EXPECT_FALSE(client.has_answer());
  gate.open();
  EXPECT_EQ(client.read().body, "slow");
  EXPECT_EQ(client.read().body, "slow");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.read().body, "hit");
  EXPECT_EQ(client.read().body, "slow");
  EXPECT_EQ(client.read().body, "hit");
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_EQ(origin.calls("/no"), 0U);
}

// REQ-2, SRV-4: the same head, no body, on every way an answer can go.
TEST(Requests, Head) {
  ScriptedOrigin origin;
  origin.answer("/cold", respond(200, {{"Cache-Control", "max-age=60"}}, "body"));
  origin.answer("/chunks", respond_chunked(200, {{"Cache-Control", "max-age=60"}}, {"bo", "dy"}));
  origin.answer("/private", respond(200, {{"Cache-Control", "private"}}, "body"));
  Weir weir(origin);
  Client client(weir.port());
  for (std::string const path : {"/cold", "/cold", "/chunks", "/chunks", "/private", "/private", "/none", "/none"}) {
    SCOPED_TRACE(path);
    auto const response = client.request("HEAD", path);
    EXPECT_EQ(response.status, path == "/none" ? 404 : 200);
    EXPECT_EQ(response.body, "");
    EXPECT_TRUE(response.complete);
  }
  EXPECT_EQ(client.request("HEAD", "/cold").value("Content-Length"), "4");
  EXPECT_EQ(client.request("HEAD", "/private").value("Content-Length"), "4");
  EXPECT_EQ(client.get("/cold").body, "body");
  EXPECT_EQ(origin.calls("/cold"), 1U);
  EXPECT_EQ(origin.calls("/chunks"), 1U);
}

// REQ-2, FWD-4: the origin has the first bytes while the client still holds the last.
TEST(Requests, UploadsStream) {
  auto const listener = listen_on();
  Weir weir("http://127.0.0.1:" + std::to_string(local_port(listener)));
  for (bool const chunked : {false, true}) {
    Client client(weir.port());
    client.send("PUT /up HTTP/1.1\r\nHost: a.test\r\n");
    client.send(chunked ? "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n" : "Content-Length: 10\r\n\r\nfirst");
    Socket peer;
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(peer = Socket(::accept(listener.fd(), nullptr, nullptr))); }));
    std::string seen;
    auto const read_until = [&](std::string const& end) {
      while (seen.find(end) == std::string::npos && peer.receive(seen, 65536) == Socket::Got::bytes) continue;
    };
    read_until("first");
    EXPECT_EQ(seen.find("later"), std::string::npos);
    client.send(chunked ? "5;ext=1\r\nlater\r\n0\r\nTrailer: t\r\n\r\n" : "later");
    read_until(chunked ? "\r\n0\r\n\r\n" : "later");
    EXPECT_TRUE(seen.ends_with(chunked ? "\r\n\r\n5\r\nfirst\r\n5\r\nlater\r\n0\r\n\r\n" : "\r\n\r\nfirstlater")) << seen;
    peer.send_all("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(client.read().status, 204);
  }
}

// REQ-2, FWD-4
TEST(Requests, LargeUploadsArriveWhole) {
  ScriptedOrigin origin;
  origin.answer("/up", [](Request const& request) {
    return respond(200, {}, std::to_string(std::hash<std::string>()(request.body)));
  });
  Weir weir(origin);
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i * 7919LL);
  Client client(weir.port());
  EXPECT_EQ(client.request("POST", "/up", {}, body).body, std::to_string(std::hash<std::string>()(body)));
  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 70'000) {
    auto const piece = body.substr(at, 70'000);
    char size[20];
    chunks += std::string(size, static_cast<std::size_t>(std::snprintf(size, sizeof size, "%zx\r\n", piece.size()))) +
              piece + "\r\n";
  }
  client.send_request("POST", "/up", {{"Transfer-Encoding", "chunked"}});
  client.send(chunks + "0\r\n\r\n");
  EXPECT_EQ(client.read().body, std::to_string(std::hash<std::string>()(body)));
  EXPECT_EQ(origin.problems(), std::vector<std::string>());
}

// REQ-1: chunks that break their own framing are cut for the origin and refused for the client.
TEST(Requests, MalformedChunksNeverLookWhole) {
  for (std::string const bad :
       {"5\r\nhelloX\r\n0\r\n\r\n", "g\r\n", "-1\r\n", "0x5\r\nhello\r\n", "5\nhello\r\n", "5\r\nhello\n0\r\n\r\n",
        "ffffffffffffffff1\r\nx", "0\r\nbad trailer\r\n\r\n", "0\r\n folded: x\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n"}) {
    SCOPED_TRACE(testing::PrintToString(bad));
    ScriptedOrigin origin;
    origin.answer("/up", respond(200));
    Weir weir(origin);
    Client client(weir.port());
    client.send_request("POST", "/up", {{"Transfer-Encoding", "chunked"}});
    client.send(bad);
    auto const response = client.read();
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.value("Connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(origin.calls(), 0U);
  }
}

// REQ-2: the target's own authority replaces the Host field.
TEST(Requests, AbsoluteForm) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=60"}}, request.target + "|" + request.value("Host"));
  });
  Weir weir(origin);
  Client client(weir.port());
  EXPECT_EQ(client.get("HTTP://Other.test:80/a?b", {{"Host", "a.test"}}).body, "/a?b|other.test");
  EXPECT_EQ(client.get("http://other.test?q", {{"Host", "a.test"}}).body, "/?q|other.test");
  EXPECT_TRUE(cache_status(client.get("/a?b", {{"Host", "other.test."}})).hit());
  EXPECT_FALSE(cache_status(client.get("/a?b", {{"Host", "a.test"}})).hit());
  EXPECT_EQ(origin.calls(), 3U);
}

// REQ-2
TEST(Requests, AnyMethod) {
  ScriptedOrigin origin;
  origin.answer_rest(
      [](Request const& request) { return respond(200, {}, request.method + " " + request.target + " " + request.body); });
  Weir weir(origin);
  Client client(weir.port());
  EXPECT_EQ(client.request("OPTIONS", "*").body, "OPTIONS * ");
  for (std::string const method : {"OPTIONS", "get", "PROPFIND", "QUERY", "M-SEARCH", "a!#$%&'*+.^_`|~9", "DELETE"}) {
    EXPECT_EQ(client.request(method, "/x").body, method + " /x ");
    EXPECT_EQ(client.request(method, "/x", {}, "data").body, method + " /x data");
  }
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(origin.calls(), 15U);
}

// REQ-2, KEY-2: an IPv6 origin behind an IPv6 listener, and a Host that is an address.
TEST(Requests, Ipv6) {
  ScriptedOrigin origin("::1");
  origin.answer("/x", [](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=60"}}, request.value("Host"));
  });
  Weir weir(origin.url(), "", "[::1]:0");
  Client client(weir.port(), {.address = "::1"});
  EXPECT_EQ(client.get("/x", {{"Host", "[::1]:8080"}}).body, "[::1]:8080");
  EXPECT_TRUE(origin.last_request().value("Forwarded").starts_with("for=\"[::1]\";")) << origin.last_request();
  EXPECT_EQ(origin.last_request().value("X-Forwarded-For"), "::1");
  EXPECT_TRUE(cache_status(client.get("/x", {{"Host", "[::1]:8080"}})).hit());
  EXPECT_EQ(client.get("/x", {{"Host", "[::1]"}}).body, "[::1]");
}

// REQ-2, FWD-1: a unix socket; its clients have no address.
TEST(Requests, UnixSocket) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=60"}}, "x"));
  auto const address = "unix:" + testing::TempDir() + "weir-requests-" + std::to_string(::getpid());
  Weir weir(origin.url(), "", address);
  for (int i = 0; i < 20; ++i) {
    Client client(0, {.address = address});
    EXPECT_EQ(client.get("/x").body, "x");
    EXPECT_EQ(client.get("/x").body, "x");
  }
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_FALSE(origin.last_request().has("X-Forwarded-For"));
  EXPECT_TRUE(origin.last_request().value("Forwarded").starts_with("for=unknown;"));
}

// Turns the clock until `done`, doing `meanwhile` at each step; what the clock says then.
template <class Done, class Meanwhile>
base::SteadyTime turn_until(Weir& weir, Done const& done, Meanwhile const& meanwhile) {
  bool const ended = eventually([&] {
    if (done()) return true;
    meanwhile();
    weir.turn(250ms);
    return false;
  });
  EXPECT_TRUE(ended);
  return base::Clock::now();
}
template <class Done>
base::SteadyTime turn_until(Weir& weir, Done const& done) {
  return turn_until(weir, done, [] {});
}

// REQ-3: progress by single bytes does not help.
TEST(Requests, SlowHeadGets408) {
  ScriptedOrigin origin;
  Weir weir(origin);
  for (bool const drips : {false, true}) {
    Client client(weir.port());
    auto const from = base::Clock::now();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\nX: y");
    auto const until = turn_until(
        weir, [&] { return client.has_answer(); },
        [&] {
          if (drips) client.send("y");
        });
    EXPECT_GE(until - from, 10s);
    auto const response = client.read();
    EXPECT_EQ(response.status, 408);
    EXPECT_EQ(response.value("Connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
  }
  EXPECT_EQ(origin.connections(), 0U);
}

// REQ-3: each head has its own time, and the time of an answer is not the client's.
TEST(Requests, HeadTimeIsForOneHead) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/slow", Script().wait(gate).head(200, {{"Content-Length", "4"}}).body("slow"));
  Weir weir(origin);
  Client client(weir.port());
  auto const request = write_request("GET", "/slow");
  client.send(request.substr(0, 20));
  client.send(request.substr(20));
  ASSERT_TRUE(weir.waits_for_waiters(1));
  weir.turn(8s);
  gate.open();
  EXPECT_EQ(client.read().body, "slow");
  weir.turn(8s);
  EXPECT_EQ(client.get("/slow").body, "slow");
}

// REQ-3
TEST(Requests, IdleConnectionsAreClosed) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=600"}}, "x"));
  Weir weir(origin);
  for (bool const used : {false, true}) {
    auto const from = base::Clock::now();
    Client client(weir.port());
    if (used) { EXPECT_EQ(client.get("/x").status, 200); }
    EXPECT_GE(turn_until(weir, [&] { return client.is_closed(); }) - from, 59s);
    EXPECT_EQ(client.read_to_end(), "");
  }
  Client busy(weir.port(), {});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(busy.get("/x").status, 200);
    weir.turn(30s);
  }
  EXPECT_EQ(origin.calls(), 1U);
}

// REQ-3
TEST(Requests, RequestsOfAConnectionAreCounted) {
  ScriptedOrigin origin;
  origin.answer("/hit", respond(200, {{"Cache-Control", "max-age=600"}}, "x"));
  origin.answer("/miss", respond(200, {{"Cache-Control", "no-store"}}, "x"));
  Weir weir(origin, "limits: {requests_per_connection: 3}\n");
  for (std::string const path : {"/hit", "/miss"}) {
    Client client(weir.port());
    std::string requests;
    for (int i = 0; i < 8; ++i) requests += write_request("GET", path);
    client.send(requests);
    EXPECT_EQ(client.read().value("Connection"), "");
    EXPECT_EQ(client.read().value("Connection"), "");
    EXPECT_EQ(client.read().value("Connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
  }
  EXPECT_EQ(origin.calls("/miss"), 3U);
}

// REQ-2, REQ-3: a last answer is not lost to the bytes that still come behind its request.
TEST(Requests, LastAnswerSurvivesWhatStillComes) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=600"}}, std::string(100'000, 'x')));
  Weir weir(origin);
  for (int i = 0; i < 2; ++i) {  // from the origin, from the store
    Client client(weir.port());
    client.send(write_request("GET", "/x", {{"Connection", "close"}}) + std::string(200'000, 'y'));
    auto const response = client.read();
    EXPECT_EQ(response.body.size(), 100'000U);
    EXPECT_EQ(client.read_to_end(), "");
    client.finish_sending();
    EXPECT_TRUE(client.waits_until_closed());
  }
}

// REQ-3
TEST(Requests, ConnectionsAreBounded) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Weir weir(origin, "limits: {connections: 2}\n");
  auto first = std::make_unique<Client>(weir.port());
  EXPECT_EQ(first->get("/x").status, 200);
  Client second(weir.port());
  EXPECT_EQ(second.get("/x").status, 200);
  Client third(weir.port());
  EXPECT_TRUE(third.waits_until_closed());
  EXPECT_EQ(weir.metric("weir_shed_total{reason=\"connections\"}"), 1);
  first.reset();
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 1; }));
  EXPECT_EQ(get(weir.port(), "/x").status, 200);
  EXPECT_EQ(second.get("/x").status, 200);
}

// REQ-3
TEST(Requests, ConnectionsOfOneAddressAreBounded) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Weir weir(origin, "limits: {connections_per_address: 1}\n");
  auto first = std::make_unique<Client>(weir.port());
  EXPECT_EQ(first->get("/x").status, 200);
  Client second(weir.port());
  EXPECT_TRUE(second.waits_until_closed());
  Client other(weir.port(), {.address = "127.0.0.1", .source = "127.0.0.2"});
  EXPECT_EQ(other.get("/x").status, 200);
  first.reset();
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 1; }));
  EXPECT_EQ(get(weir.port(), "/x").status, 200);
}

// REQ-3: the bounds are settings.
TEST(Requests, BoundsCanBeSet) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Weir weir(origin, "limits: {header_bytes: 2KiB, header_count: 3, target_bytes: 100B, body_bytes: 10B}\n");
  auto const status = [&](std::string const& bytes) {
    Client client(weir.port());
    client.send(bytes);
    return client.read().status;
  };
  EXPECT_EQ(status(target("/" + std::string(99, 'a'))), 200);
  EXPECT_EQ(status(target("/" + std::string(100, 'a'))), 414);
  EXPECT_EQ(status(with("X: y\r\nX: y", "GET")), 200);
  EXPECT_EQ(status(with("X: y\r\nX: y\r\nX: y", "GET")), 431);
  EXPECT_EQ(status(with("X: " + std::string(1900, 'y'), "GET")), 200);
  EXPECT_EQ(status(with("X: " + std::string(2100, 'y'), "GET")), 431);
  EXPECT_EQ(status(write_request("POST", "/x", {}, std::string(10, 'b'))), 200);
  EXPECT_EQ(status(write_request("POST", "/x", {}, std::string(11, 'b'))), 413);
  EXPECT_EQ(status(with("Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n\r\n"), 200);
  auto const calls = origin.calls();
  EXPECT_EQ(status(with("Transfer-Encoding: chunked") + "a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n"), 413);
  EXPECT_EQ(origin.calls(), calls);  // no whole request of it came
}

// REQ-3: the client is to blame, not the origin.
TEST(Requests, SlowBodyGets408) {
  ScriptedOrigin origin;
  origin.answer("/up", respond(200));
  Weir weir(origin);
  for (std::string const framing : {"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"}) {
    auto const from = base::Clock::now();
    Client client(weir.port());
    client.send("POST /up HTTP/1.1\r\nHost: a.test\r\n" + framing);
    ASSERT_TRUE(eventually([&] { return weir.daemon().shared().fetches_under_way.load() == 1; }));
    EXPECT_GE(turn_until(weir, [&] { return client.has_answer(); }) - from, 29s);
    auto const response = client.read();
    EXPECT_EQ(response.status, 408);
    EXPECT_EQ(response.value("Connection"), "close");
    EXPECT_EQ(client.read_to_end(), "");
  }
  EXPECT_EQ(origin.calls(), 0U);
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"bypass\",result=\"timeout\"}"), 0);
}

// REQ-3, COA-9: who does not read for 30 s is cut off, and nobody else notices.
TEST(Requests, SlowReaderCostsOneConnection) {
  ScriptedOrigin origin;
  std::string const body(4'000'000, 'b');
  origin.answer("/big", respond(200, {{"Cache-Control", "max-age=6000"}}, body));
  Weir weir(origin);
  Client slow(weir.port(), {.receive_buffer = 4096});
  auto const from = base::Clock::now();
  slow.send_request("GET", "/big");
  ASSERT_TRUE(eventually([&] { return slow.has_answer(); }));
  EXPECT_EQ(get(weir.port(), "/big").body.size(), body.size());
  EXPECT_GE(turn_until(weir, [&] { return weir.daemon().sessions() == 0; }) - from, 29s);
  EXPECT_FALSE(slow.read().complete);
  EXPECT_EQ(origin.calls(), 1U);
}

// REQ-4
TEST(Requests, ConnectAndTraceAreRefused) {
  ScriptedOrigin origin;
  Weir weir(origin);
  Client client(weir.port());
  for (auto const& request :
       {write_request("TRACE", "/x"), write_request("CONNECT", "a.test:443", {{"Host", "a.test:443"}})}) {
    client.send(request);
    auto const response = client.read();
    EXPECT_EQ(response.status, 405);
    EXPECT_FALSE(response.value("Allow").empty());
  }
  EXPECT_EQ(origin.connections(), 0U);
}

// REQ-4: anything but a websocket is a plain request, and the origin hears nothing of an upgrade.
TEST(Requests, UpgradesAreRemoved) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=60"}}, "x"));
  origin.answer("/101",
                Script().send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n").hang());
  Weir weir(origin);
  Fields const h2c{{"Connection", "Upgrade, HTTP2-Settings"}, {"Upgrade", "h2c"}, {"HTTP2-Settings", "AAMAAABkAAQAAP__"}};
  Client client(weir.port());
  for (std::string const method : {"GET", "POST"}) {
    EXPECT_EQ(client.request(method, "/x", h2c).status, 200);
    auto const seen = origin.last_request();
    EXPECT_FALSE(seen.has("Upgrade") || seen.has("HTTP2-Settings") || seen.has("Connection")) << seen;
  }
  EXPECT_EQ(client.request("POST", "/x", {{"Connection", "upgrade"}, {"Upgrade", "websocket"}}).status, 200);
  EXPECT_EQ(client.get("/x", {{"Upgrade", "websocket"}}).status, 200);
  EXPECT_EQ(get(weir.port(), "/101", h2c).status, 502);
}

}  // namespace
}  // namespace weir::test
