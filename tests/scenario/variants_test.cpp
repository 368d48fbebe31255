// KEY-5 and KEY-6: codings, languages, and what else an answer varies on.
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

// KEY-5: one of two codings reaches the origin, and an answer in a coding is selected by it even where its Vary forgot.
TEST(Variants, CodingsAreReducedAndSelect) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    auto const coding = request.value("Accept-Encoding");
    Fields fields{max_age(600)};
    if (coding != "identity") fields.push_back({"Content-Encoding", coding});
    return respond(200, fields, coding);
  });
  Weir weir(origin, plain);
  for (int round = 0; round < 2; ++round) {
    for (auto const& [accepts, coding] :
         std::vector<std::pair<std::string, std::string>>{{"gzip, deflate, br, zstd", "br"},
                                                          {"gzip;q=1.0, br;q=0.2", "gzip"},
                                                          {"*", "br"},
                                                          {"br;q=0, x-gzip", "gzip"},
                                                          {"zstd", "identity"},
                                                          {"identity", "identity"},
                                                          {"gzip;q=0.1, identity", "identity"}})
      EXPECT_EQ(settled(weir, "/x", {{"Accept-Encoding", accepts}}).body, coding) << accepts;
    EXPECT_EQ(settled(weir, "/x").body, "identity");
  }
  EXPECT_LE(origin.calls(), 4U);  // three codings, and one learnt that there are any
  EXPECT_LE(weir.entries(), 3U);
}

// KEY-5: who takes none of ours, and not identity either, is served by the origin alone.
TEST(Variants, RefusedIdentityIsNotCached) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) { return respond(200, {max_age(600)}, request.value("Accept-Encoding")); });
  Weir weir(origin, plain);
  EXPECT_EQ(settled(weir, "/x").body, "identity");
  for (std::string const accepts : {"zstd, identity;q=0", "zstd, *;q=0"})
    for (int i = 0; i < 2; ++i) EXPECT_EQ(settled(weir, "/x", {{"Accept-Encoding", accepts}}).body, accepts);
  EXPECT_TRUE(cache_status(settled(weir, "/x")).hit());
  EXPECT_EQ(settled(weir, "/x").body, "identity");
  EXPECT_EQ(origin.calls(), 5U);
  EXPECT_EQ(settled(weir, "/x", {{"Accept-Encoding", "identity;q=0"}, {"Cache-Control", "only-if-cached"}}).status, 504);
}

// KEY-5: the best of the languages that there are is keyed, and all that the origin hears of.
TEST(Variants, LanguagesAreReducedToThoseThatThereAre) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {max_age(600), {"Vary", "Accept-Language"}}, "[" + request.value("Accept-Language") + "]");
  });
  Weir weir(origin, plain + "key: {languages: [de, en, pt-BR]}\n");
  for (auto const& [accepts, language] : std::vector<std::pair<std::string, std::string>>{{"de-CH, fr;q=0.9", "[de]"},
                                                                                          {"fr, de;q=0.5", "[de]"},
                                                                                          {"pt-BR;q=0.4, EN-us", "[en]"},
                                                                                          {"pt-br", "[pt-BR]"},
                                                                                          {"fr", "[]"},
                                                                                          {"de;q=0", "[]"}})
    EXPECT_EQ(settled(weir, "/x", {{"Accept-Language", accepts}}).body, language) << accepts;
  EXPECT_EQ(settled(weir, "/x").body, "[]");
  EXPECT_LE(origin.calls(), 5U);
}

// KEY-6, FWD-1: a variant is selected by what the origin got, not by what was taken off on the way.
TEST(Variants, AreSelectedByWhatWasForwarded) {
  struct Row {
    std::string vary;
    Fields one, other;
    bool same;
  };
  for (auto const& row : std::vector<Row>{
           {"X-Forwarded-Proto", {}, {{"X-Forwarded-Proto", "evil"}}, true},
           {"X-Forwarded-Host", {}, {{"X-Forwarded-Host", "evil"}}, true},
           {"X-Host", {}, {{"X-Host", "evil"}}, true},
           {"X-Forwarded-For", {}, {{"X-Forwarded-For", "6.6.6.6"}}, true},  // one client, one address
           {"X-Kind", {}, {{"Connection", "x-kind"}, {"X-Kind", "a"}}, true},
           {"X-Kind", {}, {{"X-Kind", ""}}, false},
           {"Cookie", {{"Cookie", "a=1; b=2"}}, {{"Cookie", "_ga=1; a=1"}, {"Cookie", "b=2"}}, true},
           {"Cookie", {{"Cookie", "a=1"}}, {{"Cookie", "a=2"}}, false},
           {"Via", {}, {}, true},
           {"Accept", {{"Accept", "a,b"}}, {{"Accept", "a"}, {"Accept", "b"}}, true},
       }) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {{"Cache-Control", "public, max-age=600"}, {"Vary", row.vary}}, "x"));
    Weir weir(origin, plain + "key: {vary_allow: [cookie]}\n");
    settled(weir, "/x", row.one);
    EXPECT_EQ(cache_status(settled(weir, "/x", row.other)).hit(), row.same) << row.vary;
    EXPECT_TRUE(cache_status(settled(weir, "/x", row.one)).hit()) << row.vary;
  }
}

// KEY-6, STO-5: what each fetch has of its own makes no variants; there is a marker instead, and nobody waits for it.
TEST(Variants, NothingVariesByWhatIsMadeForOneFetch) {
  for (std::string const name : {"Forwarded", "X-Request-Id"}) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {max_age(600), {"Vary", name}}, "x"));
    Weir weir(origin);
    EXPECT_EQ(get(weir.port(), "/x").status, 200);
    EXPECT_EQ(weir.entries(), 0U) << name;
    EXPECT_EQ(cache_status(get(weir.port(), "/x")).detail(), "hit-for-miss") << name;
  }
}

// STL-1, FWD-7: a refresh brings the variant that is stale, by whatever field that was selected.
TEST(Variants, RefreshedIsWhatWasStale) {
  for (std::string const name : {"X-Forwarded-For", "X-Forwarded-Host", "User-Agent"}) {
    ScriptedOrigin origin;
    origin.answer_rest([&](Request const& request) {
      return respond(200, {{"Cache-Control", "max-age=10, stale-while-revalidate=600"}, {"Vary", name}},
                     request.value(name) + " " + std::to_string(origin.calls()));
    });
    Weir weir(origin);
    Fields const fields{{"User-Agent", "one"}};
    auto const first = get(weir.port(), "/x", fields).body;
    EXPECT_TRUE(first.ends_with(" 1") && first.size() > 2) << first;
    weir.turn(11s);
    EXPECT_EQ(get(weir.port(), "/x", fields).body, first);
    ASSERT_TRUE(origin.waits_for_calls(2));
    ASSERT_TRUE(weir.waits_until_no_flights());
    auto const refreshed = get(weir.port(), "/x", fields);
    EXPECT_TRUE(cache_status(refreshed).hit());
    EXPECT_EQ(refreshed.body, first.substr(0, first.size() - 1) + "2");
    EXPECT_EQ(weir.entries(), 1U);
  }
}

}  // namespace
}  // namespace weir::test
