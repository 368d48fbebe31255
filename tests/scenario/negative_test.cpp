// A failure with nothing stored, remembered for a moment when told so.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// NEG-1, COA-5: as shipped an error is remembered by nobody.
TEST(Negative, IsOffAsShipped) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(503));
  Weir weir(origin);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(weir.port(), "/x").status, 503);
  EXPECT_EQ(origin.calls(), 3U);
}

// NEG-1: one fetch in each `ttl`; status and Retry-After come back, nothing else does.
TEST(Negative, AFailedKeyIsAskedOnceInEachTtl) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(503, {{"Retry-After", "17"}, {"X-Secret", "s"}}, "oops"));
  Weir weir(origin, "negative: {ttl: 5s}");
  EXPECT_EQ(get(weir.port(), "/x").body, "oops");
  for (int i = 0; i < 3; ++i) {
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.value("Retry-After"), "17");
    EXPECT_FALSE(response.has("X-Secret"));
    EXPECT_EQ(cache_status(response).detail(), "negative");
    EXPECT_TRUE(cache_status(response).hit());
  }
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(weir.metric("weir_negative_served_total"), 3);
  weir.turn(6s);
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=60"}}, "well"));
  EXPECT_EQ(get(weir.port(), "/x").body, "well");
  EXPECT_EQ(origin.calls(), 2U);
}

// NEG-1: which failures leave a record.
TEST(Negative, OnlyFailuresOfTheOriginLeaveARecord) {
  struct Row {
    std::string name;
    Script script;
    bool remembered;
  };
  std::vector<Row> const rows{
      {"502", respond(502), true},  {"504", respond(504), true},  {"reset", reset(), true},
      {"500", respond(500), false}, {"404", respond(404), false}, {"bad head", Script().send("no\r\n\r\n").close(), false},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer("/x", row.script);
    Weir weir(origin, "negative: {ttl: 5s}");
    get(weir.port(), "/x");
    get(weir.port(), "/x");
    EXPECT_EQ(weir.metric("weir_negative_served_total"), row.remembered ? 1 : 0);
  }
}

// NEG-1, COA-8: what somebody with credentials saw is told to nobody; nor does a record stand where something is stored.
TEST(Negative, CredentialsAndStoredEntriesLeaveNone) {
  ScriptedOrigin origin;
  origin.answer("/mine", respond(503));
  origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=20, stale-if-error=60"}}, "old"), respond(503)});
  Weir weir(origin, "negative: {ttl: 500s}");
  get(weir.port(), "/mine", {{"Authorization", "Basic me"}});
  get(weir.port(), "/mine", {{"Cookie", "session=1"}});
  EXPECT_EQ(get(weir.port(), "/mine").status, 503);
  EXPECT_EQ(origin.calls("/mine"), 3U);
  get(weir.port(), "/x");
  weir.turn(21s);
  EXPECT_EQ(get(weir.port(), "/x").body, "old");
  EXPECT_EQ(get(weir.port(), "/x").body, "old");
  EXPECT_EQ(origin.calls("/x"), 3U);
}

// NEG-1: 404 and 410 live as they say, or for `default_ttl`.
TEST(Negative, MissingPagesMayBeGivenALifetime) {
  ScriptedOrigin origin;
  origin.answer("/none", respond(404, {}, "no"));
  origin.answer("/own", respond(410, {{"Cache-Control", "max-age=60"}}, "no"));
  origin.answer("/never", respond(404, {{"Cache-Control", "no-store"}}, "no"));
  Weir weir(origin, "negative: {default_ttl: 20s}");
  for (auto const* path : {"/none", "/own", "/never"})
    for (int i = 0; i < 2; ++i) get(weir.port(), path);
  EXPECT_EQ(origin.calls("/none"), 1U);
  EXPECT_EQ(origin.calls("/own"), 1U);
  EXPECT_EQ(origin.calls("/never"), 2U);
  weir.turn(21s);
  for (auto const* path : {"/none", "/own"}) get(weir.port(), path);
  EXPECT_EQ(origin.calls("/none"), 2U);
  EXPECT_EQ(origin.calls("/own"), 1U);
}

}  // namespace
}  // namespace weir::test
