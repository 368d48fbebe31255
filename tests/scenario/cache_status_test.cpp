// OBS-1, STL-2: Cache-Status (RFC 9211), each parameter in each situation, read by a parser of structured fields.
#include <gtest/gtest.h>

#include <functional>

#include "scenario/answers.hpp"
#include "scenario/status_members.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// What rows ask for: the path says what the answer is like. `failing` says what /sie and /down do.
struct Stage {
  explicit Stage(std::string const& yaml) : weir(origin, yaml) {
    origin.answer("/kept", [](Request const& request) {
      Fields const fields{max_age(60), {"ETag", "\"e\""}};
      return request.value("If-None-Match") == "\"e\"" ? respond(304, fields) : respond(200, fields, "kept");
    });
    origin.answer("/vary", respond(200, {max_age(60), {"Vary", "X-Kind"}}, "vary"));
    origin.answer("/private", respond(200, {{"Cache-Control", "private"}}, "private"));
    origin.answer("/plain", respond(200, {}, "plain"));
    origin.answer("/swr", respond(200, {{"Cache-Control", "max-age=60, stale-while-revalidate=600"}}, "swr"));
    origin.answer("/sie", [this](Request const& request) { return failing ? *failing : stale_if_error(request); });
    origin.answer("/down", [this](Request const&) { return failing.value_or(respond(503)); });
  }
  static Script stale_if_error(Request const&) {
    return respond(200, {{"Cache-Control", "max-age=60, stale-if-error=600"}}, "sie");
  }
  Response ask(std::string const& target, Fields const& fields = {}, std::string const& method = "GET",
               std::string const& body = "") {
    auto response = Client(weir.port()).request(method, target, fields, body);
    EXPECT_TRUE(weir.waits_until_no_flights());
    return response;
  }
  Response ask_again(std::string const& target, std::chrono::seconds later, Fields const& fields = {}) {
    ask(target);
    weir.turn(later);
    return ask(target, fields);
  }
  std::optional<Script> failing;
  ScriptedOrigin origin;
  Weir weir;
};

struct Row {
  std::string name, yaml;
  std::function<Response(Stage&)> ask;
  std::string says;
  std::optional<std::int64_t> ttl = {};  // and up to five less
};

void expect_all(std::vector<Row> const& rows) {
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    Stage stage(row.yaml.empty() ? plain : row.yaml);
    auto const response = row.ask(stage);
    EXPECT_EQ(own_cache_status(response), row.says) << response;
    auto const ttl = own_ttl(response);
    EXPECT_EQ(ttl.has_value(), row.ttl.has_value()) << response;
    if (!ttl || !row.ttl) continue;
    EXPECT_TRUE(*ttl <= *row.ttl && *ttl >= *row.ttl - 5) << response;
  }
}

// Why a request went forward, and what was kept of its answer.
TEST(CacheStatus, Forwarded) {
  std::string const off = plain + "sites: [{origin: default, routes: [{path: \"/*\", cache: off}]}]\n";
  Fields const user{{"Authorization", "Basic x"}}, session{{"Cookie", "s=1"}};
  auto const get = [](std::string const& target, Fields const& fields = {}) {
    return [=](Stage& s) { return s.ask(target, fields); };
  };
  auto const second = [](std::string const& target, Fields const& first, Fields const& then) {
    return [=](Stage& s) { return (s.ask(target, first), s.ask(target, then)); };
  };
  expect_all({
      {"nothing of that URI", "", get("/kept"), "fwd=uri-miss; fwd-status=200; stored", 60},
      {"for a part of it", "", get("/kept", {{"Range", "bytes=0-1"}}), "fwd=uri-miss; fwd-status=200; stored", 60},
      {"for what is known", "", get("/kept", {{"If-None-Match", "\"e\""}}), "fwd=uri-miss; fwd-status=200; stored", 60},
      {"not stored", "", get("/plain"), "fwd=uri-miss; fwd-status=200"},
      {"not found", "", get("/unknown"), "fwd=uri-miss; fwd-status=404"},
      {"failed", "", get("/down"), "fwd=uri-miss; fwd-status=503"},
      {"for a user", "", get("/kept", user), "fwd=uri-miss; fwd-status=200"},
      {"not of that variant", "", second("/vary", {{"X-Kind", "1"}}, {{"X-Kind", "2"}}),
       "fwd=vary-miss; fwd-status=200; stored", 60},
      {"known not to be shared", "", second("/private", {}, {}), "fwd=miss; fwd-status=200; detail=hit-for-miss"},
      {"the cache is off", off, get("/kept"), "fwd=bypass; fwd-status=200"},
      {"sessions pass by", plain + "cookies: {mode: bypass}\n", get("/kept", session), "fwd=bypass; fwd-status=200"},
      {"fresh, not for a user", "", second("/kept", {}, user), "fwd=request; fwd-status=200"},
      {"fresh, not for a session", "", second("/kept", {}, session), "fwd=request; fwd-status=200"},
      {"fresh, in a coding that is refused", "", second("/kept", {}, {{"Accept-Encoding", "identity;q=0"}}),
       "fwd=request; fwd-status=200"},
  });
}

// The method, or what the client demands.
TEST(CacheStatus, ForwardedForTheRequestsSake) {
  std::string const obedient = plain + "client: {honor_revalidation: true}\n";
  std::vector<Row> rows;
  for (std::string const method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"})
    rows.push_back({method, "", [=](Stage& s) { return s.ask("/kept", {}, method); }, "fwd=method; fwd-status=200"});
  rows.push_back(
      {"GET with a body", "", [](Stage& s) { return s.ask("/kept", {}, "GET", "body"); }, "fwd=method; fwd-status=200"});
  for (std::string const words : {"no-cache", "max-age=0", "min-fresh=100"})
    rows.push_back({words, obedient,
                    [=](Stage& s) {
                      return s.ask_again("/kept", 2s, {{"Cache-Control", words}});
                    },
                    "fwd=request; fwd-status=304", 60});
  expect_all(rows);
}

// What is left of the lifetime, wherever that comes from; never said of what is not kept.
TEST(CacheStatus, TimeToLive) {
  auto const given = [](Fields const& fields) {
    return [=](Stage& s) {
      s.origin.answer("/x", respond(200, fields, "x"));
      return s.ask("/x");
    };
  };
  std::string const stored = "fwd=uri-miss; fwd-status=200; stored";
  expect_all({
      {"max-age", "", given({max_age(100)}), stored, 100},
      {"s-maxage", "", given({{"Cache-Control", "max-age=5, s-maxage=200"}}), stored, 200},
      {"Expires", "", given({{"Expires", http_date(600s)}}), stored, 600},
      {"by the age since it changed", "", given({{"Last-Modified", http_date(-10h)}}), stored, 3600},
      {"Age counts", "", given({max_age(100), {"Age", "40"}}), stored, 60},
      {"nothing is left", "", given({max_age(0), {"ETag", "\"e\""}}), stored, 0},
      {"less than nothing", "", given({max_age(100), {"Age", "140"}, {"ETag", "\"e\""}}), stored, -40},
      {"a targeted field", "", given({max_age(5), {"CDN-Cache-Control", "max-age=300"}}), stored, 300},
      {"the operator's", "freshness: {jitter: off, override_ttl: 400s}\n", given({max_age(5)}), stored, 400},
      {"where none is given", "freshness: {jitter: off, default_ttl: 500s}\n", given({}), stored, 500},
      {"an error's, at most", "",
       [](Stage& s) {
         s.failing = respond(503, {max_age(100)});
         return s.ask("/down");
       },
       "fwd=uri-miss; fwd-status=503; stored", 10},
  });
}

TEST(CacheStatus, Hits) {
  auto const hit = [](Fields const& fields, std::string const& method = "GET") {
    return [=](Stage& s) { return (s.ask("/kept"), s.ask("/kept", fields, method)); };
  };
  expect_all({
      {"fresh", "", hit({}), "hit", 60},
      {"almost over", "", [](Stage& s) { return s.ask_again("/kept", 50s); }, "hit", 10},
      {"HEAD", "", hit({}, "HEAD"), "hit", 60},
      {"304", "", hit({{"If-None-Match", "\"e\""}}), "hit", 60},
      {"206", "", hit({{"Range", "bytes=0-1"}}), "hit", 60},
      {"416", "", hit({{"Range", "bytes=9-"}}), "hit", 60},
      {"of a variant", "", [](Stage& s) { return s.ask_again("/vary", 1s); }, "hit", 60},
      {"only-if-cached", "", hit({{"Cache-Control", "only-if-cached"}}), "hit", 60},
      {"stale while it is revalidated", "", [](Stage& s) { return s.ask_again("/swr", 70s); },
       "hit; detail=stale-while-revalidate", -10},
      {"stale, as the client permits", plain + "client: {honor_revalidation: true}\n",
       [](Stage& s) {
         return s.ask_again("/kept", 70s, {{"Cache-Control", "max-stale"}});
       },
       "hit", -10},
      {"a failure that is remembered", plain + "negative: {ttl: 5s}\n",
       [](Stage& s) { return (s.ask("/down"), s.ask("/down")); }, "hit; detail=negative"},
      {"the breaker is open", plain + "breaker: {min_requests: 1}\n",
       [](Stage& s) {
         s.ask("/sie");
         s.weir.turn(70s);
         s.ask("/down");
         return s.ask("/sie");
       },
       "hit; detail=circuit-open", -10},
      {"the queue is full", plain + "limiter: {max_concurrent: 1, max_queue: 1, max_queue_wait: 5s}\n",
       [](Stage& s) {
         Gate gate;
         s.ask("/sie");
         s.weir.turn(70s);
         s.failing = Script().wait(gate).close();
         Client busy(s.weir.port()), waits(s.weir.port()), shed(s.weir.port());
         busy.send_request("POST", "/down");
         EXPECT_TRUE(s.origin.waits_for_calls(2));
         waits.send_request("GET", "/kept");
         EXPECT_TRUE(eventually([&] { return s.weir.metric("weir_limiter_queue_depth") == 1; }));
         auto response = shed.get("/sie");
         gate.open();
         return response;
       },
       "hit; detail=shed", -10},
  });
}

// What had expired: validated, fetched again, or served although the origin failed.
TEST(CacheStatus, Stale) {
  auto const after = [](Script const& failure, std::string const& target = "/sie") {
    return [=](Stage& s) {
      s.ask(target);
      s.failing = failure;
      s.weir.turn(70s);
      return s.ask(target);
    };
  };
  auto const wait_too_long = [](Stage& s) {
    s.ask("/sie");
    s.failing = hang();
    s.weir.turn(70s);
    Client client(s.weir.port());
    client.send_request("GET", "/sie");
    EXPECT_TRUE(s.origin.waits_for_calls(2));
    s.weir.turn(11s);
    return client.read();
  };
  expect_all({
      {"validated", "", after({}, "/kept"), "fwd=stale; fwd-status=304", 60},
      {"fetched again", "", after({}, "/vary"), "fwd=stale; fwd-status=200; stored", 60},
      {"invalidated by a write", "", [](Stage& s) { return (s.ask("/kept"), s.ask("/kept", {}, "POST"), s.ask("/kept")); },
       "fwd=stale; fwd-status=304", 60},
      {"500", "", after(respond(500)), "fwd=stale; fwd-status=500; detail=stale-if-error", -10},
      {"503", "", after(respond(503)), "fwd=stale; fwd-status=503; detail=stale-if-error", -10},
      {"no answer at all", "", after(close()), "fwd=stale; detail=stale-if-error", -10},
      {"half a head", "", after(Script().send("HTTP/1.1 200 O").close()), "fwd=stale; detail=stale-if-error", -10},
      {"half a body", "", after(respond(200, {max_age(60)}, "half").close_after(40)), "fwd=stale; detail=stale-if-error",
       -10},
      {"404 is no failure", "", after(respond(404)), "fwd=stale; fwd-status=404"},
      {"the wait was too long", "", wait_too_long, "fwd=stale; detail=coalesce-timeout", -21},
  });
}

// Two clients at once: the answer to the one that did not lead.
struct Pair {
  Response leader, follower;
};
Pair ask_together(Stage& stage, Script const& answer, Fields const& fields = {}) {
  Gate gate;
  stage.origin.answer("/x", [=](Request const&) {
    Script script;
    script.wait(gate);
    for (auto const& step : answer.steps())
      if (auto const* const send = std::get_if<Script::Send>(&step)) script.send(send->bytes);
    return script;
  });
  auto const calls = stage.origin.calls();
  Client leader(stage.weir.port()), follower(stage.weir.port());
  leader.send_request("GET", "/x", fields);
  EXPECT_TRUE(stage.origin.waits_for_calls(calls + 1));
  follower.send_request("GET", "/x", fields);
  EXPECT_TRUE(stage.weir.waits_for_waiters(2));
  gate.open();
  Pair pair{leader.read(), follower.read()};
  EXPECT_TRUE(stage.weir.waits_until_no_flights());
  return pair;
}

// COA-5, OBS-1: followers say that they are, and one that had to fetch after all says that too.
TEST(CacheStatus, Collapsed) {
  struct Case {
    std::string name;
    Script answer;
    std::string leader, follower;
    bool known = false;  // something stale is stored
  };
  Fields const kept{max_age(60), {"ETag", "\"e\""}};
  for (auto const& row : std::vector<Case>{
           {"stored", respond(200, kept, "x"), "fwd=uri-miss; fwd-status=200; stored",
            "fwd=uri-miss; fwd-status=200; collapsed"},
           {"not to be shared", respond(200, {{"Cache-Control", "private"}}, "x"), "fwd=uri-miss; fwd-status=200",
            "fwd=miss; fwd-status=200; collapsed=?0; detail=hit-for-miss"},
           {"an error", respond(503), "fwd=uri-miss; fwd-status=503", "fwd=uri-miss; fwd-status=503; collapsed"},
           {"an error for one", respond(503, {{"Set-Cookie", "s=1"}}), "fwd=uri-miss; fwd-status=503",
            "fwd=uri-miss; fwd-status=503; collapsed"},
           {"validated", respond(304, kept), "fwd=stale; fwd-status=304", "fwd=stale; fwd-status=304; collapsed", true},
           {"fetched again", respond(200, kept, "y"), "fwd=stale; fwd-status=200; stored",
            "fwd=stale; fwd-status=200; collapsed", true},
       }) {
    SCOPED_TRACE(row.name);
    Stage stage(plain);
    if (row.known) {
      stage.origin.answer("/x", respond(200, kept, "x"));
      stage.ask("/x");
      stage.weir.turn(61s);
    }
    auto const pair = ask_together(stage, row.answer);
    EXPECT_EQ(own_cache_status(pair.leader), row.leader) << pair.leader;
    EXPECT_EQ(own_cache_status(pair.follower), row.follower) << pair.follower;
  }
}

// RFC 9211 2: what Weir says of its own, without a stored response or one of the origin's, is no cache's answer.
TEST(CacheStatus, IsNotOnWhatWeirMakes) {
  expect_all({
      {"only-if-cached", "",
       [](Stage& s) {
         return s.ask("/kept", {{"Cache-Control", "only-if-cached"}});
       },
       "none"},
      {"TRACE", "", [](Stage& s) { return s.ask("/kept", {}, "TRACE"); }, "none"},
      {"malformed", "",
       [](Stage& s) {
         return s.ask("/kept", {{"Bad name", "x"}});
       },
       "none"},
      {"no answer", "", [](Stage& s) { return (s.failing = close(), s.ask("/down")); }, "none"},
      {"no origin", "", [](Stage& s) { return (s.origin.stop(), s.ask("/down")); }, "none"},
      {"must be validated and cannot be", "",
       [](Stage& s) {
         s.origin.answer("/x", {respond(200, {{"Cache-Control", "max-age=9, must-revalidate"}}, "x"), close()});
         return s.ask_again("/x", 10s);
       },
       "none"},
      {"OPTIONS that goes no further", "",
       [](Stage& s) {
         return s.ask("/kept", {{"Max-Forwards", "0"}}, "OPTIONS");
       },
       "none"},
  });
}

// RFC 9211 2: the member is appended to those of the caches before it, whatever these said; a hit repeats what they said
// then.
TEST(CacheStatus, IsAppended) {
  Stage stage(plain);
  stage.origin.answer("/chain", respond(200,
                                        {max_age(60),
                                         {"Cache-Status", "Origin; hit; ttl=5; key=\"a, b\""},
                                         {"Cache-Status", "\"CDN, Inc.\"; fwd=miss"}},
                                        "x"));
  Weir outer("http://127.0.0.1:" + std::to_string(stage.weir.port()), plain);
  for (bool const again : {false, true}) {
    auto const response = get(outer.port(), "/chain");
    EXPECT_TRUE(outer.waits_until_no_flights() && stage.weir.waits_until_no_flights());
    auto const members = status_members(response.value("Cache-Status"));
    ASSERT_TRUE(members && members->size() == 4U) << response;
    EXPECT_EQ((*members)[0].name, "Origin");
    EXPECT_EQ((*members)[1].name, "CDN, Inc.");
    EXPECT_EQ((*members)[2].integer("fwd-status"), 200);
    for (auto const& member : *members) EXPECT_EQ(cache_status_fault(member), "");
    EXPECT_EQ(own_cache_status(response), again ? "hit" : "fwd=uri-miss; fwd-status=200; stored");
  }
  EXPECT_EQ(stage.origin.calls(), 1U);
  stage.origin.answer("/bad", respond(200, {max_age(60), {"Cache-Status", "; not a list ;"}}, "x"));
  for (int i = 0; i < 2; ++i) {
    auto const response = stage.ask("/bad");
    EXPECT_EQ(response.fields.back().value.substr(0, 4), "Weir") << response;
    EXPECT_EQ(response.count("Cache-Status"), 2U);
  }
}

}  // namespace
}  // namespace weir::test
