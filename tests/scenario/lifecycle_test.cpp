// What an operator sees: stopping, probes, counters, the words on each answer, and the memory that it all takes.
#include <gtest/gtest.h>

#include "scenario/draining.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field const fresh{"Cache-Control", "max-age=60"};
Field length(std::size_t size) { return {"Content-Length", std::to_string(size)}; }
constexpr std::size_t kib = 1024, mib = 1024 * kib;

// LCY-2: what was accepted is answered, and says that it is the last.
TEST(Lifecycle, DrainAnswersWhatWasAccepted) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {fresh, length(5)}).body("hello"));
  Weir weir(origin);
  Client leader(weir.port()), follower(weir.port());
  leader.send_request("GET", "/x");
  follower.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(2));
  Drain drain(weir);
  ASSERT_TRUE(refuses_connections(weir));
  gate.open();
  for (auto* const client : {&leader, &follower}) {
    auto const response = client->read();
    EXPECT_EQ(response.body, "hello");
    EXPECT_EQ(response.value("Connection"), "close");
    EXPECT_TRUE(client->waits_until_closed());
    client->close();
  }
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2
TEST(Lifecycle, DrainClosesIdleConnections) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin);
  Client used(weir.port()), unused(weir.port());
  EXPECT_EQ(used.get("/x").status, 200);
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 2; }));
  Drain drain(weir);
  EXPECT_TRUE(used.waits_until_closed());
  EXPECT_TRUE(unused.waits_until_closed());
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2: a request that lies in a socket when the drain begins was accepted too, on a new connection or an old one.
TEST(Lifecycle, DrainAnswersWhatLiesInTheSockets) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin);
  Client old(weir.port());
  EXPECT_EQ(old.get("/x").status, 200);
  Gate gate;
  hold(weir, gate);
  Client fresh_one(weir.port());
  for (auto* const client : {&old, &fresh_one}) client->send_request("GET", "/x");
  Drain drain(weir);
  ASSERT_TRUE(eventually([&] { return weir.daemon().shared().draining.load(); }));
  gate.open();
  for (auto* const client : {&old, &fresh_one}) EXPECT_EQ(client->read().body, "hello");
  for (auto* const client : {&old, &fresh_one}) client->close();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2: who has all of its answer and only keeps its end open is not cut off.
TEST(Lifecycle, AClientThatKeepsItsEndOpenIsNotCutOff) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "private"}}, "x"));
  Weir weir(origin, "drain: {timeout: 1s}\n");
  Client client(weir.port());
  EXPECT_EQ(client.get("/x", {{"Connection", "close"}}).body, "x");
  EXPECT_EQ(client.read_to_end(), "");
  Drain drain(weir);
  ASSERT_TRUE(eventually([&] { return weir.daemon().shared().draining.load(); }));
  weir.turn(1s);
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2: a second signal stops at once, and so does the end of drain.timeout; both cut requests off and say so.
TEST(Lifecycle, DrainEndsAtOnceWhenHurriedAndInItsTimeWhenNot) {
  for (bool const hurries : {true, false}) {
    ScriptedOrigin origin;
    origin.answer("/x", hang());
    Weir weir(origin, "timeouts: {origin: 2m}\n");  // longer than the drain
    Client client(weir.port());
    client.send_request("GET", "/x");
    ASSERT_TRUE(origin.waits_for_calls(1));
    Drain drain(weir);
    ASSERT_TRUE(refuses_connections(weir));
    if (hurries)
      drain.hurry();
    else
      weir.turn(30s);
    EXPECT_EQ(drain.ended(), daemon::Ended::unclean);
  }
}

// LCY-2: a fetch that nobody waits for any more is finished and stored.
TEST(Lifecycle, DrainFinishesFetches) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {fresh, length(5)}).body("hello"));
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/x");
  ASSERT_TRUE(origin.waits_for_calls(1));
  client.reset();
  Drain drain(weir);
  ASSERT_TRUE(refuses_connections(weir));
  gate.open();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
  EXPECT_EQ(weir.entries(), 1U);
}

// OBS-3
TEST(Lifecycle, ProbesTellTheTruth) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {fresh, length(5)}).body("hello"));
  Weir weir(origin);
  auto const admin = [&](std::string const& path) { return get(weir.admin_port(), path); };
  EXPECT_EQ(admin("/healthz").status, 200);
  EXPECT_EQ(admin("/readyz").status, 503);  // the origin was not reached yet
  get(weir.port(), "/y");
  EXPECT_EQ(admin("/readyz").status, 200);
  Client client(weir.port());
  client.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  origin.stop();
  EXPECT_EQ(admin("/readyz").status, 200);  // a dead origin later does not take Weir out
  EXPECT_EQ(client.read().status, 502);
  origin.start();
  client.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  Drain drain(weir);
  ASSERT_TRUE(refuses_connections(weir));
  EXPECT_EQ(admin("/readyz").status, 503);
  EXPECT_EQ(admin("/healthz").status, 200);
  gate.open();
  EXPECT_EQ(client.read().body, "hello");
  client.close();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// OBS-3
TEST(Lifecycle, ReadyAfterItsGraceWithoutAnOrigin) {
  Weir weir("http://127.0.0.1:1");
  EXPECT_EQ(get(weir.admin_port(), "/readyz").status, 503);
  weir.turn(11s);
  EXPECT_EQ(get(weir.admin_port(), "/readyz").status, 200);
}

// OBS-3, LCY-1
TEST(Lifecycle, OperatorsSeeSettingsAndFlights) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/slow", Script().head(200, {fresh, length(10)}).body("hello").wait(gate).body("world"));
  Weir weir(origin, "coalesce: {follower_max_wait: 7s}\n");
  auto const config = get(weir.admin_port(), "/v1/config");
  EXPECT_EQ(config.status, 200);
  EXPECT_NE(config.body.find("\"follower_max_wait\":\"7s\""), std::string::npos) << config.body;
  EXPECT_EQ(get(weir.admin_port(), "/v1/flights").body, "{\"flights\":[]}\n");
  Client client(weir.port());
  client.send_request("GET", "/slow");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  auto const flights = get(weir.admin_port(), "/v1/flights").body;
  for (auto const* const part : {"/slow", "\"fetches\":1", "\"received_bytes\":5", "\"head\":true"})
    EXPECT_NE(flights.find(part), std::string::npos) << part << ' ' << flights;
  EXPECT_EQ(weir.metric("weir_flights"), 1);
  gate.open();
  EXPECT_EQ(client.read().body, "helloworld");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.admin_port(), "/v1/flights").body, "{\"flights\":[]}\n");
  EXPECT_EQ(get(weir.admin_port(), "/v1/nothing").status, 404);
}

// OBS-2: every series is there before anything happened.
TEST(Lifecycle, SeriesArePresentFromTheStart) {
  ScriptedOrigin origin;
  Weir weir(origin);
  auto const page = get(weir.admin_port(), "/metrics").body;
  for (auto const* const name : {"weir_requests_total",
                                 "weir_request_seconds",
                                 "weir_origin_fetches_total",
                                 "weir_origin_fetch_seconds",
                                 "weir_origin_inflight",
                                 "weir_limiter_queue_depth",
                                 "weir_limiter_wait_seconds",
                                 "weir_shed_total",
                                 "weir_coalesced_total",
                                 "weir_refresh_collapsed_total",
                                 "weir_coalesce_wait_seconds",
                                 "weir_coalesce_fanout",
                                 "weir_coalesce_timeouts_total",
                                 "weir_coalesce_overflow_total",
                                 "weir_flights",
                                 "weir_cluster_leases_total",
                                 "weir_stale_served_total",
                                 "weir_negative_served_total",
                                 "weir_not_stored_total",
                                 "weir_key_rejections_total",
                                 "weir_breaker_state",
                                 "weir_breaker_transitions_total",
                                 "weir_store_errors_total",
                                 "weir_store_guard_state",
                                 "weir_store_bytes",
                                 "weir_store_entries",
                                 "weir_evictions_total",
                                 "weir_purges_total",
                                 "weir_miss_rate_anomalies_total",
                                 "weir_client_connections",
                                 "weir_config_reloads_total",
                                 "weir_build_info",
                                 "process_resident_memory_bytes"}) {
    EXPECT_NE(page.find(std::string("# TYPE ") + name + ' '), std::string::npos) << name;
    bool const sample = page.find(std::string("\n") + name + ' ') != std::string::npos ||
                        page.find(std::string("\n") + name + '{') != std::string::npos ||
                        page.find(std::string("\n") + name + "_count") != std::string::npos;
    EXPECT_TRUE(sample) << name;
  }
}

// OBS-1: the words on the answers of each situation.
TEST(Lifecycle, AnswersSayHowTheyCameAbout) {
  ScriptedOrigin origin;
  origin.answer("/a", respond(200, {fresh, {"ETag", "\"v\""}, {"Cache-Status", "Origin; hit"}}, "a"));
  origin.answer("/private", respond(200, {{"Cache-Control", "private"}}, "p"));
  origin.answer("/vary", respond(200, {fresh, {"Vary", "X-Kind"}}, "v"));
  Weir weir(origin, "freshness: {jitter: 0}\n");
  auto const words = [&](std::string const& target, Fields const& fields = {}, std::string const& method = "GET") {
    auto const response = Client(weir.port()).request(method, target, fields);
    weir.waits_until_no_flights();
    return response.value("Cache-Status") + (response.has("Proxy-Status") ? " | " + response.value("Proxy-Status") : "");
  };
  EXPECT_EQ(words("/a"), "Origin; hit, Weir; fwd=uri-miss; fwd-status=200; stored; ttl=60");
  EXPECT_EQ(words("/a").substr(0, 26), "Origin; hit, Weir; hit; tt");
  EXPECT_EQ(words("/a", {{"If-None-Match", "\"v\""}}).substr(0, 26), "Origin; hit, Weir; hit; tt");
  EXPECT_EQ(words("/private"), "Weir; fwd=uri-miss; fwd-status=200");
  EXPECT_EQ(words("/private"), "Weir; fwd=miss; fwd-status=200; detail=hit-for-miss");
  EXPECT_EQ(words("/a", {}, "POST"), "Origin; hit, Weir; fwd=method; fwd-status=200");
  EXPECT_EQ(words("/vary", {{"X-Kind", "1"}}), "Weir; fwd=uri-miss; fwd-status=200; stored; ttl=60");
  EXPECT_EQ(words("/vary", {{"X-Kind", "2"}}), "Weir; fwd=vary-miss; fwd-status=200; stored; ttl=60");
  EXPECT_EQ(words("/unknown", {{"Cache-Control", "only-if-cached"}}), " | Weir; error=http_request_denied");
  weir.turn(61s);
  EXPECT_EQ(words("/vary", {{"X-Kind", "1"}}), "Weir; fwd=stale; fwd-status=200; stored; ttl=60");
  EXPECT_EQ(words("/a", {}, "TRACE"), " | Weir; error=http_request_denied");
  origin.stop();
  EXPECT_EQ(words("/dead"), " | Weir; error=connection_refused");
}

// MEM-1: the budget holds whatever is stored, and what is asked for often stays in a flood of what is asked for once.
TEST(Lifecycle, FloodDoesNotEvictTheHotSet) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) {
    return respond(200, {{"Cache-Control", "max-age=3600"}}, std::string(8 * kib, 'x'));
  });
  Weir weir(origin, "store: {max_bytes: 16MiB}\n");
  Client client(weir.port());
  auto const ask_hot = [&] {
    std::size_t hits = 0;
    for (int i = 0; i < 100; ++i) hits += cache_status(client.get("/hot" + std::to_string(i))).hit();
    return hits;
  };
  for (int round = 0; round < 4; ++round) ask_hot();
  for (int i = 0; i < 4000; ++i) {
    client.get("/once" + std::to_string(i));
    ASSERT_LE(weir.daemon().memory().bytes(), 17 * mib);
  }
  EXPECT_GE(ask_hot(), 95U);
  EXPECT_LT(weir.entries(), 2100U);
  EXPECT_GT(weir.metric("weir_evictions_total{queue=\"small\"}"), 1000);
}

// MEM-1: what a reader still sends is counted though its entry is gone.
TEST(Lifecycle, PinnedBytesAreCountedUntilTheyAreSent) {
  ScriptedOrigin origin;
  std::string const body(6 * mib, 'b');
  origin.answer(
      "/x", [&](Request const& request) { return request.method == "POST" ? respond(200) : respond(200, {fresh}, body); });
  Weir weir(origin);
  EXPECT_EQ(get(weir.port(), "/x").body.size(), body.size());
  ASSERT_TRUE(weir.waits_until_no_flights());
  Client slow(weir.port(), {.receive_buffer = 4096});
  slow.send_request("GET", "/x");
  EXPECT_FALSE(slow.read_at_least(1).body.empty());
  EXPECT_EQ(Client(weir.port()).request("POST", "/x").status, 200);
  EXPECT_EQ(get(weir.port(), "/x").body.size(), body.size());
  EXPECT_GE(weir.daemon().memory().bytes(), 2 * body.size());
  EXPECT_EQ(slow.read().body, body);
  ASSERT_TRUE(eventually([&] { return weir.daemon().memory().bytes() < body.size() + mib; }));
}

// MEM-1: flights over their share of the memory: a new fetch streams to its own requester, unshared and unstored.
TEST(Lifecycle, FetchesBeyondTheirShareAreNotStored) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/big",
                Script().head(200, {fresh, length(4 * mib)}).body("hello").wait(gate).body(std::string(4 * mib - 5, 'b')));
  origin.answer("/x", respond(200, {fresh}, "x"));
  Weir weir(origin, "coalesce: {max_bytes: 1MiB}\n");
  Client big(weir.port());
  big.send_request("GET", "/big");
  EXPECT_EQ(big.read_at_least(5).body, "hello");
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(origin.calls("/x"), 2U);
  EXPECT_EQ(weir.metric("weir_not_stored_total{reason=\"memory\"}"), 2);
  gate.open();
  EXPECT_EQ(big.read().body.size(), 4 * mib);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(cache_status(get(weir.port(), "/x")).detail(), "");  // no marker: it was not the answer's fault
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
}

}  // namespace
}  // namespace weir::test
