// STO-4 and FRS-4: who decides how long.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// A request, answered, and its fetch over: what comes next finds what it left.
Response settled(Weir& weir, std::string const& target, Fields const& fields = {}) {
  auto response = get(weir.port(), target, fields);
  EXPECT_TRUE(weir.waits_until_no_flights());
  return response;
}

struct Row {
  Fields fields;
  bool strict, loose;  // stored and fresh, with `targeted_strict` and without
};

// STO-4: the first targeted field that parses and is not empty decides alone; ours goes to no client.
TEST(Lifetime, TargetedFieldsDecide) {
  std::vector<Row> const rows{
      {{{"Weir-Cache-Control", "max-age=60"}}, true, true},
      {{{"Weir-Cache-Control", "max-age=60"}, {"Cache-Control", "max-age=0"}}, true, true},
      {{{"Weir-Cache-Control", "max-age=0"}, {"Cache-Control", "max-age=60"}}, false, false},
      {{{"CDN-Cache-Control", "max-age=60"}, {"Cache-Control", "no-cache"}}, true, true},
      {{{"Weir-Cache-Control", "max-age=60"}, {"CDN-Cache-Control", "no-store"}}, true, true},
      {{{"Weir-Cache-Control", "no-store"}, {"CDN-Cache-Control", "max-age=60"}}, false, false},
      {{{"Weir-Cache-Control", "max-age=(((("}, {"CDN-Cache-Control", "max-age=60"}}, true, true},
      {{{"Weir-Cache-Control", ""}, {"Cache-Control", "max-age=60"}}, true, true},
      {{{"Weir-Cache-Control", "&"}, {"Cache-Control", "no-store"}}, false, false},
      {{{"Weir-Cache-Control", "max-age=60"}, {"Cache-Control", "private"}}, false, true},
      {{{"CDN-Cache-Control", "max-age=60"}, {"Cache-Control", "no-store"}}, false, true},
      {{{"Other-Cache-Control", "max-age=60"}, {"Cache-Control", "max-age=0"}}, false, false},
  };
  for (bool const strict : {true, false}) {
    ScriptedOrigin origin;
    Weir weir(origin, plain + (strict ? "" : "storable: {targeted_strict: false}\n"));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const target = "/" + std::to_string(i);
      SCOPED_TRACE(target);
      origin.answer(target, respond(200, rows[i].fields, "x"));
      for (bool const again : {false, true}) {
        auto const response = settled(weir, target);
        EXPECT_EQ(cache_status(response).hit(), again && (strict ? rows[i].strict : rows[i].loose));
        EXPECT_FALSE(response.has("Weir-Cache-Control"));
        for (auto const& field : rows[i].fields)
          if (field.name != "Weir-Cache-Control") EXPECT_EQ(response.value(field.name), field.value);
      }
    }
  }
}

// STO-4: nor past the cache.
TEST(Lifetime, OwnFieldGoesToNoClient) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) {
    return respond(200, {{"Weir-Cache-Control", "max-age=60"}, {"CDN-Cache-Control", "max-age=60"}}, "x");
  });
  Weir weir(origin, plain + "sites: [{origin: default, routes: [{path: /off, cache: off}]}]\n");
  Client client(weir.port());
  for (auto const& response : {client.get("/off"), client.request("POST", "/x"), client.get("/x", {{"Authorization", "a"}}),
                               client.get("/y"), client.get("/y")}) {
    EXPECT_FALSE(response.has("Weir-Cache-Control")) << response;
    EXPECT_TRUE(response.has("CDN-Cache-Control"));
  }
}

// FRS-4: a lifetime of the route's own, but not over privacy unless that is asked for in so many words.
TEST(Lifetime, OverrideStopsAtPrivacy) {
  struct Case {
    Fields fields, asked;
    bool hit, hit_ignoring;
  };
  std::vector<Case> const cases{
      {{}, {}, true, true},
      {{max_age(1)}, {}, true, true},
      {{{"Cache-Control", "no-cache"}}, {}, true, true},
      {{{"Cache-Control", "private"}}, {}, false, true},
      {{{"Cache-Control", "no-store"}}, {}, false, true},
      {{{"Set-Cookie", "a=b"}}, {}, false, false},
      {{}, {{"Authorization", "a"}}, false, false},
      {{}, {{"Cookie", "s=1"}}, false, false},
      {{{"Vary", "*"}}, {}, false, false},
  };
  for (bool const ignoring : {false, true}) {
    ScriptedOrigin origin;
    Weir weir(origin, "freshness: {jitter: off, early_refresh: off, override_ttl: 100s}\n" +
                          std::string(ignoring ? "storable: {ignore_cache_control: true}\n" : ""));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      auto const target = "/" + std::to_string(i);
      SCOPED_TRACE(target + (ignoring ? " ignoring" : ""));
      auto const hit = ignoring ? cases[i].hit_ignoring : cases[i].hit;
      origin.answer(target, respond(200, cases[i].fields, "x"));
      settled(weir, target, cases[i].asked);
      EXPECT_EQ(cache_status(settled(weir, target, cases[i].asked)).hit(), hit);
      weir.turn(90s);
      if (hit) EXPECT_TRUE(cache_status(settled(weir, target, cases[i].asked)).hit());
      weir.turn(11s);
      EXPECT_FALSE(cache_status(settled(weir, target, cases[i].asked)).hit());
    }
  }
}

// FRS-4: past its last stale window an entry is kept for `keep`, to be validated.
TEST(Lifetime, EntriesAreKeptForValidation) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    Fields const fields{max_age(60), {"ETag", "\"e\""}};
    return request.value("If-None-Match") == "\"e\"" ? respond(304, fields) : respond(200, fields, "x");
  });
  Weir weir(origin, "freshness: {jitter: off, early_refresh: off, keep: 100s}\n");
  settled(weir, "/x");
  weir.turn(150s);
  EXPECT_EQ(cache_status(settled(weir, "/x")).value("fwd-status"), "304");
  weir.turn(170s);
  EXPECT_EQ(cache_status(settled(weir, "/x")).value("fwd-status"), "200");
}

}  // namespace
}  // namespace weir::test
