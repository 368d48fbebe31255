// STO-4: targeted fields (RFC 9213), by what Cache-Status says was kept and for how long.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/status_members.hpp"

namespace weir::test {
namespace {

constexpr int refused = -1;

struct Row {
  std::string name;
  Fields fields;
  std::int64_t kept;        // seconds of freshness that the answer is stored with, or refused
  std::int64_t loose = -2;  // and without `targeted_strict`, if that makes a difference
};

void expect_all(std::vector<Row> const& rows, std::string const& storable = "") {
  for (bool const strict : {true, false}) {
    ScriptedOrigin origin;
    Weir weir(origin, plain + "storable: {targeted_strict: " + (strict ? "true" : "false") + storable + "}\n");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(rows[i].name + (strict ? ", strict" : ""));
      auto const target = "/" + std::to_string(i);
      auto const kept = strict || rows[i].loose < refused ? rows[i].kept : rows[i].loose;
      auto fields = rows[i].fields;
      fields.push_back({"ETag", "\"e\""});
      origin.answer(target, respond(200, fields, "x"));
      auto const response = get(weir.port(), target);
      ASSERT_TRUE(weir.waits_until_no_flights());
      EXPECT_EQ(own_cache_status(response), std::string("fwd=uri-miss; fwd-status=200") + (kept < 0 ? "" : "; stored"));
      auto const ttl = own_ttl(response);
      EXPECT_EQ(ttl.has_value(), kept >= 0);
      EXPECT_TRUE(!ttl || (*ttl <= kept && *ttl >= kept - 5)) << response;
    }
  }
}

Field ours(std::string const& value) { return {"Weir-Cache-Control", value}; }
Field cdns(std::string const& value) { return {"CDN-Cache-Control", value}; }
Field all(std::string const& value) { return {"Cache-Control", value}; }

// RFC 9213 2.2: the first field of the list that is there decides, and nothing else.
TEST(Targeted, TheFirstOfTheListDecidesAlone) {
  expect_all({
      {"ours before the CDNs'", {ours("max-age=10"), cdns("max-age=20"), all("max-age=30")}, 10},
      {"whatever the order of lines", {all("max-age=30"), cdns("max-age=20"), ours("max-age=10")}, 10},
      {"the CDNs' before all", {cdns("max-age=20"), all("max-age=30")}, 20},
      {"somebody else's is none", {{"Other-Cache-Control", "max-age=10"}, all("max-age=30")}, 30},
      {"nor is Surrogate-Control", {{"Surrogate-Control", "max-age=10"}, all("max-age=30")}, 30},
      {"no-store of ours", {ours("no-store"), cdns("max-age=20"), all("max-age=30")}, refused},
      {"no-store of the CDNs' behind ours", {ours("max-age=10"), cdns("no-store")}, 10},
      {"s-maxage for all", {cdns("max-age=20"), all("s-maxage=30")}, 20},
      {"Expires does not count", {cdns("public"), {"Expires", http_date(std::chrono::seconds(600))}}, 0},
      {"Expires does not end", {cdns("max-age=20"), {"Expires", "0"}}, 20},
      {"no-cache for all", {cdns("max-age=20"), all("no-cache")}, 20},
      {"must-revalidate for all", {cdns("max-age=20"), all("max-age=0, must-revalidate")}, 20},
      {"Age counts as ever", {cdns("max-age=20"), {"Age", "15"}}, 5},
      {"Pragma does not", {cdns("max-age=20"), {"Pragma", "no-cache"}}, 20},
      {"unknown directives alone decide that nothing is said", {cdns("unknown=1"), all("max-age=30")}, 0},
  });
}

// The safety that is on as shipped: what a framework says to all caches binds although it set the targeted field everywhere.
TEST(Targeted, PrivacyBindsWhereStrict) {
  expect_all({
      {"private", {cdns("max-age=20"), all("private")}, refused, 20},
      {"no-store", {cdns("max-age=20"), all("no-store")}, refused, 20},
      {"no-store that must be understood", {cdns("max-age=20"), all("no-store, must-understand")}, 20},
      {"private in ours", {ours("max-age=10, private"), all("public")}, refused},
      {"private for all, ours empty", {ours(""), all("private, max-age=30")}, refused},
      {"private for all in capitals", {cdns("max-age=20"), all("PRIVATE")}, refused, 20},
  });
}

// RFC 9213 2.1: a field that is no Dictionary, or an empty one, is as if it were not there.
TEST(Targeted, WhatDoesNotParseIsAbsent) {
  std::vector<Row> rows;
  for (std::string const bad : {"",
                                " ",
                                "&",
                                "max-age=10,",
                                ", max-age=10",
                                "max-age=10;",
                                "max-age=10 public",
                                "Max-Age=10",
                                "max-age=",
                                "max-age =10",
                                "max-age= 10",
                                "max-age=10;Q=1",
                                "max-age=\"10",
                                "max-age=(10",
                                "max-age=10)",
                                "max-age=1.2345",
                                "max-age=?2",
                                "max-age=1000000000000000",
                                "no-store, max-age=\x80",
                                "max-age=:YQ=",
                                "\"max-age\"=10",
                                "max-age=10, =5",
                                "max-age='10'",
                                "no-store;",
                                "@5=1"}) {
    rows.push_back({"ours: " + bad, {ours(bad), cdns("max-age=20"), all("max-age=30")}, 20});
    rows.push_back({"both: " + bad, {ours(bad), cdns(bad), all("max-age=30")}, 30});
  }
  rows.push_back({"good and bad lines are one field", {ours("max-age=10"), ours("&"), all("max-age=30")}, 30});
  rows.push_back({"neither is there", {ours("&"), cdns("&")}, 0});
  expect_all(rows);
}

// RFC 9213 2.1: lines are one field, a name said twice counts as it was said last, parameters count for nothing.
TEST(Targeted, Dictionaries) {
  expect_all({
      {"several lines", {cdns("max-age=20"), cdns("no-store")}, refused},
      {"several lines, the last number", {cdns("max-age=20"), cdns("max-age=25")}, 25},
      {"twice", {cdns("max-age=20, max-age=25")}, 25},
      {"no-store taken back", {cdns("no-store, max-age=20, no-store=?0")}, 20},
      {"white space", {cdns("  max-age=20 ,\tpublic  ")}, 20},
      {"parameters", {cdns("max-age=20;until=\"noon\";no-store")}, 20},
      {"parameters of a flag", {cdns("no-store;max-age=20")}, refused},
      {"s-maxage before max-age", {cdns("max-age=20, s-maxage=40")}, 40},
      {"clamped", {cdns("max-age=999999999999999")}, 2147483648},
      {"private but for some", {cdns("max-age=20, private=\"x-user\"")}, 20},
      {"flags that are false", {cdns("max-age=20, no-store=?0, private=?0, no-cache=?0")}, 20},
  });
}

// RFC 9213 2.1: each directive has a type; a value of another one says nothing.
TEST(Targeted, Types) {
  std::vector<Row> rows{
      {"below zero is stale", {cdns("max-age=-1"), all("max-age=30")}, 0},
      {"as is a minus before nothing", {cdns("max-age=-0"), all("max-age=30")}, 0},
      {"a flag in a list", {cdns("max-age=20, no-store=(a b)")}, 20},
      {"a flag with a number", {cdns("max-age=20, no-store=1")}, 20},
      {"a flag with a string", {cdns("max-age=20, no-store=\"yes\"")}, 20},
      {"a list of fields that is none", {cdns("max-age=20, private=\"\"")}, refused},
  };
  for (std::string const value : {"?1", "1.5", "\"20\"", "twenty", "(20)", ":MjA=:", "@20", "%\"20\""})
    rows.push_back({"max-age=" + value, {cdns("max-age=" + value), all("max-age=30")}, 0});
  expect_all(rows);
}

// The operator's own list.
TEST(Targeted, TheListIsASetting) {
  expect_all({{"in its order", {ours("max-age=10"), cdns("max-age=20"), {"Edge-Cache-Control", "max-age=5"}}, 5},
              {"and nothing but it", {ours("max-age=10"), all("max-age=30")}, 30}},
             ", targeted: [Edge-Cache-Control, CDN-Cache-Control]");
  expect_all({{"none", {ours("max-age=10"), cdns("max-age=20"), all("max-age=30")}, 30}}, ", targeted: []");
}

}  // namespace
}  // namespace weir::test
