// What /v1/explain says of a request, and what then becomes of it. What /v1/entries lists.
#include <gtest/gtest.h>

#include <set>

#include "scenario/explaining.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
namespace bj = boost::json;

// One situation: an answer that is stored, what happens to it, and a request.
struct Situation {
  std::string decision, reason;  // reason: of the reuse table; empty: nothing was found
  std::string directives = "max-age=60";
  base::Duration turn{};
  std::string purge{};
  bool write = false;
  Fields asks{};
  std::string method = "GET", settings{};
  Field also{"X-Also", ""};  // of the stored answer
};

std::vector<Situation> const& situations() {
  static std::string const honest = "client: {honor_revalidation: true}\n";
  static std::vector<Situation> const rows{
      {"hit", "fresh"},
      {"fetch", "expired", "max-age=60", 61s},
      {"fetch", "no-cache", "no-cache, max-age=60"},
      {.decision = "fetch", .reason = "invalidated", .write = true},
      {"fetch", "purged", "max-age=60", 0s, R"({"urls":["/x"],"mode":"hard"})"},
      {"fetch", "soft-purged", "max-age=60", 0s, R"({"urls":["/x"]})"},
      {"stale", "within-stale-while-revalidate", "max-age=60, stale-while-revalidate=60", 0s, R"({"all":true})"},
      {"stale", "within-stale-while-revalidate", "max-age=60, stale-while-revalidate=60", 90s},
      {"fetch", "expired", "max-age=60, stale-while-revalidate=60", 121s},
      {.decision = "fetch", .reason = "request-no-cache", .asks = {{"Cache-Control", "no-cache"}}, .settings = honest},
      {.decision = "fetch",
       .reason = "request-max-age",
       .turn = 30s,
       .asks = {{"Cache-Control", "max-age=10"}},
       .settings = honest},
      {.decision = "fetch",
       .reason = "request-min-fresh",
       .turn = 30s,
       .asks = {{"Cache-Control", "min-fresh=40"}},
       .settings = honest},
      {.decision = "stale",
       .reason = "request-max-stale",
       .turn = 70s,
       .asks = {{"Cache-Control", "max-stale=20"}},
       .settings = honest},
      {.decision = "hit", .reason = "fresh", .asks = {{"Cache-Control", "no-cache"}}},
      {.decision = "fetch", .reason = "authorization", .asks = {{"Authorization", "Basic eA=="}}},
      {.decision = "hit", .reason = "fresh", .directives = "public, max-age=60", .asks = {{"Authorization", "Basic eA=="}}},
      {.decision = "fetch", .reason = "cookie", .asks = {{"Cookie", "id=1"}}},
      {.decision = "hit", .reason = "fresh", .directives = "s-maxage=60", .asks = {{"Cookie", "id=1"}}},
      {.decision = "hit", .reason = "fresh", .asks = {{"Cookie", "_ga=1"}}},
      {.decision = "fetch", .reason = "", .directives = "private"},
      {.decision = "fetch", .reason = "", .directives = "private", .turn = 31s},
      {.decision = "refuse", .reason = "expired", .turn = 61s, .asks = {{"Cache-Control", "only-if-cached"}}},
      {.decision = "fetch", .reason = "", .method = "POST"},
      {.decision = "hit", .reason = "fresh", .method = "HEAD"},
      {.decision = "refuse", .reason = "", .method = "TRACE"},
      {.decision = "fetch", .reason = "", .settings = "sites: [{origin: default, routes: [{path: \"/*\", cache: off}]}]\n"},
      {.decision = "fetch", .reason = "", .asks = {{"Accept-Language", "de"}}, .also = {"Vary", "Accept-Language"}},
      {.decision = "hit", .reason = "fresh", .asks = {{"X-Other", "1"}}, .also = {"Vary", "Accept-Language"}},
      {.decision = "fetch", .reason = "fresh", .asks = {{"Accept-Encoding", "zstd, identity;q=0"}}},
      {.decision = "refuse", .reason = "", .settings = "sites: [{hosts: [other.test], origin: default}]\n"},
      {.decision = "refuse", .reason = "", .asks = {{"CDN-Loop", "weir-me"}}, .settings = "instance: me\n"},
  };
  return rows;
}

void play(Situation const& row) {
  ScriptedOrigin origin;
  origin.answer_rest([&row](Request const& request) {
    if (request.has("If-None-Match")) return Script().head(304, {{"ETag", "\"1\""}, {"Cache-Control", row.directives}});
    return respond(200, {{"ETag", "\"1\""}, {"Cache-Control", row.directives}, row.also}, "x");
  });
  Weir weir(origin, plain + row.settings);
  get(weir.port(), "/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  if (row.write) Client(weir.port()).request("POST", "/x", {}, "new");
  if (!row.purge.empty())
    Client(weir.admin_port()).request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, row.purge);
  if (row.turn > 0s) weir.turn(row.turn);
  auto const calls = origin.calls();
  auto const told = explain(weir, "/x", row.asks, row.method);
  EXPECT_EQ(origin.calls(), calls);
  EXPECT_EQ(text(told.at("decision")), row.decision);
  EXPECT_EQ(told.at("reuse").is_null() ? "" : text(told.at("reuse").at("reason")), row.reason);
  EXPECT_FALSE(text(told.at("why")).empty());
  expect_agreement(told, Client(weir.port()).request(row.method, "/x", row.asks));
  if (row.decision != "stale") { EXPECT_EQ(origin.calls() - calls, row.decision == "fetch" ? 1U : 0U); }
}

// OBS-3: for every row of the reuse table, and for what decides before it is asked.
TEST(Explain, AgreesWithWhatThenHappens) {
  std::set<std::string> reasons;
  for (auto const& row : situations()) {
    SCOPED_TRACE(row.decision + ' ' + row.reason + ' ' + row.directives + ' ' + row.method +
                 (row.asks.empty() ? "" : ' ' + row.asks[0].name + ": " + row.asks[0].value));
    play(row);
    reasons.insert(row.reason);
  }
  for (int i = 1; i <= static_cast<int>(cache::ReuseReason::cookie); ++i) {
    auto const reason = static_cast<cache::ReuseReason>(i);
    EXPECT_TRUE(reasons.contains(std::string(label(reason)))) << label(reason);
  }
}

// OBS-3: asking is not doing: nothing is counted, learned or used.
TEST(Explain, LeavesNoTrace) {
  ScriptedOrigin origin;
  Weir weir(origin);
  for (int i = 0; i < 3; ++i) explain(weir, "/x", {{"Cookie", "session=1"}});
  EXPECT_EQ(weir.daemon().metrics().total_cacheable(), 0U);
  EXPECT_TRUE(weir.daemon().shared().cookie_names.top(1).empty());
  EXPECT_EQ(weir.daemon().flights().flights(), 0U);
  EXPECT_EQ(weir.metric(R"(weir_requests_total{site="default",outcome="miss"})"), 0);
  EXPECT_EQ(origin.calls(), 0U);
}

// OBS-3, COA-1: a fetch under way is told of, and who comes then joins it.
TEST(Explain, TellsOfTheFlight) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {max_age(60), {"Content-Length", "1"}}).body("x"));
  Weir weir(origin, plain);
  Burst burst(weir.port(), 5);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(5));
  auto const told = explain(weir, "/x");
  EXPECT_EQ(text(told.at("decision")), "join");
  EXPECT_EQ(told.at("flight").at("waiters").as_int64(), 5);
  EXPECT_FALSE(told.at("flight").at("head").as_bool());
  Client last(weir.port());
  last.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(6));
  gate.open();
  expect_agreement(told, last.read());
  EXPECT_EQ(origin.calls(), 1U);
}

// OBS-3, LIM-1, COA-15: a full queue and a full slot are foretold.
TEST(Explain, TellsWhatWouldBeShed) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) { return Script().wait(gate).head(200, {{"Content-Length", "0"}}); });
  Weir weir(origin, "limiter: {max_concurrent: 1, max_queue: 1}\ncoalesce: {max_waiters: 1}\n");
  Client first(weir.port()), second(weir.port());
  first.send_request("GET", "/1");
  ASSERT_TRUE(origin.waits_for_calls(1));
  auto const queued = explain(weir, "/2");
  EXPECT_EQ(text(queued.at("decision")), "fetch");
  EXPECT_EQ(text(queued.at("limiter").at("permit")), "queued");
  second.send_request("GET", "/2");
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_limiter_queue_depth") == 1; }));
  for (auto const* path : {"/3", "/1"}) {
    auto const told = explain(weir, path);
    EXPECT_EQ(text(told.at("decision")), "refuse");
    expect_agreement(told, get(weir.port(), path));
  }
  gate.open();
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(second.read().status, 200);
}

// OBS-3, CB-1, STL-2: an open breaker, with and without something to fall back on, and its probe.
TEST(Explain, TellsOfTheBreaker) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=1, stale-if-error=600"}}, "x"));
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(2s);
  for (int i = 0; i < 30; ++i) get(weir.port(), "/" + std::to_string(i));
  auto const calls = origin.calls();
  auto const stale = explain(weir, "/x");
  EXPECT_EQ(text(stale.at("decision")), "stale");
  EXPECT_EQ(text(stale.at("breaker").at("state")), "open");
  expect_agreement(stale, get(weir.port(), "/x"));
  auto const refused = explain(weir, "/y");
  EXPECT_EQ(text(refused.at("decision")), "refuse");
  expect_agreement(refused, get(weir.port(), "/y"));
  EXPECT_EQ(origin.calls(), calls);
  weir.turn(7s);
  auto const probe = explain(weir, "/y");
  EXPECT_EQ(text(probe.at("decision")), "fetch");
  EXPECT_NE(text(probe.at("why")).find("probe"), std::string::npos);
  expect_agreement(probe, get(weir.port(), "/y"));
  EXPECT_EQ(origin.calls(), calls + 1);
}

// OBS-3, NEG-1: a failure that is remembered.
TEST(Explain, TellsOfANegativeRecord) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(502); });
  Weir weir(origin, "negative: {ttl: 10s}\n");
  get(weir.port(), "/x");
  auto const told = explain(weir, "/x");
  EXPECT_EQ(text(told.at("decision")), "refuse");
  EXPECT_EQ(told.at("negative").at("status").as_int64(), 502);
  expect_agreement(told, get(weir.port(), "/x"));
  EXPECT_EQ(origin.calls(), 1U);
}

// OBS-3, MODE-1: an incident.
TEST(Explain, TellsOfTheMode) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {max_age(60)}, "x"); });
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  auto const answer =
      Client(weir.admin_port())
          .request("PUT", "/v1/mode", {{"Content-Type", "application/json"}}, R"({"mode":"bypass","for":"10m"})");
  ASSERT_EQ(answer.status, 200);
  auto const told = explain(weir, "/x");
  EXPECT_EQ(text(told.at("mode")), "bypass");
  EXPECT_EQ(text(told.at("decision")), "fetch");
  expect_agreement(told, get(weir.port(), "/x"));
  EXPECT_EQ(origin.calls(), 2U);
}

// OBS-3, FRS-1: the arithmetic, from the sources of a lifetime.
TEST(Explain, ShowsTheArithmetic) {
  ScriptedOrigin origin;
  auto const modified = http_date(-1000s);
  for (auto const& [path, fields] : std::vector<std::pair<std::string, Fields>>{
           {"/s-maxage", {{"Cache-Control", "max-age=5, s-maxage=60, stale-while-revalidate=7"}, {"Age", "10"}}},
           {"/max-age", {{"Cache-Control", "max-age=60"}, {"Age", "10"}}},
           {"/Expires", {{"Expires", http_date(60s)}, {"Date", http_date(0s)}, {"Age", "10"}}},
           {"/Last-Modified", {{"Last-Modified", modified}, {"Date", http_date(0s)}, {"Age", "10"}}}})
    origin.answer(path, respond(200, fields, path));
  Weir weir(origin, plain);
  for (std::string const source : {"s-maxage", "max-age", "Expires", "Last-Modified"}) {
    get(weir.port(), "/" + source);
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(20s);
    auto const told = explain(weir, "/" + source);
    auto const& freshness = told.at("freshness");
    auto const of = [&](char const* name) { return freshness.at(name).to_number<double>(); };
    EXPECT_EQ(text(freshness.at("lifetime_source")), source);
    EXPECT_NEAR(of("lifetime_seconds"), source == "Last-Modified" ? 100 : 60, 1.1);
    EXPECT_NEAR(of("age_at_arrival_seconds"), 10, 1);
    EXPECT_NEAR(of("held_seconds"), 20, 1);
    EXPECT_NEAR(of("age_seconds") + of("ttl_seconds"), of("lifetime_seconds"), 1e-6);
    EXPECT_EQ(of("stale_while_revalidate_seconds"), source == "s-maxage" ? 7 : 0);
  }
}

// OBS-3, KEY-1, KEY-4: what is stored for a URL, under whatever else is keyed, with what selects it.
TEST(Entries, ListWhatIsStoredForAUrl) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {max_age(600), {"Vary", "Accept-Language"}, {"ETag", "\"e\""}}, request.value("X-Tenant"));
  });
  Weir weir(origin, plain + "key: {headers: [x-tenant]}\n");
  for (auto const& fields : {Fields{{"X-Tenant", "a"}, {"Accept-Language", "de"}}, Fields{{"X-Tenant", "a"}},
                             Fields{{"X-Tenant", "bb"}}, Fields{}}) {
    get(weir.port(), "/x?a=1", fields);
    get(weir.port(), "/other", fields);
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
  auto const all = bj::parse(get(weir.admin_port(), "/v1/entries" + query_for("/x?a=1", {})).body);
  EXPECT_EQ(all.at("entries").as_int64(), 4);
  EXPECT_EQ(all.at("keys").as_array().size(), 3U);
  auto const one = bj::parse(get(weir.admin_port(), "/v1/entries" + query_for("/x?a=1", {{"X-Tenant", "a"}})).body);
  ASSERT_EQ(one.at("keys").as_array().size(), 1U);
  auto const& variants = one.at("keys").at(0).at("variants").as_array();
  ASSERT_EQ(variants.size(), 2U);
  std::set<std::string> languages;
  for (auto const& variant : variants) {
    EXPECT_EQ(variant.at("status").as_int64(), 200);
    EXPECT_EQ(variant.at("body_bytes").as_int64(), 1);
    EXPECT_EQ(text(variant.at("etag")), "\"e\"");
    EXPECT_EQ(text(variant.at("verdict")), "fresh");
    EXPECT_EQ(text(variant.at("vary").at(0).at("name")), "accept-language");
    languages.insert(text(variant.at("vary").at(0).at("value")));
  }
  EXPECT_EQ(languages, (std::set<std::string>{"", "de"}));
  EXPECT_EQ(bj::parse(get(weir.admin_port(), "/v1/entries" + query_for("/none", {})).body).at("entries").as_int64(), 0);
}

// LCY-2, OBS-3: a setup that is gone, with what checks its servers, is not kept by the last question.
TEST(Explain, KeepsNothingThatAReloadReplaced) {
  ScriptedOrigin origin;
  Weir weir(origin);
  std::weak_ptr const asked_about = weir.daemon().setup();
  explain(weir, "/a");
  EXPECT_EQ(weir.reload("limiter: {max_concurrent: 2}\n"), std::vector<std::string>());
  EXPECT_TRUE(eventually([&] { return asked_about.expired(); }));
  std::weak_ptr const listed = weir.daemon().setup();
  EXPECT_EQ(get(weir.admin_port(), "/v1/entries" + query_for("/a", {})).status, 200);
  EXPECT_EQ(weir.reload("limiter: {max_concurrent: 3}\n"), std::vector<std::string>());
  EXPECT_TRUE(eventually([&] { return listed.expired(); }));
}

// OBS-3, OBS-5: questions that are none.
TEST(Explain, MistakesAreTold) {
  ScriptedOrigin origin;
  Weir weir(origin);
  for (auto const* query : {"", "?url=", "?url=%zz", "?url=http%3A%2F%2Fa%2F&header=x",
                            "?url=http%3A%2F%2Fa%2F&header=a%3A%20b%0ac", "?url=http%3A%2F%2Fa%2F&method=G%20T"}) {
    EXPECT_EQ(get(weir.admin_port(), std::string("/v1/explain") + query).status, 400) << query;
    EXPECT_EQ(get(weir.admin_port(), std::string("/v1/entries") + query).status, 400) << query;
  }
  auto const malformed = bj::parse(get(weir.admin_port(), "/v1/explain?url=%2F%2500&header=Host%3A%20a").body);
  EXPECT_EQ(text(malformed.at("decision")), "refuse");
  EXPECT_EQ(malformed.at("status").as_int64(), 400);
  EXPECT_EQ(get(weir.port(), "/%00").status, 400);
}

}  // namespace
}  // namespace weir::test
