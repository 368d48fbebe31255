// Sections 4 and 5: what is kept, for whom and for how long.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct Row {
  Script answer;
  Fields asked;
  std::string refusal;  // label of weir_not_stored_total; empty: stored
};

void expect_kept(std::vector<Row> const& rows, std::string const& yaml = "") {
  ScriptedOrigin origin;
  Weir weir(origin, yaml);
  std::map<std::string, double> refused;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const target = "/" + std::to_string(i);
    SCOPED_TRACE(target + " " + rows[i].refusal);
    origin.answer(target, rows[i].answer);
    auto const first = get(weir.port(), target, rows[i].asked);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(cache_status(first).stored(), rows[i].refusal.empty()) << first;
    auto const second = get(weir.port(), target, rows[i].asked);
    EXPECT_EQ(second.status, first.status);
    EXPECT_EQ(cache_status(second).hit(), rows[i].refusal.empty()) << second;
    EXPECT_EQ(origin.calls(target), rows[i].refusal.empty() ? 1U : 2U);
    if (rows[i].refusal.empty()) continue;
    refused[rows[i].refusal] += 2;
    EXPECT_EQ(weir.metric("weir_not_stored_total{reason=\"" + rows[i].refusal + "\"}"), refused[rows[i].refusal]);
  }
}

// STO-1, STO-5, FRS-1: what the answer's own words allow.
TEST(Storing, AnswersAreKeptByTheirWords) {
  auto const ok = [](std::string const& words) { return respond(200, {{"Cache-Control", words}}, "x"); };
  expect_kept(
      {
          {ok("max-age=60"), {}, ""},
          {ok("s-maxage=60"), {}, ""},
          {ok("MAX-AGE=60, Public"), {}, ""},
          {ok("max-age=\"60\""), {}, ""},
          {respond(200, {{"Expires", http_date(600s)}}, "x"), {}, ""},
          {respond(200, {{"Last-Modified", http_date(-36000s)}}, "x"), {}, ""},
          {ok("no-store, must-understand, max-age=60"), {}, ""},
          {ok("max-age=60, foo=bar, community=\"private\""), {}, ""},
          {respond_chunked(200, {max_age(60)}, {"a", "b"}), {}, ""},
          {respond_until_close(200, {max_age(60)}, "x"), {}, ""},
          {respond(204, {max_age(60)}), {}, ""},
          {respond(404, {max_age(60)}, "x"), {}, ""},
          {respond(302, {max_age(60), {"Location", "/"}}, "x"), {}, ""},
          {respond(500, {max_age(60)}, "x"), {}, ""},
          {respond(503, {max_age(5)}, "x"), {}, ""},
          {ok("no-store"), {}, "no-store"},
          {ok("max-age=60, no-store"), {}, "no-store"},
          {ok("private, max-age=60"), {}, "private"},
          {ok("s-maxage=60, private"), {}, "private"},
          {respond(200, {max_age(60), {"Cache-Control", "private"}}, "x"), {}, "private"},
          {respond(200, {}, "x"), {}, "no-freshness"},
          {respond(302, {{"Location", "/"}}, "x"), {}, "no-freshness"},
          {respond(500, {}, "x"), {}, "no-freshness"},
          {respond(503, {{"Cache-Control", "public"}}, "x"), {}, "no-freshness"},
          {respond(206, {max_age(60), {"Content-Range", "bytes 0-0/9"}}, "x"), {}, "partial"},
          {respond(200, {max_age(60), {"Content-Type", "text/event-stream"}}, "x"), {}, "event-stream"},
          {respond(200, {max_age(60), {"Set-Cookie", "a=b"}}, "x"), {}, "set-cookie"},
          {respond(200, {max_age(60), {"Vary", "*"}}, "x"), {}, "vary-star"},
          {respond(200, {max_age(60), {"Vary", "Accept, *"}}, "x"), {}, "vary-star"},
          {respond(200, {max_age(60), {"Vary", "a,b,c,d,e,f,g,h,i"}}, "x"), {}, "vary-fields"},
          {respond(200, {max_age(60), {"Vary", "a,b,c,d,e,f,g,h"}}, "x"), {}, ""},
          {respond(200, {max_age(60), {"Vary", "Cookie"}}, "x"), {}, "vary-forbidden"},
          {respond(200, {max_age(60), {"Vary", "authorization"}}, "x"), {}, "vary-forbidden"},
      },
      plain);
}

// STO-1, COA-8, FRS-4: what the request allows.
TEST(Storing, AnswersToSomebodyAreNotForAll) {
  auto const ok = [](std::string const& words) { return respond(200, {{"Cache-Control", words}}, "x"); };
  Fields const user{{"Authorization", "Basic x"}}, session{{"Cookie", "s=1"}};
  expect_kept({
      {ok("max-age=60"), user, "authorization"},
      {ok("max-age=60, public"), user, ""},
      {ok("s-maxage=60"), user, ""},
      {ok("max-age=60, must-revalidate"), user, ""},
      {ok("max-age=60, proxy-revalidate"), user, "authorization"},
      {ok("max-age=60"), session, "cookie"},
      {ok("max-age=60, must-revalidate"), session, "cookie"},
      {ok("max-age=60, public"), session, ""},
      {ok("s-maxage=60"), session, ""},
      {ok("max-age=60"), {{"Cookie", "_ga=1; _gid=2"}}, ""},
      {ok("max-age=60"), {{"Cache-Control", "no-store"}}, "request-no-store"},
      {ok("private"), user, "private"},
  });
}

// STO-1: only what came whole.
TEST(Storing, BrokenBodiesAreNotKept) {
  std::string const body(1000, 'x');
  for (auto const& broken :
       {respond(200, {max_age(60)}, body).close_after(900), respond(200, {max_age(60)}, body).reset_after(900),
        respond_chunked(200, {max_age(60)}, {body}).close_after(500),
        Script().head(200, {max_age(60), {"Transfer-Encoding", "chunked"}}).chunk(body).close(),
        Script().head(200, {max_age(60), {"Transfer-Encoding", "chunked"}}).chunk(body).body("zz\r\n").close(),
        respond_until_close(200, {max_age(60)}, body).reset_after(900)}) {
    ScriptedOrigin origin;
    origin.answer("/x", broken);
    Weir weir(origin);
    EXPECT_FALSE(get(weir.port(), "/x").complete);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.entries(), 0U);
    EXPECT_FALSE(cache_status(get(weir.port(), "/x")).hit());
  }
}

// STO-1, FRS-1, SRV-1: an error is kept for ten seconds at most.
TEST(Storing, ErrorsAreKeptShortly) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(503, {max_age(600)}, "down"), respond(200, {max_age(600)}, "up")});
  Weir weir(origin, plain);
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  weir.turn(8s);
  auto const kept = get(weir.port(), "/x");
  EXPECT_EQ(kept.status, 503);
  EXPECT_TRUE(cache_status(kept).hit());
  weir.turn(3s);
  EXPECT_EQ(get(weir.port(), "/x").body, "up");
}

// STO-1, STL-2: an error that may be stored does not take the place of what may be served instead of it.
TEST(Storing, ErrorNeverReplacesWhatStaleIfErrorMayServe) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=60, stale-if-error=6000"}}, "good"),
                       respond(503, {max_age(5)}, "down")});
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(61s);
  for (int i = 0; i < 3; ++i) {
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.body, "good") << response;
    EXPECT_EQ(cache_status(response).detail(), "stale-if-error");
  }
}

// STO-2
TEST(Storing, SetCookieIsStrippedOrKept) {
  for (bool const strips : {true, false}) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {max_age(60), {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"X-Y", "z"}}, "x"));
    Weir weir(origin, strips ? "storable: {set_cookie: strip}\n" : "storable: {set_cookie: store}\n");
    for (bool const hit : {false, true}) {
      auto const response = get(weir.port(), "/x");
      EXPECT_EQ(response.count("Set-Cookie"), strips ? 0U : 2U);
      EXPECT_EQ(response.value("X-Y"), "z");
      EXPECT_EQ(cache_status(response).hit(), hit);
    }
  }
}

// STO-3
TEST(Storing, FieldsOfTheHopAreNotKept) {
  ScriptedOrigin origin;
  Fields const hop{{"Connection", "X-Hop"},
                   {"X-Hop", "1"},
                   {"Keep-Alive", "timeout=5"},
                   {"Proxy-Authenticate", "Basic"},
                   {"Trailer", "T"},
                   {"Proxy-Connection", "close"},
                   {"Upgrade", "h2c"},
                   {"Proxy-Authentication-Info", "x"}};
  Fields fields = hop;
  fields.insert(fields.end(), {{"Cache-Control", "max-age=60, no-cache=\"X-No, X-None\", private=\"x-private\""},
                               {"Age", "7"},
                               {"X-No", "1"},
                               {"X-Private", "2"},
                               {"X-End", "3"}});
  origin.answer("/x", respond(200, fields, "x"));
  Weir weir(origin);
  auto const first = get(weir.port(), "/x");
  auto const second = get(weir.port(), "/x");
  for (auto const* response : {&first, &second}) {
    for (auto const& field : hop) EXPECT_FALSE(response->has(field.name)) << field << *response;
    EXPECT_EQ(response->value("X-End"), "3");
    EXPECT_EQ(age(*response), 7);
  }
  EXPECT_EQ(first.value("X-Private"), "2");  // it was this requester's own
  EXPECT_TRUE(cache_status(second).hit());
  EXPECT_FALSE(second.has("X-No") || second.has("X-Private"));
}

// STO-5: while a marker stands, requests go as they came; a storable answer replaces it.
TEST(Storing, MarkerLetsRequestsGoAsTheyCame) {
  ScriptedOrigin origin;
  std::atomic<bool> storable{false};
  origin.answer("/x", [&](Request const&) {
    return respond(200, {storable ? max_age(60) : Field{"Cache-Control", "private"}, {"ETag", "\"e\""}}, "x");
  });
  Weir weir(origin);
  get(weir.port(), "/x");
  Client client(weir.port());
  Fields const fields{{"Range", "bytes=0-0"}, {"If-None-Match", "\"other\""}, {"If-Modified-Since", http_date(-60s)}};
  for (std::string const method : {"GET", "HEAD"}) {
    auto const response = client.request(method, "/x", fields);
    EXPECT_EQ(cache_status(response).fwd(), "miss");
    EXPECT_EQ(cache_status(response).detail(), "hit-for-miss");
    EXPECT_EQ(origin.last_request().method, method);
    for (auto const& field : fields) EXPECT_EQ(origin.last_request().value(field.name), field.value);
  }
  storable = true;
  EXPECT_EQ(cache_status(client.get("/x")).detail(), "hit-for-miss");
  EXPECT_TRUE(cache_status(client.get("/x")).hit());
  EXPECT_EQ(origin.calls(), 4U);
}

// STO-5: a marker lasts 30 s, and what the request caused leaves none.
TEST(Storing, MarkersEnd) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "private"}}, "x"));
  origin.answer("/y", respond(200, {max_age(0)}, "y"));
  Weir weir(origin);
  get(weir.port(), "/x");
  weir.turn(29s);
  EXPECT_EQ(cache_status(get(weir.port(), "/x")).detail(), "hit-for-miss");
  weir.turn(31s);
  auto const later = cache_status(get(weir.port(), "/x"));
  EXPECT_EQ(later.detail(), "");
  EXPECT_EQ(later.fwd(), "uri-miss");
  for (Field const& own : {Field{"Cache-Control", "no-store"}, Field{"Authorization", "a"}, Field{"Cookie", "s=1"}}) {
    get(weir.port(), "/y", {own});
    EXPECT_EQ(cache_status(get(weir.port(), "/y?" + own.name)).detail(), "");
    EXPECT_NE(cache_status(get(weir.port(), "/y")).detail(), "hit-for-miss");
  }
}

// STO-5: a refusal does not push out what is good.
TEST(Storing, MarkerNeverReplacesALiveEntry) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {request.has("Authorization") ? Field{"Cache-Control", "private"} : max_age(600)},
                   request.value("Authorization"));
  });
  Weir weir(origin);
  get(weir.port(), "/x");
  EXPECT_EQ(get(weir.port(), "/x", {{"Authorization", "me"}}).body, "me");
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
}

// STO-6: of two fetches, the one that began last, whichever ends last.
TEST(Storing, TheLatestBegunWins) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", [&](Request const& request) {
    auto script = request.has("Authorization") ? Script().wait(gate) : Script();
    auto const body = request.has("Authorization") ? "old"s : "new"s;
    return script.head(200, {{"Cache-Control", "public, max-age=600"}, {"Content-Length", "3"}}).body(body);
  });
  Weir weir(origin);
  Client early(weir.port());
  early.send_request("GET", "/x", {{"Authorization", "a"}});
  ASSERT_TRUE(origin.waits_for_calls(1));
  EXPECT_EQ(get(weir.port(), "/x").body, "new");
  gate.open();
  EXPECT_EQ(early.read().body, "old");
  ASSERT_TRUE(weir.waits_until_no_flights());
  auto const later = get(weir.port(), "/x");
  EXPECT_TRUE(cache_status(later).hit());
  EXPECT_EQ(later.body, "new");
}

struct Lifetime {
  Fields fields;
  int seconds;
};

std::vector<Lifetime> lifetimes() {
  return {
      {{{"Cache-Control", "max-age=10, s-maxage=50"}}, 50},
      {{{"Cache-Control", "max-age=50"}, {"Expires", http_date(9s)}}, 50},
      {{{"Date", http_date(0s)}, {"Expires", http_date(50s)}}, 50},
      {{{"Date", http_date(-3600s)}, {"Expires", http_date(-3550s)}}, 50},  // a wrong clock does not switch the cache off
      {{{"Date", http_date(3600s)}, {"Expires", http_date(3650s)}}, 50},
      {{{"Expires", "0"}}, 0},
      {{{"Cache-Control", "max-age=50"}, {"Age", "20"}}, 30},
      {{{"Last-Modified", http_date(-360'000s)}}, 3600},
      {{{"Cache-Control", "max-age=50, max-age=10"}}, 0},
      {{{"Cache-Control", "max-age=fifty"}}, 0},
      {{{"Cache-Control", "max-age=-1"}}, 0},
      {{{"Cache-Control", "max-age=99999999999999999999"}}, 2147483647},
  };
}

// FRS-1: how long each is fresh, to a few seconds that the test itself takes.
TEST(Storing, Lifetimes) {
  ScriptedOrigin origin;
  Weir weir(origin, plain);
  for (std::size_t i = 0; i < lifetimes().size(); ++i) {
    auto const target = "/" + std::to_string(i);
    SCOPED_TRACE(target);
    auto const [fields, seconds] = lifetimes()[i];  // dates of now
    origin.answer(target, respond(200, fields, "x"));
    get(weir.port(), target);
    EXPECT_EQ(cache_status(get(weir.port(), target)).hit(), seconds > 0);
    bool const clamped = seconds > 100'000;
    if (seconds == 0) continue;
    weir.turn(std::chrono::seconds(clamped ? 100'000 : seconds - 4));
    EXPECT_TRUE(cache_status(get(weir.port(), target)).hit());
    if (clamped) continue;
    weir.turn(6s);
    EXPECT_FALSE(cache_status(get(weir.port(), target)).hit());
  }
}

// SRV-1
TEST(Storing, AgeGoesOn) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {max_age(600), {"Age", "100"}, {"Content-Length", "1"}}).body("x"));
  Weir weir(origin, plain);
  Client leader(weir.port());
  leader.send_request("GET", "/x");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  weir.turn(5s);  // the answer may be as old as its way took
  gate.open();
  EXPECT_GE(age(leader.read()), 105);
  weir.turn(60s);
  auto const response = get(weir.port(), "/x");
  EXPECT_GE(age(response), 165);
  EXPECT_LE(age(response), 167);
  EXPECT_EQ(response.count("Age"), 1U);
  EXPECT_EQ(*cache_status(response).ttl() + age(response), 600);
}

}  // namespace
}  // namespace weir::test
