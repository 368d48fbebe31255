// Lists of URLs, fetched ahead, behind everyone who waits for an answer.
#include <gtest/gtest.h>

#include <future>

#include "scenario/answers.hpp"
#include "support/burst.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Response warm(Weir& weir, std::string const& order) {
  return Client(weir.admin_port()).request("POST", "/v1/warm", {{"Content-Type", "application/json"}}, order);
}

std::string order_of(std::vector<std::string> const& paths, std::string const& more = "") {
  std::string urls;
  for (auto const& path : paths) urls += (urls.empty() ? "\"http://weir.test" : ",\"http://weir.test") + path + '"';
  return "{\"urls\":[" + urls + "]" + more + '}';
}

std::string progress(Weir& weir) { return get(weir.admin_port(), "/v1/warm").body; }
bool says(Weir& weir, std::string const& part) {
  return eventually([&] { return progress(weir).find(part) != std::string::npos; });
}

std::vector<std::string> numbered(int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) paths.push_back("/" + std::to_string(i));
  return paths;
}

Script page() { return respond(200, {max_age(600)}, "page"); }
constexpr auto warmed_ok = R"(weir_origin_fetches_total{class="warm",result="ok"})";

// WRM-1: what comes after is a hit; what is fresh is left alone.
TEST(Warm, FetchesWhatIsNotFresh) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return page(); });
  origin.answer("/gone", respond(404));
  origin.answer("/mine", respond(200, {{"Cache-Control", "private"}}, "mine"));
  Weir weir(origin, plain);
  get(weir.port(), "/0");
  auto paths = numbered(100);
  paths.insert(paths.end(), {"/gone", "/mine"});
  EXPECT_EQ(warm(weir, order_of(paths)).body, "{\"id\":1,\"total\":102}\n");
  ASSERT_TRUE(says(weir, "\"done\":99,\"skipped\":1,\"failed\":2,\"under_way\":0,\"ended\":true"));
  EXPECT_NE(progress(weir).find(R"({"url":"http://weir.test/mine","why":"not-stored"})"), std::string::npos);
  EXPECT_EQ(origin.calls(), 102U);
  EXPECT_EQ(weir.metric(warmed_ok), 100);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(cache_status(get(weir.port(), "/" + std::to_string(i))).hit()) << i;
  EXPECT_EQ(origin.calls(), 102U);
  EXPECT_EQ(weir.outcome(observe::Outcome::hit), 100U);
}

// WRM-1, FWD-7, KEY-6: the fields that select go along, and nobody's address or credentials do.
TEST(Warm, FieldsSelectTheVariant) {
  ScriptedOrigin origin;
  origin.answer("/v", [](Request const& request) {
    return respond(200, {max_age(600), {"Vary", "X-Kind"}}, request.value("X-Kind"));
  });
  Weir weir(origin, plain);
  EXPECT_EQ(warm(weir, order_of({"/v"}, R"(,"headers":{"X-Kind":"blue","X-Forwarded-Proto":"https"})")).status, 202);
  ASSERT_TRUE(says(weir, "\"done\":1"));
  auto const request = origin.last_request();
  EXPECT_EQ(request.value("X-Kind"), "blue");
  EXPECT_FALSE(request.has("X-Forwarded-For"));
  EXPECT_EQ(request.value("X-Forwarded-Proto"), "http");
  auto const blue = get(weir.port(), "/v", {{"X-Kind", "blue"}});
  EXPECT_TRUE(cache_status(blue).hit());
  EXPECT_EQ(blue.body, "blue");
  EXPECT_EQ(cache_status(get(weir.port(), "/v", {{"X-Kind", "red"}})).fwd(), "vary-miss");
  EXPECT_EQ(warm(weir, order_of({"/v"}, R"(,"headers":{"Cookie":"session=me"})")).status, 202);
  ASSERT_TRUE(says(weir, R"("why":"credentials")"));
  EXPECT_EQ(origin.calls(), 2U);
}

// WRM-1, SRV-2: what is stale is validated.
TEST(Warm, ValidatesWhatIsStale) {
  ScriptedOrigin origin;
  Fields const fields{max_age(20), {"ETag", "\"v\""}};
  origin.answer("/x", {respond(200, fields, "one"), respond(304, fields)});
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(30s);
  warm(weir, order_of({"/x"}));
  ASSERT_TRUE(says(weir, "\"done\":1"));
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(origin.calls(), 2U);
}

// WRM-1, LIM-2, FWD-7: it takes what foreground leaves, waits for it, and no more than so many at a time.
TEST(Warm, WaitsForPermitsBehindEveryone) {
  ScriptedOrigin origin;
  Gate busy, slow;
  origin.answer("/busy", Script().wait(busy).head(200, {{"Content-Length", "0"}, max_age(1)}));
  origin.answer_rest([slow](Request const&) {
    return Script().wait(slow).head(200, {{"Content-Length", "1"}, max_age(600)}).body("x");
  });
  Weir weir(origin, plain + "limiter: {max_concurrent: 4}\n");
  Burst held(weir.port(), 1);
  held.get("/busy");
  ASSERT_TRUE(origin.waits_for_calls(1));
  warm(weir, order_of(numbered(30)));
  ASSERT_TRUE(origin.waits_for_calls(3));  // 75 % of four, less the one that is held
  auto const& limiter = weir.daemon().setup()->origins.begin()->second->limiter;
  ASSERT_TRUE(eventually([&] { return limiter.stats().patient == 14; }));
  EXPECT_EQ(limiter.stats().background, 2U);
  EXPECT_EQ(limiter.stats().queued, 0U);
  EXPECT_NE(progress(weir).find("\"under_way\":16"), std::string::npos);
  Burst foreground(weir.port(), 1);
  foreground.get("/someone");
  ASSERT_TRUE(origin.waits_for_calls(4));
  EXPECT_EQ(origin.last_request().target, "/someone");
  busy.open();
  slow.open();
  ASSERT_TRUE(says(weir, "\"done\":30,\"skipped\":0,\"failed\":0"));
  held.collect();
  foreground.collect();
  EXPECT_LE(origin.most_at_once(), 4U);
  EXPECT_EQ(weir.metric(R"(weir_shed_total{reason="queue-full"})"), 0);
}

// WRM-1: one list at a time, and the end of a drain is not put off by what it has not begun.
TEST(Warm, EndsAtADrain) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([gate](Request const&) {
    return Script().wait(gate).head(200, {{"Content-Length", "1"}, max_age(600)}).body("x");
  });
  Weir weir(origin, plain + "limiter: {max_concurrent: 1}\n");
  warm(weir, order_of(numbered(100)));
  ASSERT_TRUE(origin.waits_for_calls(1));
  EXPECT_EQ(warm(weir, order_of({"/other"})).status, 409);
  auto const ended = std::async(std::launch::async, [&] {
    return weir.daemon().drain([](base::Duration) {
      give_way();
      return false;
    });
  });
  ASSERT_TRUE(eventually([&] { return weir.daemon().shared().draining.load(); }));
  EXPECT_EQ(warm(weir, order_of({"/other"})).status, 409);
  weir.turn(1s);
  EXPECT_TRUE(says(weir, "\"failed\":0,\"under_way\":1"));  // who waited for a permit is left, and has not failed
  gate.open();
  ended.wait();
  EXPECT_LE(origin.calls(), 2U);
}

// CB-1, WRM-1: an origin that is not asked has its URLs wait, and fail when it stays so.
TEST(Warm, GivesUpOnAnOriginThatIsNotAsked) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  Weir weir(origin, plain + "breaker: {min_requests: 2, open: 60s, open_max: 60s}\n");
  for (int i = 0; i < 3; ++i) get(weir.port(), "/bad");
  auto const calls = origin.calls();
  warm(weir, order_of({"/a"}));
  ASSERT_TRUE(says(weir, "\"under_way\":1"));
  weir.turn(11s);
  ASSERT_TRUE(says(weir, "\"failed\":1,\"under_way\":0,\"ended\":true"));
  EXPECT_EQ(origin.calls(), calls);
}

// CB-1, WRM-1: those who wait for a permit when the breaker opens wait on, and keep nobody's worker to themselves.
TEST(Warm, ABreakerThatOpensMeanwhileHoldsUpNobody) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const& request) {
    if (request.target.starts_with("/bad")) return respond(503);
    return request.target.starts_with("/busy") ? Script().wait(gate).head(200, {{"Content-Length", "0"}}) : page();
  });
  Weir weir(origin, plain +
                        "workers: 1\nlimiter: {max_concurrent: 4}\n"
                        "breaker: {min_requests: 2, open: 60s, open_max: 60s}\n");
  get(weir.port(), "/hot");
  Burst held(weir.port(), 3);
  held.send_each([](std::size_t client) { return write_request("GET", "/busy" + std::to_string(client)); });
  ASSERT_TRUE(origin.waits_for_calls(4));
  warm(weir, order_of(numbered(4)));
  auto const& limiter = weir.daemon().setup()->origins.begin()->second->limiter;
  ASSERT_TRUE(eventually([&] { return limiter.stats().patient == 4; }));
  for (int i = 0; weir.metric("weir_breaker_state") == 0 && i < 10; ++i) get(weir.port(), "/bad" + std::to_string(i));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cache_status(get(weir.port(), "/hot")).hit());
  EXPECT_TRUE(says(weir, "\"under_way\":4"));
  gate.open();
  held.collect();
}

// WRM-1: also where it might be served stale meanwhile.
TEST(Warm, ValidatesWhatMayBeServedStale) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=10, stale-while-revalidate=600"}}, "x"));
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(11s);
  warm(weir, order_of({"/x"}));
  ASSERT_TRUE(says(weir, "\"done\":1,\"skipped\":0,\"failed\":0,\"under_way\":0,\"ended\":true"));
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(cache_status(get(weir.port(), "/x")).value("ttl"), "10");
}

// WRM-1, OBS-5: nothing is begun on a list that is not understood.
TEST(Warm, MistakesBeginNothing) {
  ScriptedOrigin origin;
  Weir weir(origin);
  std::string many;
  for (int i = 0; i <= 10'000; ++i) many += std::string(i == 0 ? "" : ",") + "\"http://a/\"";
  for (std::string const& order :
       {std::string("[]"), std::string("{}"), std::string(R"({"urls":[]})"), std::string(R"({"urls":["/path"]})"),
        std::string(R"({"urls":["ftp://weir.test/"]})"), std::string(R"({"urls":["http://weir.test/a b"]})"),
        std::string(R"({"urls":["http://weir.test/"],"headers":{"Host":"x"}})"),
        std::string(R"({"urls":["http://weir.test/"],"headers":{"Authorization":"Basic x"}})"),
        std::string(R"({"urls":["http://weir.test/"],"headers":{"Range":"bytes=0-1"}})"),
        std::string(R"({"urls":["http://weir.test/"],"headers":{"X":"a\r\nB: c"}})"),
        std::string(R"({"urls":["http://weir.test/"],"headers":{"X":1}})"),
        std::string(R"({"urls":["http://weir.test/"],"priority":"high"})"), "{\"urls\":[" + many + "]}"}) {
    SCOPED_TRACE(order.substr(0, 100));
    EXPECT_EQ(warm(weir, order).status, 400);
  }
  EXPECT_EQ(progress(weir).find("\"id\":null"), 1U);
  EXPECT_EQ(origin.calls(), 0U);
}

}  // namespace
}  // namespace weir::test
