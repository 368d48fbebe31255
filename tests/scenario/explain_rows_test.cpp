// What /v1/explain says of a request and what then becomes of it, for every row of the table of reuse, and where other rules
// decide: redirects, reloads, a lifetime of nothing, a store that nodes share.
#include <gtest/gtest.h>

#include <set>

#include "scenario/explaining.hpp"
#include "scenario/nodes.hpp"
#include "unit/cache/reuse_rows.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using cache::Invalidation;
using cache::Verdict;
using cache::test::Row;

// No client and no clock brings these about.
std::set<std::string_view> const not_from_outside{
    "a clock read before the response came",  // one worker's reading, older than another's response
    "soft, seen by a clock before it",        // the same, older than a purge
};
// Exact to the nanosecond, which a real request is not: here the age is a second less, and the purge a second later.
std::set<std::string_view> const on_an_edge{"max-age met", "min-fresh met", "max-stale met", "soft and max-stale"};

Fields fields_of(char const* lines) {
  Fields fields;
  cache::test::WireRequest const wire(std::string("GET /\n") + lines);
  for (auto const& field : wire.fields()) fields.push_back({std::string(field.name), std::string(field.value)});
  return fields;
}

void set_mode(Weir& weir, std::string const& mode) {
  std::string const order = R"({"mode":")" + mode + R"(","for":"24h"})";
  ASSERT_EQ(Client(weir.admin_port()).request("PUT", "/v1/mode", {{"Content-Type", "application/json"}}, order).status, 200);
}

class RowPlayed {
 public:
  explicit RowPlayed(Row const& row)
      : row_(row), asks_(fields_of(row.request)), edge_(on_an_edge.contains(row.name)), weir_(origin_.url(), settings()) {
    origin_.answer_rest([this](Request const& request) { return answer(request); });
  }

  void play() {
    for (auto const* const path : {"/a", "/b", "/c", "/d"}) get(weir_.port(), path);
    ASSERT_TRUE(weir_.waits_until_no_flights());
    bring_about();
    expect_as_foretold("/a");
    fails_.store(true);
    expect_what_stands_in("/b", row_.stale_if_error);
    set_mode(weir_, "stale-on-error");
    expect_what_stands_in("/c", row_.stale_if_error || row_.stale_in_incident);
    set_mode(weir_, "bypass");
    auto const told = explain(weir_, "/d", asks_);
    bool const may_fetch = std::string_view(row_.request).find("only-if-cached") == std::string_view::npos;
    EXPECT_EQ(text(told.at("decision")), may_fetch ? "fetch" : "refuse");
    expect_agreement(told, Client(weir_.port()).get("/d", asks_));
  }

 private:
  std::string settings() const {
    return plain_with("keep: 24h") + "client: {honor_revalidation: " + (row_.honor ? "true" : "false") + "}\n";
  }
  static std::string plain_with(std::string const& more) {
    return "freshness: {jitter: off, early_refresh: off, " + more + "}\n";
  }

  Script answer(Request const& request) const {
    if (request.method == "POST") return respond(204);
    if (fails_.load()) return respond(503);
    Fields fields{{"Cache-Control", row_.facts.says}, {"ETag", "\"1\""}};
    int const age = row_.age - static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(row_.at).count()) - edge_;
    if (age > 0) fields.push_back({"Age", std::to_string(age)});
    return request.has("If-None-Match") ? respond(304, fields) : respond(200, fields, "x");
  }

  // Turns to where the row's request comes, saying on the way what overrules the response.
  void bring_about() {
    base::Duration said{};
    if (row_.overrule.mode != Invalidation::none) {
      said = row_.overrule.at - cache::test::noon.steady + std::chrono::seconds(edge_);
      weir_.turn(said);
      overrule();
    }
    if (row_.at > said) weir_.turn(row_.at - said);
  }

  void overrule() {
    if (row_.overrule.mode == Invalidation::invalid) {
      for (auto const* const path : {"/a", "/b", "/c", "/d"}) Client(weir_.port()).request("POST", path, {}, "new");
      return;
    }
    std::string const mode = row_.overrule.mode == Invalidation::hard ? "hard" : "soft";
    auto const answer = Client(weir_.admin_port())
                            .request("POST", "/v1/purge", {{"Content-Type", "application/json"}},
                                     R"({"all":true,"mode":")" + mode + R"("})");
    ASSERT_EQ(answer.status, 200);
  }

  char const* decision() const {
    if (row_.verdict == Verdict::fresh) return "hit";
    return row_.verdict == Verdict::must_validate || row_.verdict == Verdict::unusable ? "fetch" : "stale";
  }

  void expect_as_foretold(std::string const& path) {
    auto const calls = origin_.calls(path);
    auto const told = explain(weir_, path, asks_);
    SCOPED_TRACE(boost::json::serialize(told));
    EXPECT_EQ(text(told.at("decision")), decision());
    EXPECT_EQ(text(told.at("reuse").at("reason")), label(row_.reason));
    EXPECT_EQ(text(told.at("reuse").at("verdict")), label(row_.verdict));
    EXPECT_EQ(told.at("reuse").at("stale_if_error").as_bool(), row_.stale_if_error);
    EXPECT_NEAR(told.at("freshness").at("age_seconds").to_number<double>(), row_.age - edge_, 1.1);
    EXPECT_NEAR(told.at("freshness").at("ttl_seconds").to_number<double>(), row_.ttl + edge_, 1.1);
    EXPECT_EQ(origin_.calls(path), calls);
    expect_agreement(told, Client(weir_.port()).get(path, asks_));
    bool const asks = row_.verdict != Verdict::fresh && row_.verdict != Verdict::stale_allowed;
    if (asks) {
      ASSERT_TRUE(eventually([&] { return origin_.calls(path) > calls; }));
    }  // a refresh begins behind the answer
    ASSERT_TRUE(weir_.waits_until_no_flights());
    EXPECT_EQ(origin_.calls(path) - calls, asks ? 1U : 0U);
  }

  // What the origin's failure leaves of it: the stored response, if that was foretold, else an error.
  void expect_what_stands_in(std::string const& path, bool stands_in) {
    auto const told = explain(weir_, path, asks_);
    SCOPED_TRACE(boost::json::serialize(told));
    EXPECT_EQ(text(told.at("decision")), decision());
    EXPECT_EQ(told.at("reuse").at("stale_if_error").as_bool(), stands_in);
    auto const came = Client(weir_.port()).get(path, asks_);
    ASSERT_TRUE(weir_.waits_until_no_flights());
    bool const served = stands_in || row_.verdict == Verdict::fresh || decision() == std::string_view("stale");
    EXPECT_EQ(came.status < 500, served) << came.status;
    if (stands_in && row_.verdict == Verdict::must_validate) { EXPECT_EQ(cache_status(came).detail(), "stale-if-error"); }
  }

  Row const& row_;
  Fields const asks_;
  int const edge_;
  std::atomic<bool> fails_{false};
  ScriptedOrigin origin_;
  Weir weir_;
};

// OBS-3, SRV-5, STL-2, MODE-1: what is foretold happens, with an origin that is well, one that fails, and in both modes.
TEST(ExplainRows, AgreeWithWhatThenHappens) {
  std::size_t played = 0, left = 0;
  for (auto const& group : cache::test::reuse_rows()) {
    for (auto const& row : group.rows) {
      SCOPED_TRACE(std::string(group.name) + ": " + row.name);
      if (not_from_outside.contains(row.name)) {
        ++left;
        continue;
      }
      RowPlayed(row).play();
      ++played;
    }
  }
  EXPECT_EQ(left, not_from_outside.size());
  EXPECT_GE(played, 50U);
}

// OBS-3: a redirect is foretold before anything is looked up.
TEST(ExplainRows, TellOfARedirect) {
  ScriptedOrigin origin;
  Weir weir(origin, "sites: [{origin: default, redirect: https}]\n");
  auto const told = explain(weir, "/x/y");
  EXPECT_EQ(text(told.at("decision")), "redirect");
  auto const url = text(told.at("request").at("url"));
  EXPECT_TRUE(url.ends_with("/x/y")) << url;
  EXPECT_EQ(get(weir.port(), "/x").status, 301);
  EXPECT_EQ(origin.calls(), 0U);
}

// OBS-3, LCY-2: after a reload by the new settings, as the next request is answered.
TEST(ExplainRows, FollowAReload) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(600)}, "x"));
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  EXPECT_EQ(text(explain(weir, "/x").at("decision")), "hit");
  EXPECT_TRUE(weir.reload(plain + "sites: [{origin: default, routes: [{path: \"/*\", cache: off}]}]\n").empty());
  auto const told = explain(weir, "/x");
  EXPECT_EQ(text(told.at("why")), "the route does not cache");
  expect_agreement(told, get(weir.port(), "/x"));
  EXPECT_EQ(origin.calls(), 2U);
}

// OBS-3, MEM-2: where a lifetime came from is known after a restart too.
TEST(ExplainRows, KnowTheSourceOfALifetimeThatANodeShared) {
  Nodes nodes(2);
  nodes.origin.answer("/x", respond(200, {{"Cache-Control", "s-maxage=600"}}, "x"));
  get(nodes[0].port(), "/x");
  ASSERT_TRUE(nodes.settle());
  auto const told = explain(nodes[1], "/x");
  EXPECT_EQ(text(told.at("decision")), "fetch");  // its near tier has nothing
  EXPECT_TRUE(told.at("asks_shared_store").as_bool());
  EXPECT_TRUE(is_hit(get(nodes[1].port(), "/x")));  // and the shared store has it
  auto const near = explain(nodes[1], "/x");
  EXPECT_EQ(text(near.at("decision")), "hit");
  EXPECT_EQ(text(near.at("freshness").at("lifetime_source")), "s-maxage");
  expect_agreement(near, get(nodes[1].port(), "/x"));
  EXPECT_EQ(nodes.origin.calls(), 1U);
}

// OBS-3, VAL-2: a copy that was not checked of late is asked about first.
TEST(ExplainRows, TellOfACopyThatIsCheckedFirst) {
  Nodes nodes(1);
  nodes.origin.answer("/x", respond(200, {max_age(600)}, "x"));
  get(nodes[0].port(), "/x");
  ASSERT_TRUE(nodes.settle());
  nodes.turn(2s);
  auto const told = explain(nodes[0], "/x");
  EXPECT_EQ(text(told.at("decision")), "fetch");
  EXPECT_NE(text(told.at("why")).find("was not checked of late"), std::string::npos);
  EXPECT_TRUE(is_hit(get(nodes[0].port(), "/x")));
  EXPECT_EQ(nodes.origin.calls(), 1U);
}

}  // namespace
}  // namespace weir::test
