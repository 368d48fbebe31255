// OBS-1: Proxy-Status (RFC 9209) on everything that Weir says itself, and on nothing else.
#include <gtest/gtest.h>

#include <functional>

#include "scenario/answers.hpp"
#include "scenario/raw_origin.hpp"
#include "scenario/status_members.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

struct Row {
  std::string name, yaml;
  std::function<Response(ScriptedOrigin&, Weir&)> ask;
  int status;
  std::string error;
  bool retry_after = false;
};

void expect_all(std::vector<Row> const& rows) {
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    Weir weir(origin, row.yaml);
    auto const response = row.ask(origin, weir);
    EXPECT_EQ(response.status, row.status) << response;
    EXPECT_EQ(proxy_error(response), row.error) << response;
    EXPECT_EQ(response.has("Retry-After"), row.retry_after);
    EXPECT_TRUE(response.complete) << response;
    EXPECT_EQ(response.count("Date"), 1U);
    EXPECT_EQ(response.value("Cache-Control"), "no-store");
  }
}

auto asks(std::string const& method, std::string const& target, Fields const& fields = {}) {
  return [=](ScriptedOrigin&, Weir& weir) { return Client(weir.port()).request(method, target, fields); };
}
auto sends(std::string const& bytes) {
  return [=](ScriptedOrigin&, Weir& weir) {
    Client client(weir.port());
    client.send(bytes);
    return client.read();
  };
}
auto answers(Script const& script) {
  return [=](ScriptedOrigin& origin, Weir& weir) {
    origin.answer("/x", script);
    return get(weir.port(), "/x");
  };
}

// What the origin did, or did not do.
TEST(ProxyStatus, OriginsFailures) {
  expect_all({
      {"nobody listens", "", [](ScriptedOrigin& origin, Weir& weir) { return (origin.stop(), get(weir.port(), "/x")); }, 502,
       "connection_refused"},
      {"it hangs up", "", answers(close()), 502, "connection_terminated"},
      {"it breaks off", "", answers(reset()), 502, "connection_terminated"},
      {"half a head", "", answers(Script().send("HTTP/1.1 200 OK\r\nA").close()), 502, "connection_terminated"},
      {"only an interim answer", "", answers(Script().send("HTTP/1.1 102 Wait\r\n\r\n").close()), 502,
       "connection_terminated"},
      {"it says nothing", "timeouts: {origin: 20s}\n",
       [](ScriptedOrigin& origin, Weir& weir) {
         origin.answer("/x", hang());
         Client client(weir.port());
         client.send_request("GET", "/x");
         EXPECT_TRUE(origin.waits_for_calls(1));
         weir.turn(21s);
         return client.read();
       },
       504, "connection_read_timeout"},
      {"it speaks no HTTP", "", answers(Script().send("220 smtp ready\r\n\r\n").close()), 502, "http_protocol_error"},
      {"two lengths", "", answers(Script().head(200, {{"Content-Length", "1"}, {"Content-Length", "2"}}).body("x")), 502,
       "http_protocol_error"},
      {"a head without end", "", answers(Script().head(200, {{"A", std::string(100'000, 'a')}})), 502,
       "http_response_header_section_size"},
  });
}

// A name that no resolver asks anybody about, as a host's begins with no hyphen, and a peer that speaks no TLS.
TEST(ProxyStatus, OriginsThatAreNotThere) {
  Weir nameless("http://-nobody.invalid:80");
  auto response = get(nameless.port(), "/x");
  EXPECT_TRUE(response.status == 502 && proxy_error(response) == "dns_error") << response;
  RawOrigin plain_text;
  Weir secured("https://127.0.0.1:" + plain_text.url().substr(plain_text.url().rfind(':') + 1));
  Client client(secured.port());
  client.send_request("GET", "/x");
  auto peer = plain_text.accept();
  peer.send_all("HTTP/1.1 400 Bad Request\r\n\r\n");
  response = client.read();
  EXPECT_TRUE(response.status == 502 && proxy_error(response) == "tls_protocol_error") << response;
}

// What Weir will not ask of its origin.
TEST(ProxyStatus, Protection) {
  expect_all({
      {"a full queue", "limiter: {max_concurrent: 1, max_queue: 1}\n",
       [](ScriptedOrigin& origin, Weir& weir) {
         Gate gate;
         origin.answer("/x", Script().wait(gate).head(204));
         Client busy(weir.port()), waits(weir.port());
         busy.send_request("POST", "/x");
         EXPECT_TRUE(origin.waits_for_calls(1));
         waits.send_request("POST", "/x");
         EXPECT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 1; }));
         auto response = get(weir.port(), "/y");
         gate.open();
         return response;
       },
       503, "connection_limit_reached", true},
      {"an open breaker", "breaker: {min_requests: 1}\n",
       [](ScriptedOrigin& origin, Weir& weir) {
         origin.answer("/x", close());
         get(weir.port(), "/x");
         return get(weir.port(), "/y");
       },
       503, "destination_unavailable", true},
      {"a failure that is remembered", "negative: {ttl: 5s}\n",
       [](ScriptedOrigin& origin, Weir& weir) {
         origin.answer("/x", respond(504));
         get(weir.port(), "/x");
         return get(weir.port(), "/x");
       },
       504, "destination_unavailable"},
      {"its own mark", "instance: one\n", asks("GET", "/x", {{"CDN-Loop", "weir-one"}}), 508, "proxy_loop_detected"},
      {"a host that is not served", "sites: [{hosts: [a.test], origin: default}]\n", asks("GET", "/x", {{"Host", "b.test"}}),
       421, "destination_not_found"},
  });
}

// COA-5: who waited for an answer that was for one alone hears of its status, and of nothing else.
TEST(ProxyStatus, AnErrorForSomebodyElse) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(503, {{"Set-Cookie", "s=1"}, {"Content-Length", "6"}}).body("secret"));
  Weir weir(origin);
  Burst burst(weir.port(), 5);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(5));
  gate.open();
  burst.collect();
  std::size_t told = 0;
  for (auto const& response : burst.responses()) {
    EXPECT_EQ(response.status, 503);
    if (!response.has("Proxy-Status")) continue;
    ++told;
    EXPECT_EQ(proxy_error(response), "destination_unavailable");
    EXPECT_EQ(status_members(response.value("Proxy-Status"))->back().integer("received-status"), 503);
    EXPECT_EQ(response.raw.find("secret"), std::string::npos);
    EXPECT_FALSE(response.has("Set-Cookie"));
  }
  EXPECT_EQ(told, 4U);
  EXPECT_EQ(origin.calls(), 1U);
}

// What Weir will not take from its clients.
TEST(ProxyStatus, Refusals) {
  expect_all({
      {"TRACE", "", asks("TRACE", "/x"), 405, "http_request_denied"},
      {"CONNECT", "", sends("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"), 405, "http_request_denied"},
      {"PURGE", "", asks("PURGE", "/x"), 405, "http_request_denied"},
      {"only-if-cached", "", asks("GET", "/x", {{"Cache-Control", "only-if-cached"}}), 504, "http_request_denied"},
      {"malformed", "", sends("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400, "http_request_error"},
      {"unknown coding", "", sends("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501,
       "http_request_error"},
      {"version", "", sends("GET /x HTTP/2.0\r\n\r\n"), 505, "http_request_error"},
      {"target", "", sends("GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n\r\n"), 414, "http_request_error"},
      {"fields", "", asks("GET", "/x", {{"A", std::string(20'000, 'a')}}), 431, "http_request_error"},
      {"body", "limits: {body_bytes: 1KiB}\n", asks("POST", "/x", {{"Content-Length", "1025"}}), 413, "http_request_error"},
      {"a broken chunk", "", sends("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 400,
       "http_request_error"},
      {"a head that takes too long", "",
       [](ScriptedOrigin&, Weir& weir) {
         Client client(weir.port());
         client.send("GET /x HT");
         EXPECT_TRUE(eventually([&] { return weir.daemon().sessions() == 1; }));
         EXPECT_TRUE(eventually([&] {
           weir.turn(11s);
           return client.has_answer();
         }));
         return client.read();
       },
       408, "http_request_error"},
  });
}

// The origin's own answers are the origin's, however bad.
TEST(ProxyStatus, IsNotOnWhatTheOriginSaid) {
  ScriptedOrigin origin;
  for (int const status : {200, 404, 500, 502, 503, 504}) {
    auto const target = "/" + std::to_string(status);
    origin.answer(target, respond(status, {{"Proxy-Status", "Gateway; error=dns_error"}}, "x"));
    Weir weir(origin);
    EXPECT_EQ(get(weir.port(), target).value("Proxy-Status"), "Gateway; error=dns_error");
  }
  origin.answer("/x", respond(503));
  Weir weir(origin);
  EXPECT_FALSE(get(weir.port(), "/x").has("Proxy-Status"));
}

}  // namespace
}  // namespace weir::test
