// Connections to the origin, and how many requests it gets at once.
#include <gtest/gtest.h>

#include <filesystem>

#include "scenario/tls_origin.hpp"
#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field const fresh{"Cache-Control", "max-age=60"};
Field length(std::size_t size) { return {"Content-Length", std::to_string(size)}; }

// A port where nobody listens.
std::uint16_t closed_port() { return local_port(listen_on()); }

Response post(Weir const& weir, std::string const& target) {
  return Client(weir.port()).request("POST", target, {}, "data");
}

// One after the other through one client: one worker, and so one pool.
struct Line {
  explicit Line(Weir const& weir) : client(weir.port()) {}
  Response get(std::string const& target) { return client.get(target); }
  Client client;
};

// REL-1
TEST(Origin, ConnectionsAreKeptAndUsedAgain) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    if (request.target == "/chunked") return respond_chunked(200, {fresh}, {"a", "b"});
    if (request.target == "/empty") return respond(204, {fresh});
    return respond(request.target == "/missing" ? 404 : 200, {}, "body");
  });
  Weir weir(origin);
  Line line(weir);
  for (auto const* const target : {"/a", "/chunked", "/empty", "/missing", "/b"}) EXPECT_TRUE(line.get(target).complete);
  EXPECT_TRUE(line.client.request("HEAD", "/a").complete);
  EXPECT_EQ(origin.calls(), 6U);
  EXPECT_EQ(origin.connections(), 1U);
}

// REL-1
TEST(Origin, IdleConnectionsAreClosedInTime) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "body"); });
  Weir weir(origin);
  Line line(weir);
  line.get("/a");
  weir.turn(29s);
  line.get("/b");
  EXPECT_EQ(origin.connections(), 1U);
  weir.turn(31s);
  line.get("/c");
  EXPECT_EQ(origin.connections(), 2U);
}

// REL-1: the pool's bound.
TEST(Origin, PoolKeepsNoMoreThanItsBound) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const&) { return Script().wait(gate).head(200, {length(2)}).body("ok"); });
  Weir weir(origin, "origins: {default: {pool: {idle: 1}}}\n");
  Burst burst(weir.port(), 8);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  ASSERT_TRUE(origin.waits_for_calls(8));
  gate.open();
  burst.collect();
  EXPECT_EQ(origin.connections(), 8U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(get(weir.port(), "/again").status, 200);
  EXPECT_LE(origin.connections(), 9U);  // one a worker was kept
}

// REL-1, OBS-1
TEST(Origin, RefusedConnectionIs502) {
  Weir weir("http://127.0.0.1:" + std::to_string(closed_port()));
  auto const response = get(weir.port(), "/x");
  EXPECT_EQ(response.status, 502);
  EXPECT_EQ(response.value("Proxy-Status"), "Weir; error=connection_refused");
  EXPECT_FALSE(response.has("Cache-Status"));  // RFC 9211 2
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"miss\",result=\"connect-failed\"}"), 1);
  EXPECT_EQ(weir.metric("weir_origin_inflight"), 0);
}

// REL-1: a full backlog swallows connections without a word.
TEST(Origin, ConnectingHasItsTime) {
  auto const listener = listen_on(0, "127.0.0.1", 0);
  auto const port = local_port(listener);
  std::vector<Socket> fill;
  for (int i = 0; i < 1; ++i) fill.push_back(connect_to(port));
  Weir weir("http://127.0.0.1:" + std::to_string(port), "timeouts: {connect: 3s}\n");
  Client client(weir.port());
  client.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  weir.turn(2s);
  EXPECT_FALSE(client.has_answer());
  ASSERT_TRUE(eventually([&] {
    weir.turn(500ms);
    return client.has_answer();
  }));
  auto const response = client.read();
  EXPECT_EQ(response.status, 504);
  EXPECT_TRUE(response.value("Proxy-Status") == "Weir; error=connection_timeout" ||
              response.value("Proxy-Status") == "Weir; error=connection_read_timeout")
      << response;
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// REL-1: from permit to head.
TEST(Origin, HeadHasItsTime) {
  ScriptedOrigin origin;
  origin.answer("/x", hang());
  Weir weir(origin, "timeouts: {origin: 8s}\n");
  Client client(weir.port());
  client.send_request("GET", "/x", {{"Authorization", "me"}});
  ASSERT_TRUE(origin.waits_for_calls(1));
  weir.turn(7s);
  EXPECT_EQ(get(weir.port(), "/y").status, 404);
  EXPECT_FALSE(client.has_answer());
  weir.turn(2s);
  auto const response = client.read();
  EXPECT_EQ(response.status, 504);
  EXPECT_EQ(response.value("Proxy-Status"), "Weir; error=connection_read_timeout");
  ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"pass\",result=\"timeout\"}"), 1);
}

// REL-1, COA-10: between two bytes of a body, each byte anew.
TEST(Origin, SilenceInABodyHasItsTime) {
  ScriptedOrigin origin;
  Gate more;
  origin.answer("/x", Script().head(200, {fresh, length(100)}).body("hello").wait(more).body("world").hang());
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/x");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  weir.turn(59s);
  more.open();
  EXPECT_EQ(client.read_at_least(10).body, "helloworld");
  weir.turn(59s);
  EXPECT_EQ(get(weir.port(), "/y").status, 404);
  EXPECT_FALSE(client.is_closed());
  weir.turn(2s);
  EXPECT_FALSE(client.read().complete);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.entries(), 0U);
}

// REL-1
TEST(Origin, UnixSocketsAreOrigins) {
  auto const path = std::filesystem::temp_directory_path() / ("weir-origin-" + std::to_string(::getpid()) + ".sock");
  std::filesystem::remove(path);
  {
    ScriptedOrigin origin("unix:" + path.string());
    origin.answer("/x", respond(200, {fresh}, "hello"));
    Weir weir("unix:" + path.string());
    EXPECT_EQ(get(weir.port(), "/x").body, "hello");
    EXPECT_EQ(origin.last_request().value("Host"), "weir.test");
    EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
    origin.stop();
    EXPECT_EQ(get(weir.port(), "/y").status, 502);
  }
  std::filesystem::remove(path);
}

// REL-1: verification is on unless it is switched off, and then the authority decides, and the name.
TEST(Origin, CertificatesAreVerified) {
  TlsOrigin origin("127.0.0.1"), stranger("somebody.else");
  auto const trusting = [](TlsOrigin const& it) {
    return "origins: {default: {tls: {ca_file: \"" + it.certificate_file() + "\"}}}\n";
  };
  {
    Weir weir(origin.url());
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.status, 502);
    EXPECT_TRUE(response.value("Proxy-Status").starts_with("Weir; error=tls_")) << response;
    EXPECT_EQ(origin.calls(), 0U);
  }
  {
    Weir weir(origin.url(), trusting(origin));
    EXPECT_EQ(get(weir.port(), "/x").body, "tls /x");
    EXPECT_EQ(origin.names(), std::vector<std::string>{""});  // an address is no server name
  }
  EXPECT_EQ(get(Weir(stranger.url(), trusting(stranger)).port(), "/x").status, 502);
  EXPECT_EQ(stranger.calls(), 0U);
  Weir named(stranger.url(),
             "origins: {default: {tls: {ca_file: \"" + stranger.certificate_file() + "\", server_name: somebody.else}}}\n");
  EXPECT_EQ(get(named.port(), "/x").body, "tls /x");
  EXPECT_EQ(stranger.names(), std::vector<std::string>{"somebody.else"});
  Weir careless(stranger.url(), "origins: {default: {tls: {verify: false}}}\n");
  EXPECT_EQ(get(careless.port(), "/x").body, "tls /x");
}

// REL-1, REL-2: kept over TLS too, and what follows an answer in the same record is nobody's.
TEST(Origin, TlsConnectionsAreKeptUnlessBytesAreLeftOver) {
  TlsOrigin origin("127.0.0.1");
  Weir weir(origin.url(), "origins: {default: {tls: {verify: false}}}\n");
  Line line(weir);
  EXPECT_EQ(line.get("/a").body, "tls /a");
  EXPECT_EQ(line.get("/b").body, "tls /b");
  EXPECT_EQ(origin.connections(), 1U);
  origin.append("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  origin.pad(100'000);
  for (auto const* const target : {"/c", "/d", "/e"})
    EXPECT_TRUE(line.get(target).body.starts_with(std::string("tls ") + target));
  EXPECT_EQ(origin.connections(), 3U);
}

// REL-2: once, on a new connection, and only where it may be done twice.
TEST(Origin, DeadPooledConnectionIsRetriedOnceForGetAndNeverForPost) {
  for (auto const* const method : {"GET", "PUT", "POST", "PATCH"}) {
    ScriptedOrigin origin;
    std::atomic<int> number{0};
    origin.answer_rest([&](Request const& request) {
      if (request.target == "/warm") return respond(200, {}, "warm");
      return number.fetch_add(1) == 0 ? close() : respond(200, {}, "second");
    });
    Weir weir(origin);
    Line line(weir);
    line.get("/warm");
    auto const response = line.client.request(method, "/x");
    bool const repeats = std::string(method) == "GET" || std::string(method) == "PUT";
    EXPECT_EQ(response.status, repeats ? 200 : 502) << method << response;
    EXPECT_EQ(origin.calls("/x"), repeats ? 2U : 1U) << method;
    EXPECT_EQ(origin.connections(), repeats ? 2U : 1U) << method;
    if (repeats) EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"retry\",result=\"ok\"}"), 1);
  }
}

// REL-2: not a second time, not on a connection that was new, not with a body, not after a first byte.
TEST(Origin, NothingElseIsRetried) {
  ScriptedOrigin origin;
  origin.answer("/warm", respond(200, {}, "warm"));
  origin.answer("/always", close());
  origin.answer("/byte", Script().send("H").close());
  origin.answer("/head", Script().send("HTTP/1.1 200 OK\r\nContent-Le").reset());
  Weir weir(origin);
  EXPECT_EQ(get(weir.port(), "/always").status, 502);
  EXPECT_EQ(origin.calls("/always"), 1U);
  Line line(weir);
  for (auto const* const target : {"/always", "/byte", "/head"}) {
    auto const before = origin.calls(target);
    line.get("/warm");
    EXPECT_EQ(line.get(target).status, 502);
    EXPECT_EQ(origin.calls(target) - before, std::string(target) == "/always" ? 2U : 1U) << target;
  }
  line.get("/warm");
  auto const before = origin.calls("/always");
  EXPECT_EQ(line.client.request("PUT", "/always", {}, "data").status, 502);
  EXPECT_EQ(origin.calls("/always") - before, 1U);
}

// REL-2: one that is not idempotent takes no connection that was idle for a second.
TEST(Origin, PostTakesNoOldConnection) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "ok"); });
  Weir weir(origin);
  Line line(weir);
  line.get("/a");
  line.client.request("POST", "/b", {}, "data");
  EXPECT_EQ(origin.connections(), 1U);
  weir.turn(1s);
  line.client.request("POST", "/c", {}, "data");
  EXPECT_EQ(origin.connections(), 2U);
}

// REL-2: bytes that nobody asked for, with an answer or after it.
TEST(Origin, StrayBytesAreNeverDelivered) {
  std::string const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  for (bool const later : {false, true}) {
    ScriptedOrigin origin;
    Gate gate;
    auto script = Script().head(200, {length(4)}).body("good");
    if (later) script.wait(gate);
    origin.answer("/a", script.send(evil));
    origin.answer("/sent", Script().head(204));
    origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
    Weir weir(origin);
    Line line(weir);
    EXPECT_EQ(line.get("/a").body, "good");
    gate.open();
    ASSERT_TRUE(eventually([&] { return origin.at_once() == 0; }));
    for (auto const* const target : {"/b", "/c", "/d"}) EXPECT_EQ(line.get(target).body, target);
    EXPECT_EQ(origin.connections(), 2U);
  }
}

// SRV-2, REL-1: a 304 about something else on a connection that ends with it.
TEST(Origin, MismatchedValidationOnAClosingConnectionIsAskedAgain) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {fresh, {"ETag", "\"one\""}}, "one"),
                       Script().send("HTTP/1.1 304 Not Modified\r\nETag: \"two\"\r\nConnection: close\r\n\r\n").close(),
                       respond(200, {fresh, {"ETag", "\"two\""}}, "two")});
  Weir weir(origin);
  EXPECT_EQ(get(weir.port(), "/x").body, "one");
  weir.turn(61s);
  EXPECT_EQ(get(weir.port(), "/x").body, "two");
  EXPECT_EQ(origin.calls(), 3U);
}

// REQ-1 for the other side: what is not HTTP is a 502, and none of it is forwarded.
TEST(Origin, MalformedAnswersAre502) {
  for (std::string const head : {
           "nonsense\r\n\r\n",
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 2000 OK\r\n\r\n",
           "HTTP/1.1 200 OK\r\nX-Bad : evil\r\n\r\n",
           "HTTP/1.1 200 OK\r\nX-Bad: a\r\n evil\r\n\r\n",
           "HTTP/1.1 200 OK\r\nX-Bad evil\r\n\r\n",
           "HTTP/1.1 200 OK\r\nX-Bad: evil\rX: y\r\n\r\n",
           "HTTP/1.1 200 OK\nX-Bad: evil\n\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil",
           "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nevil",
           "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nevil",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nevil",
           "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nevil",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: evil\r\nConnection: upgrade\r\n\r\n",
       }) {
    ScriptedOrigin origin;
    origin.answer("/x", Script().send(head).close());
    Weir weir(origin);
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.status, 502) << head << response;
    EXPECT_EQ(response.raw.find("evil"), std::string::npos) << head;
    EXPECT_TRUE(response.value("Proxy-Status").starts_with("Weir; error=http_")) << response;
    EXPECT_EQ(origin.calls(), 1U) << head;
    EXPECT_EQ(weir.entries(), 0U);
  }
}

// The head's bound, and interim heads without end.
TEST(Origin, EndlessHeadsAre502) {
  ScriptedOrigin origin;
  origin.answer("/long", Script().send("HTTP/1.1 200 OK\r\nX-Long: " + std::string(1'000'000, 'x')).hang());
  origin.answer("/many", Script()
                             .send([] {
                               std::string many = "HTTP/1.1 200 OK\r\n";
                               for (int i = 0; i < 10'000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
                               return many + "\r\n";
                             }())
                             .hang());
  Weir weir(origin);
  for (auto const* const target : {"/long", "/many"}) {
    auto const response = get(weir.port(), target);
    EXPECT_EQ(response.status, 502);
    EXPECT_EQ(response.value("Proxy-Status"), "Weir; error=http_response_header_section_size") << target;
  }
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// LIM-1: many keys, few permits; all are answered.
TEST(Origin, NeverMoreRequestsAtOnceThanPermits) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {fresh}, request.target); });
  Weir weir(origin, "limiter: {max_concurrent: 4}\n");
  Burst burst(weir.port(), 400);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 400}}));
  EXPECT_EQ(origin.calls(), 400U);
  EXPECT_LE(origin.most_at_once(), 4U);
  EXPECT_GE(weir.metric("weir_limiter_wait_seconds_count"), 400);
}

// LIM-1, OBS-1: a full queue sheds at once, a slow one in its time, both with a hint when to come again.
TEST(Origin, BeyondTheQueueRequestsAreShed) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const&) { return Script().wait(gate).head(200, {length(2)}).body("ok"); });
  Weir weir(origin, "limiter: {max_concurrent: 2, max_queue: 8, max_partition_share: 100}\n");
  Burst burst(weir.port(), 30);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect(20);
  EXPECT_EQ(weir.metric("weir_shed_total{reason=\"queue-full\"}"), 20);
  EXPECT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 8; }));
  weir.turn(6s);
  burst.collect(28);
  EXPECT_EQ(weir.metric("weir_shed_total{reason=\"queue-timeout\"}"), 8);
  for (auto const& response : burst.responses()) {
    if (!response.complete) continue;
    EXPECT_EQ(response.status, 503);
    auto const after = response.value("Retry-After");
    EXPECT_TRUE(after.size() == 1 && after >= "1" && after <= "5") << response;
    EXPECT_EQ(response.value("Proxy-Status"), "Weir; error=connection_limit_reached");
  }
  ASSERT_TRUE(origin.waits_for_calls(2));
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 2}, {503, 28}}));
  EXPECT_EQ(origin.most_at_once(), 2U);
}

// LIM-1: whatever way a fetch ends, its permit comes back.
TEST(Origin, PermitsReturnAfterEveryWayOut) {
  ScriptedOrigin origin;
  Gate never;
  origin.answer("/304", [](Request const& request) {
    return request.has("If-None-Match") ? Script().send("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
                                        : respond(200, {{"ETag", "\"v\""}, {"Cache-Control", "max-age=1"}}, "x");
  });
  origin.answer("/reset", reset());
  origin.answer("/bad", Script().send("nonsense\r\n\r\n").close());
  origin.answer("/cut", Script().head(200, {fresh, length(10)}).body("hello").close());
  origin.answer("/hang", hang());
  origin.answer("/gone", Script().head(200, {length(10), {"Cache-Control", "private"}}).body("hello").wait(never));
  for (int const status : {200, 204, 301, 404, 500, 503})
    origin.answer("/" + std::to_string(status), respond(status, {}, "x"));
  Weir weir(origin, "limiter: {max_concurrent: 1, max_streams: 1, max_uploads: 1}\n");
  for (int round = 0; round < 3; ++round) {
    weir.turn(31s);
    for (auto const* const target : {"/200", "/204", "/301", "/304", "/404", "/500", "/503", "/reset", "/bad", "/cut"})
      get(weir.port(), target);
    EXPECT_EQ(post(weir, "/200").status, 200);
    Client gone(weir.port()), late(weir.port());
    gone.send_request("GET", "/gone");
    EXPECT_EQ(gone.read_at_least(5).body, "hello");
    gone.reset();
    ASSERT_TRUE(weir.waits_until_no_flights());
    late.send_request("GET", "/hang");
    ASSERT_TRUE(origin.waits_for_calls(1) &&
                eventually([&] { return origin.calls("/hang") == static_cast<std::size_t>(round) + 1; }));
    weir.turn(31s);
    EXPECT_EQ(late.read().status, 504);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.metric("weir_origin_inflight"), 0);
    auto const stats = weir.daemon().setup()->origins.at("default")->limiter.stats();
    EXPECT_EQ(stats.fetches + stats.uploads + stats.streams + stats.queued + stats.background, 0U);
  }
}

// LIM-1: who leaves while it waits for a permit leaves the queue too.
TEST(Origin, DepartedClientsLeaveTheQueue) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const&) { return Script().wait(gate).head(200, {length(2)}).body("ok"); });
  Weir weir(origin, "limiter: {max_concurrent: 1}\n");
  Client first(weir.port()), second(weir.port());
  first.send_request("GET", "/a");
  ASSERT_TRUE(origin.waits_for_calls(1));
  second.send_request("GET", "/b", {{"Authorization", "me"}});
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 1; }));
  second.reset();
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 0; }));
  gate.open();
  EXPECT_EQ(first.read().status, 200);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.calls(), 1U);
}

}  // namespace
}  // namespace weir::test
