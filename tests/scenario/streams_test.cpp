// How bodies flow, in both directions: who may leave, who may be slow, and what a break looks like.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

Field length(std::size_t size) { return {"Content-Length", std::to_string(size)}; }
Field const fresh{"Cache-Control", "max-age=60"};
Field const private_{"Cache-Control", "private"};

// Any clock may be turned for as long as a test likes.
std::string const patient = "limits: {body_timeout: 1h}\ntimeouts: {origin: 1h, stream_idle: 1h}\n";

// More than the sockets on the way can hold.
std::string endless() { return std::string(32 * mib, 'e'); }

// A client whose connection takes little.
Client thin(Weir const& weir) { return Client(weir.port(), {.receive_buffer = 4096}); }

// Reads in a thread of its own.
class Background {
 public:
  explicit Background(Client& client)
      : thread_([this, &client] {
          response_ = client.read();
          done_.store(true);
        }) {}
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }
  bool done() const { return done_.load(); }
  Response const& response() {
    if (thread_.joinable()) thread_.join();
    return response_;
  }

 private:
  std::atomic<bool> done_{false};
  Response response_;
  std::thread thread_;
};

// COA-2, LIM-1: a fetch that nobody shares ends with its requester.
TEST(Streams, UnsharedFetchEndsWithItsRequester) {
  for (bool const with_head : {false, true}) {
    ScriptedOrigin origin;
    Gate gate;
    auto script =
        with_head ? Script().head(200, {private_, length(10)}).body("hello").wait(gate).body("world") : Script().wait(gate);
    origin.answer("/me", script);
    Weir weir(origin);
    Client client(weir.port());
    client.send_request("GET", "/me", {{"Authorization", "me"}});
    ASSERT_TRUE(origin.waits_for_calls(1));
    if (with_head) EXPECT_EQ(client.read_at_least(5).body, "hello");
    client.reset();
    ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"pass\",result=\"abandoned\"}"), 1);
    EXPECT_EQ(weir.metric("weir_origin_inflight"), 0);
  }
}

// COA-2: the wait for a departure outlives the answer that it was begun for, and tells of the next.
TEST(Streams, DepartureIsNoticedInALaterWaitOfAConnection) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/first", Script().head(200, {fresh, length(2)}).body("hi"));
  origin.answer("/me", Script().wait(gate));
  Weir weir(origin);
  Client client(weir.port());
  for (int hits = 0; hits < 2; ++hits) {
    client.send_request("GET", "/first");
    EXPECT_EQ(client.read().body, "hi");
  }
  client.send_request("GET", "/me", {{"Authorization", "me"}});
  ASSERT_TRUE(origin.waits_for_calls(2));
  client.reset();
  ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"pass\",result=\"abandoned\"}"), 1);
}

// COA-2: a shared one whose answer turns out to be nobody else's ends with its last reader.
TEST(Streams, SharedFetchThatCannotBeStoredEndsWithItsLastReader) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().head(200, {private_, length(10)}).body("hello").wait(gate));
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/x");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  client.reset();
  ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
  ASSERT_TRUE(weir.waits_until_no_flights());
}

// COA-2: the bound of a shared fetch that nobody reads any more is timeouts.origin from its start.
TEST(Streams, SharedFetchWithoutReadersIsGivenUpInTime) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().head(200, {fresh, length(10)}).body("hello").wait(gate));
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/x");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  client.reset();
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 0; }));
  weir.turn(29s);
  EXPECT_EQ(weir.daemon().flights().flights(), 1U);
  EXPECT_EQ(get(weir.port(), "/other").status, 404);  // both workers had a turn or two
  EXPECT_EQ(origin.departures(), 0U);
  weir.turn(2s);
  ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.entries(), 0U);
}

// COA-2: what an unsafe request set going is read to its end, and invalidates.
TEST(Streams, UnsafeFetchIsReadToItsEnd) {
  ScriptedOrigin origin;
  Gate head, rest;
  std::atomic<int> number{0};
  origin.answer("/x", [&](Request const& request) {
    if (request.method == "POST") return Script().wait(head).head(200, {length(10)}).body("hello").wait(rest).body("world");
    return respond(200, {fresh}, std::to_string(number.fetch_add(1)));
  });
  Weir weir(origin);
  EXPECT_EQ(get(weir.port(), "/x").body, "0");
  Client client(weir.port());
  client.send_request("POST", "/x", {}, "data");
  ASSERT_TRUE(origin.waits_for_calls(2));
  head.open();
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  client.reset();
  ASSERT_TRUE(eventually([&] { return get(weir.port(), "/x").body == "1"; }));
  rest.open();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.departures(), 0U);
  EXPECT_EQ(weir.metric("weir_origin_fetches_total{class=\"bypass\",result=\"ok\"}"), 1);
}

// COA-2: an end of input is no departure while an answer is owed, to whoever it is.
TEST(Streams, HalfClosedClientsGetTheirAnswers) {
  for (auto const& fields : {Fields{}, Fields{{"Authorization", "me"}}}) {
    ScriptedOrigin origin;
    Gate gate, rest;
    origin.answer("/x", Script().wait(gate).head(200, {fresh, length(10)}).body("hello").wait(rest).body("world"));
    Weir weir(origin);
    Client leader(weir.port()), other(weir.port());
    for (auto* const client : {&leader, &other}) {
      client->send_request("GET", "/x", fields);
      client->finish_sending();
    }
    ASSERT_TRUE(fields.empty() ? weir.waits_for_waiters(2) : origin.waits_for_calls(2));
    gate.open();
    for (auto* const client : {&leader, &other}) EXPECT_EQ(client->read_at_least(5).body, "hello");
    rest.open();
    for (auto* const client : {&leader, &other}) EXPECT_EQ(client->read().body, "helloworld");
    for (auto* const client : {&leader, &other}) EXPECT_TRUE(client->waits_until_closed());
  }
}

// COA-9: a body of unknown length reaches everyone byte by byte, and a late one from its start.
TEST(Streams, FollowerOfASlowBodyGetsItsFirstBytesAtOnce) {
  ScriptedOrigin origin;
  Gate second, end;
  origin.answer("/x", Script()
                          .head(200, {fresh, {"Transfer-Encoding", "chunked"}})
                          .chunk("one")
                          .wait(second)
                          .chunk("two")
                          .wait(end)
                          .last_chunk());
  Weir weir(origin);
  Client leader(weir.port());
  leader.send_request("GET", "/x");
  EXPECT_EQ(leader.read_at_least(3).body, "one");
  Client late(weir.port());
  late.send_request("GET", "/x");
  EXPECT_EQ(late.read_at_least(3).body, "one");
  second.open();
  Client later(weir.port());
  later.send_request("GET", "/x");
  for (auto* const client : {&leader, &late, &later}) EXPECT_EQ(client->read_at_least(6).body, "onetwo");
  end.open();
  for (auto* const client : {&leader, &late, &later}) EXPECT_TRUE(client->read().complete);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(origin.calls(), 1U);
}

// COA-9, MEM-1: who reads nothing holds up neither the fetch, nor the storing, nor another reader.
TEST(Streams, ClientThatReadsNothingDelaysNobody) {
  for (bool const chunked : {false, true}) {
    ScriptedOrigin origin;
    std::string const body(6 * mib, 'b');
    Gate gate;
    origin.answer("/x",
                  chunked ? Script().wait(gate).head(200, {fresh, {"Transfer-Encoding", "chunked"}}).chunk(body).last_chunk()
                          : Script().wait(gate).head(200, {fresh, length(body.size())}).body(body));
    Weir weir(origin);
    auto stuck = thin(weir);
    stuck.send_request("GET", "/x");
    ASSERT_TRUE(weir.waits_for_waiters(1));
    Client other(weir.port());
    other.send_request("GET", "/x");
    ASSERT_TRUE(weir.waits_for_waiters(2));
    gate.open();
    EXPECT_EQ(other.read().body, body);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
    EXPECT_LE(weir.daemon().memory().bytes(), (chunked ? 2 : 1) * body.size() + mib);  // blocks and the entry, once each
    EXPECT_EQ(stuck.read().body, body);
    ASSERT_TRUE(eventually([&] { return weir.daemon().memory().bytes() <= body.size() + 64 * kib; }));
    EXPECT_EQ(origin.calls(), 1U);
  }
}

// MEM-1, REQ-3: a body that is not stored is never far ahead of its reader, and what it held is given back.
TEST(Streams, UnstoredBodyIsHeldToAWindow) {
  ScriptedOrigin origin;
  origin.answer("/me", respond(200, {private_}, endless()));
  Weir weir(origin, patient);
  auto client = thin(weir);
  client.send_request("GET", "/me", {{"Authorization", "me"}});
  ASSERT_TRUE(eventually([&] { return weir.daemon().memory().bytes() >= 256 * kib; }));
  for (int look = 0; look < 50; ++look) {
    give_way();
    ASSERT_LE(weir.daemon().memory().bytes(), 512 * kib);
  }
  EXPECT_EQ(origin.at_once(), 1U);
  EXPECT_EQ(client.read().body.size(), 32 * mib);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_LE(weir.daemon().memory().bytes(), 64 * kib);
}

// COA-9: only a body that outgrew max_object in the middle has a stall allowance. One that nobody shares waits for its
// reader, for longer than the origin may pause (REL-1).
TEST(Streams, PauseOfTheOnlyReaderOfAnUnsharedBodyIsItsOwnAffair) {
  for (bool const too_large : {false, true}) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {too_large ? fresh : private_}, endless()));
    Weir weir(origin, "limits: {body_timeout: 1h}\ntimeouts: {origin: 1h, stream_idle: 35s}\n");
    auto client = thin(weir);
    client.send_request("GET", "/x");  // leads a cold key
    ASSERT_TRUE(eventually([&] { return weir.daemon().memory().bytes() >= 256 * kib; }));
    for (int i = 0; i < 20; ++i) {
      weir.turn(2s);
      give_way();
    }
    auto const response = client.read();
    EXPECT_TRUE(response.complete);
    EXPECT_EQ(response.body.size(), 32 * mib);
  }
}

// COA-9, STO-5: the head says that it is too large: the leader keeps the stream, the others fetch on their own.
TEST(Streams, TooLargeByItsHeadIsNotShared) {
  ScriptedOrigin origin;
  Gate gate, rest;
  std::string const body(9 * mib, 'b');
  origin.answer("/x", Script().wait(gate).head(200, {fresh, length(body.size())}).wait(rest).body(body));
  Weir weir(origin);
  Burst burst(weir.port(), 6);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(6));
  gate.open();
  ASSERT_TRUE(origin.waits_for_calls(6));  // at once, and not one after the other
  rest.open();
  burst.collect();
  for (auto const& response : burst.responses()) EXPECT_EQ(response.body.size(), body.size());
  EXPECT_EQ(origin.calls(), 6U);
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(weir.coalesced(), 0U);
  EXPECT_EQ(cache_status(get(weir.port(), "/x")).detail(), "hit-for-miss");
  EXPECT_GE(weir.metric("weir_not_stored_total{reason=\"too-large\"}"), 6);
}

// A body of unknown length that is larger than max_object (1 MiB here), and two who joined before it began.
struct Outgrown {
  explicit Outgrown(std::size_t size) : body(size, 'o') {
    for (std::size_t at = 0; at < body.size(); at += 4096) body.replace(at, 8, std::to_string(10'000'000 + at / 4096));
    origin.answer("/x", Script().wait(gate).head(200, {fresh, {"Transfer-Encoding", "chunked"}}).chunk(body).last_chunk());
    weir.emplace(origin, patient + "storable: {max_object: 1MiB}\ncoalesce: {window_stall: 1m}\n");
    slow.emplace(weir->port(), ConnectOptions{.receive_buffer = 4096});
    fast.emplace(weir->port());
    slow->send_request("GET", "/x");
    fast->send_request("GET", "/x");
    EXPECT_TRUE(weir->waits_for_waiters(2));
  }
  ScriptedOrigin origin;
  Gate gate;
  std::string body;
  std::optional<Weir> weir;
  std::optional<Client> slow, fast;
};

// COA-9: correct for all who joined, nobody joins any more, nothing is stored.
TEST(Streams, OutgrownBodyIsCorrectForAllWhoJoined) {
  Outgrown it(24 * mib);
  it.gate.open();
  Background fast(*it.fast), slow(*it.slow);
  EXPECT_TRUE(fast.response().body == it.body);
  EXPECT_TRUE(slow.response().body == it.body);
  ASSERT_TRUE(it.weir->waits_until_no_flights());
  EXPECT_EQ(it.origin.calls(), 1U);
  EXPECT_EQ(it.weir->entries(), 0U);
  EXPECT_LE(it.weir->daemon().memory().bytes(), 64 * kib);
  EXPECT_EQ(it.weir->metric("weir_not_stored_total{reason=\"too-large\"}"), 1);
  EXPECT_EQ(cache_status(get(it.weir->port(), "/x")).detail(), "hit-for-miss");
}

// COA-9, COA-10: a reader a whole window behind may delay the fetch for window_stall, then its connection is closed. The
// clock is turned only when the other has read all that it was given and nothing more comes.
TEST(Streams, ReaderAWholeWindowBehindIsCutOff) {
  Outgrown it(32 * mib);
  it.gate.open();
  std::string raw;
  ResponseReader fast;
  int quiet = 0, turns = 0;
  ASSERT_TRUE(eventually([&] {
    EXPECT_LE(it.weir->daemon().memory().bytes(), mib + 256 * kib);
    for (; it.fast->has_answer(); quiet = 0) {
      raw += it.fast->read_some(64 * kib);
      if (fast.take(raw)) return true;
    }
    if (it.fast->is_closed()) return true;
    if (++quiet % 50 == 0 && it.weir->daemon().memory().bytes() > mib) it.weir->turn(turns++ == 0 ? 59s : 2s);
    return false;
  }));
  EXPECT_GE(turns, 2);                                                         // not before its time
  EXPECT_TRUE(eventually([&] { return it.weir->daemon().sessions() <= 1; }));  // at once, in the middle of a write
  EXPECT_TRUE(fast.so_far(End::whole).body == it.body);
  auto const cut = it.slow->read();
  EXPECT_FALSE(cut.complete);
  EXPECT_TRUE(it.body.starts_with(cut.body));
  ASSERT_TRUE(it.weir->waits_until_no_flights());
}

// COA-10: however the origin frames a body that breaks, and whoever asks, the client sees a broken message.
TEST(Streams, TruncatedBodyLooksBrokenToEveryClient) {
  for (Field const& framing : {length(100), Field{"Transfer-Encoding", "chunked"}, Field{"Connection", "close"}}) {
    ScriptedOrigin origin;
    for (auto const* const version : {"1.1", "1.0"}) {
      for (auto const* const extra : {"", "Authorization: me\r\n", "Connection: keep-alive\r\n"}) {
        Gate gate;
        auto script = Script().head(200, {fresh, framing});
        if (framing.value == "chunked")
          script.chunk("hello");
        else
          script.body("hello");
        origin.answer("/x", script.wait(gate).reset());
        Weir weir(origin);
        Client client(weir.port());
        client.send(std::string("GET /x HTTP/") + version + "\r\nHost: weir.test\r\n" + extra + "\r\n");
        EXPECT_EQ(client.read_at_least(5).body, "hello");
        gate.open();
        auto const response = client.read();
        EXPECT_FALSE(response.complete) << response;
        ASSERT_TRUE(weir.waits_until_no_flights());
        EXPECT_EQ(weir.entries(), 0U);
      }
    }
  }
}

// COA-10, STO-1: and what ends well looks whole, is stored, and its connection is used again where it may be.
TEST(Streams, WholeBodyLooksWholeToEveryClient) {
  for (auto const& script : {respond(200, {fresh}, "hello"), respond_chunked(200, {fresh}, {"he", "llo"}),
                             respond_until_close(200, {fresh}, "hello")}) {
    for (auto const* const version : {"1.1", "1.0"}) {
      for (auto const* const extra : {"", "Connection: keep-alive\r\n", "Connection: close\r\n"}) {
        ScriptedOrigin origin;
        origin.answer("/x", script);
        Weir weir(origin);
        Client client(weir.port());
        client.send(std::string("GET /x HTTP/") + version + "\r\nHost: weir.test\r\n" + extra + "\r\n");
        auto const response = client.read();
        EXPECT_TRUE(response.complete && response.body == "hello") << response;
        if (std::string(version) == "1.0") EXPECT_FALSE(response.has("Transfer-Encoding")) << response;
        ASSERT_TRUE(weir.waits_until_no_flights());
        EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
        EXPECT_EQ(origin.calls(), 1U);
      }
    }
  }
}

// COA-13: who leads a cold key with less than a plain GET gets its own cut; everyone else, and the store, the whole.
TEST(Streams, ConditionalRangedAndHeadClientsLeadWholeFetches) {
  struct Row {
    char const* method;
    Fields fields;
    int status;
    char const* body;
  };
  for (Row const& row :
       {Row{"GET", {{"If-None-Match", "\"v\""}}, 304, ""}, Row{"GET", {{"Range", "bytes=2-4"}}, 206, "llo"},
        Row{"GET", {{"Range", "bytes=9-"}}, 416, ""}, Row{"GET", {{"If-Match", "\"w\""}}, 412, ""},
        Row{"GET", {{"If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT"}}, 304, ""},
        Row{"GET", {{"Range", "bytes=0-0"}, {"If-Range", "\"w\""}}, 200, "hello"}, Row{"HEAD", {}, 200, ""}}) {
    ScriptedOrigin origin;
    Gate gate;
    Fields const fields{fresh, {"ETag", "\"v\""}, {"Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"}, length(5)};
    origin.answer("/x", Script().wait(gate).head(200, fields).body("hello"));
    Weir weir(origin);
    Client leader(weir.port()), follower(weir.port());
    leader.send_request(row.method, "/x", row.fields);
    ASSERT_TRUE(weir.waits_for_waiters(1));
    follower.send_request("GET", "/x");
    ASSERT_TRUE(weir.waits_for_waiters(2));
    gate.open();
    auto const cut = leader.read();
    EXPECT_TRUE(cut.complete && cut.status == row.status && cut.body == row.body) << row.fields.size() << cut;
    EXPECT_EQ(follower.read().body, "hello");
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(get(weir.port(), "/x").body, "hello");
    EXPECT_EQ(origin.last_request().method, "GET");
    for (auto const* const name : {"Range", "If-Range", "If-None-Match", "If-Match", "If-Modified-Since"})
      EXPECT_FALSE(origin.last_request().has(name)) << name;
    auto const again = leader.request(row.method, "/x", row.fields);
    EXPECT_TRUE(again.status == row.status && again.body == row.body) << again;
    bool const asks_again = row.status == 412;  // RFC 9111 4.3.2
    EXPECT_EQ(cache_status(again).hit(), !asks_again);
    EXPECT_EQ(origin.calls(), asks_again ? 2U : 1U);
  }
}

// COA-13: a HEAD of something that is not cached keeps its own framing.
TEST(Streams, ForwardedHeadKeepsItsLength) {
  ScriptedOrigin origin;
  origin.answer("/x", Script().head(200, {private_, length(1234)}));
  Weir weir(origin);
  for (int i = 0; i < 2; ++i) {
    Client client(weir.port());
    auto const response = client.request("HEAD", "/x", {{"Authorization", "me"}});
    EXPECT_EQ(response.value("Content-Length"), "1234") << response;
  }
}

// SRV-7, COA-2, LIM-1: events are passed as they come, to each on its own, outside the fetch permits.
TEST(Streams, EventsArePassedAtOnceAndNeverShared) {
  ScriptedOrigin origin;
  Gate more;
  Fields const events{{"Content-Type", "text/event-stream"}, {"Transfer-Encoding", "chunked"}, fresh};
  origin.answer("/events", Script().head(200, events).chunk("data: 1\n\n").wait(more).chunk("data: 2\n\n").hang());
  origin.answer("/x", respond(200, {fresh}, "x"));
  Weir weir(origin, "limiter: {max_concurrent: 2}\n");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<Client>(weir.port()));
    clients.back()->send_request("GET", "/events");
    EXPECT_EQ(clients.back()->read_at_least(9).body, "data: 1\n\n");
  }
  EXPECT_EQ(get(weir.port(), "/x").body, "x");
  EXPECT_EQ(origin.calls("/events"), 5U);
  more.open();
  for (auto& client : clients) EXPECT_EQ(client->read_at_least(18).body, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(weir.entries(), 1U);
  EXPECT_EQ(weir.coalesced(), 0U);
  for (auto& client : clients) client->reset();
  ASSERT_TRUE(eventually([&] { return origin.departures() == 5; }));
  ASSERT_TRUE(weir.waits_until_no_flights());
}

}  // namespace
}  // namespace weir::test
