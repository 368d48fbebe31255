// STL-1 to STL-3: the windows of RFC 5861, by who gets what at which time after the answer was stored.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/status_members.hpp"

namespace weir::test {
namespace {

using std::chrono::seconds;

// What the origin does when it is asked again.
enum class Then { validates, fails, is_asked_nothing };

struct Row {
  std::string words;  // Cache-Control of the stored answer, Age 0
  seconds later;
  Then then;
  std::string says;  // of Cache-Status
  int status = 200;
  std::string yaml = plain;
};

void expect_all(std::vector<Row> const& rows) {
  for (auto const& row : rows) {
    SCOPED_TRACE(row.words + ", after " + std::to_string(row.later.count()) + " s");
    ScriptedOrigin origin;
    Fields const fields{{"Cache-Control", row.words}, {"ETag", "\"e\""}};
    origin.answer("/x", {respond(200, fields, "x"), row.then == Then::fails ? respond(503) : respond(304, fields)});
    Weir weir(origin, row.yaml);
    get(weir.port(), "/x");
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(row.later);
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(own_cache_status(response), row.says) << response;
    EXPECT_EQ(response.status, row.status);
    EXPECT_EQ(response.body, row.status == 200 ? "x" : "");
    if (row.then != Then::is_asked_nothing) { ASSERT_TRUE(origin.waits_for_calls(2)); }
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(origin.calls(), row.then == Then::is_asked_nothing ? 1U : 2U);
    EXPECT_EQ(origin.last_request().has("If-None-Match"), row.then != Then::is_asked_nothing);
  }
}

std::string const hit = "hit", at_once = "hit; detail=stale-while-revalidate", valid = "fwd=stale; fwd-status=304",
                  failed = "fwd=stale; fwd-status=503", spared = "fwd=stale; fwd-status=503; detail=stale-if-error";

// RFC 5861 3: in the window at once and refreshed behind it; before it fresh, past it asked first.
TEST(StaleWindows, WhileRevalidate) {
  std::string const words = "max-age=60, stale-while-revalidate=30";
  expect_all({
      {words, seconds(50), Then::is_asked_nothing, hit},
      {words, seconds(61), Then::validates, at_once},
      {words, seconds(80), Then::fails, at_once},
      {words, seconds(91), Then::validates, valid},
      {words, seconds(91), Then::fails, failed, 503},
      {"max-age=60", seconds(61), Then::validates, valid},
      {"max-age=60, stale-while-revalidate=0", seconds(61), Then::validates, valid},
      {"max-age=60, stale-while-revalidate", seconds(50), Then::validates, valid},  // malformed: never fresh
      {"max-age=0, stale-while-revalidate=30", seconds(10), Then::validates, at_once},
      {"s-maxage=60, max-age=5, stale-while-revalidate=30", seconds(61), Then::validates, at_once},
      {words + ", must-revalidate", seconds(61), Then::validates, valid},
      {words + ", proxy-revalidate", seconds(61), Then::validates, valid},
      {words + ", no-cache", seconds(1), Then::validates, valid},
  });
}

// RFC 5861 4: in the window, whatever fails; not for what must be validated, nor past it.
TEST(StaleWindows, IfError) {
  std::string const words = "max-age=60, stale-if-error=30";
  expect_all({
      {words, seconds(50), Then::is_asked_nothing, hit},
      {words, seconds(61), Then::validates, valid},
      {words, seconds(61), Then::fails, spared},
      {words, seconds(80), Then::fails, spared},
      {words, seconds(91), Then::fails, failed, 503},
      {"max-age=60", seconds(61), Then::fails, failed, 503},
      {"max-age=60, stale-if-error=0", seconds(61), Then::fails, failed, 503},
      {"s-maxage=60, stale-if-error=30", seconds(61), Then::fails, spared},
      {words + ", must-revalidate", seconds(61), Then::fails, failed, 503},
      {words + ", proxy-revalidate", seconds(61), Then::fails, failed, 503},
      {words + ", no-cache", seconds(1), Then::fails, failed, 503},
      {"max-age=60, stale-while-revalidate=10, stale-if-error=30", seconds(65), Then::fails, at_once},
      {"max-age=60, stale-while-revalidate=10, stale-if-error=30", seconds(80), Then::fails, spared},
      {"max-age=60, stale-while-revalidate=30", seconds(95), Then::fails, failed, 503},
  });
}

// STL-1: the operator's windows, where the origin said nothing of them and nothing that forbids them.
TEST(StaleWindows, Defaults) {
  std::string const yaml =
      "freshness: {jitter: off, early_refresh: off, default_stale_while_revalidate: 10s, default_stale_if_error: 30s}\n";
  std::vector<Row> rows{
      {"max-age=60", seconds(65), Then::validates, at_once},
      {"max-age=60", seconds(80), Then::fails, spared},
      {"max-age=60", seconds(95), Then::fails, failed, 503},
      {"max-age=60, stale-while-revalidate=0", seconds(65), Then::validates, valid},
      {"max-age=60, stale-if-error=0", seconds(80), Then::fails, failed, 503},
      {"s-maxage=60", seconds(65), Then::fails, failed, 503},
      {"max-age=60, must-revalidate", seconds(65), Then::fails, failed, 503},
      {"max-age=60, proxy-revalidate", seconds(65), Then::validates, valid},
      {"max-age=60, no-cache", seconds(1), Then::fails, failed, 503},
  };
  for (auto& row : rows) row.yaml = yaml;
  expect_all(rows);
}

// STL-2: what counts as an error, and STL-3: what must be validated and cannot be is a 504.
TEST(StaleWindows, WhatIsAnError) {
  struct Case {
    std::string name;
    Script failure;
    bool spares;
  };
  for (auto const& row : std::vector<Case>{
           {"500", respond(500), true},
           {"502", respond(502), true},
           {"503", respond(503), true},
           {"504", respond(504), true},
           {"501", respond(501), false},
           {"505", respond(505), false},
           {"400", respond(400), false},
           {"404", respond(404), false},
           {"410", respond(410), false},
           {"429", respond(429), false},
           {"an end before the head", close(), true},
           {"a reset", reset(), true},
           {"no HTTP", Script().send("what?\r\n\r\n").close(), true},
           {"too long a head", Script().head(200, {{"A", std::string(100'000, 'a')}}), true},
           {"an end in the body", respond(200, {max_age(60)}, std::string(1000, 'y')).close_after(500), true},
           {"a reset in the body", respond(200, {max_age(60)}, std::string(1000, 'y')).reset_after(500), true},
       }) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=60, stale-if-error=60"}}, "x"), row.failure});
    origin.answer("/must", {respond(200, {{"Cache-Control", "max-age=60, must-revalidate"}}, "x"), row.failure});
    Weir weir(origin, plain);
    get(weir.port(), "/x");
    get(weir.port(), "/must");
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(seconds(70));
    EXPECT_EQ(get(weir.port(), "/x").body == "x", row.spares);
    EXPECT_NE(get(weir.port(), "/must").body, "x");
  }
}

// RFC 8246 2.1, SRV-5: a reload of what cannot have changed is answered from the store even where clients are obeyed; only
// `no-cache` says that it is meant. What has expired is validated like anything else.
TEST(Immutable, Reloads) {
  struct Case {
    std::string stored, asked;
    seconds later;
    bool obeyed, hit;
  };
  std::string const immutable = "max-age=60, immutable";
  for (auto const& row : std::vector<Case>{
           {immutable, "max-age=0", seconds(5), true, true},
           {immutable, "max-age=3", seconds(5), true, true},
           {immutable, "no-cache", seconds(5), true, false},
           {immutable, "no-cache", seconds(5), false, true},
           {immutable, "max-age=0", seconds(5), false, true},
           {immutable, "min-fresh=100", seconds(5), true, false},
           {immutable, "max-age=0", seconds(61), true, false},
           {immutable, "", seconds(61), true, false},
           {"max-age=60", "max-age=0", seconds(5), true, false},
           {"max-age=60, immutable=5", "max-age=0", seconds(5), true, true},
           {"max-age=60, no-cache, immutable", "max-age=0", seconds(5), true, false},
       }) {
    SCOPED_TRACE(row.stored + " asked with " + row.asked);
    ScriptedOrigin origin;
    Fields const fields{{"Cache-Control", row.stored}, {"ETag", "\"e\""}};
    origin.answer("/x", {respond(200, fields, "x"), respond(304, fields)});
    Weir weir(origin, plain + (row.obeyed ? "client: {honor_revalidation: true}\n" : ""));
    get(weir.port(), "/x");
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(row.later);
    auto const response = get(weir.port(), "/x", {{"Cache-Control", row.asked}, {"If-None-Match", "\"e\""}});
    EXPECT_EQ(response.status, 304) << response;
    EXPECT_EQ(cache_status(response).hit(), row.hit);
    EXPECT_EQ(origin.calls(), row.hit ? 1U : 2U);
  }
}

}  // namespace
}  // namespace weir::test
