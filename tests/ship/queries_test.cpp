// OBS-2: what dashboard and alerts ask for is on the page of a running daemon: series, labels and labels' values.
#include <algorithm>

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>
#include <boost/json/parse.hpp>

#include "ship/shipped.hpp"

namespace weir::ship {
namespace {

namespace bj = boost::json;
using testing::IsEmpty;

bj::value dashboard() { return bj::parse(content(tree() / "docker/grafana/dashboards/weir.json")); }
YAML::Node alerts() { return YAML::Load(content(tree() / "docker/prometheus/alerts.yaml")); }

struct Query {
  std::string where, expression, legend;
};

std::vector<Query> dashboard_queries() {
  std::vector<Query> out;
  auto const whole = dashboard();
  for (auto const& panel : whole.at("panels").as_array()) {
    auto const* const targets = panel.as_object().if_contains("targets");
    if (targets == nullptr) continue;
    for (auto const& target : targets->as_array())
      out.push_back({std::string(panel.at("title").as_string()), std::string(target.at("expr").as_string()),
                     std::string(target.at("legendFormat").as_string())});
  }
  for (auto const& note : whole.at("annotations").at("list").as_array())
    out.push_back({"annotation", std::string(note.at("expr").as_string()), ""});
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

TEST(Queries, OfTheDashboardNameSeriesThatTheDaemonHas) {
  auto const page = daemon_page();
  std::string expressions;
  std::size_t count = 0;
  for (auto const& query : dashboard_queries()) {
    auto const asked = read_expression(query.expression);
    EXPECT_FALSE(asked.selectors.empty()) << query.where;
    EXPECT_THAT(missing(asked, page), IsEmpty()) << query.where << ": " << query.expression;
    expressions += replaced(replaced(query.expression, "$__rate_interval", "1m"), "\"$site\"", "\".*\"") + "\n";
    ++count;
  }
  EXPECT_GT(count, 40U);
  hand_out("expressions", replaced(expressions, "\"$node\"", "\".*\""));
}

TEST(Queries, OfTheDashboardGroupByWhatTheirLegendSays) {
  for (auto const& query : dashboard_queries()) {
    auto const by = read_expression(query.expression).by;
    for (std::size_t at = query.legend.find("{{"); at != std::string::npos; at = query.legend.find("{{", at + 1)) {
      std::string const label = query.legend.substr(at + 2, query.legend.find("}}", at) - at - 2);
      bool const kept = by.empty() ? label == "instance" : std::find(by.begin(), by.end(), label) != by.end();
      EXPECT_TRUE(kept) << query.where << ": " << query.legend;
    }
  }
}

// Every family that OBS-2 names; a histogram by its buckets.
TEST(Queries, OfTheDashboardLeaveOutNoFamilyThatIsRequired) {
  std::string shown;
  for (auto const& query : dashboard_queries())
    for (auto const& selector : read_expression(query.expression).selectors) shown += " " + selector.name + " ";
  for (char const* family : {"requests_total",
                             "request_seconds_bucket",
                             "origin_fetches_total",
                             "origin_fetch_seconds_bucket",
                             "origin_inflight",
                             "limiter_queue_depth",
                             "limiter_wait_seconds_bucket",
                             "shed_total",
                             "coalesced_total",
                             "refresh_collapsed_total",
                             "coalesce_wait_seconds_bucket",
                             "coalesce_fanout_bucket",
                             "coalesce_timeouts_total",
                             "coalesce_overflow_total",
                             "flights",
                             "cluster_leases_total",
                             "stale_served_total",
                             "negative_served_total",
                             "not_stored_total",
                             "key_rejections_total",
                             "breaker_state",
                             "breaker_transitions_total",
                             "store_errors_total",
                             "store_guard_state",
                             "store_bytes",
                             "store_entries",
                             "evictions_total",
                             "purges_total",
                             "miss_rate_anomalies_total",
                             "client_connections",
                             "config_reloads_total",
                             "build_info"})
    EXPECT_THAT(shown, testing::HasSubstr(std::string(" weir_") + family + " ")) << family;
}

TEST(Queries, OfTheAlertsNameSeriesThatTheDaemonHas) {
  auto const page = daemon_page();
  std::size_t count = 0;
  for (auto const& group : alerts()["groups"]) {
    for (auto const& rule : group["rules"]) {
      auto const expression = rule["expr"].as<std::string>();
      EXPECT_THAT(missing(read_expression(expression), page), IsEmpty()) << expression;
      ++count;
    }
  }
  EXPECT_GT(count, 15U);
}

// Each in a scenario of alerts_test.yaml that ends with its firing; the first scenario there has none fire.
TEST(Queries, OfTheAlertsAreEachTriedBothWays) {
  YAML::Node const tried = YAML::Load(content(tree() / "tests/ship/alerts_test.yaml"));
  std::string fired;
  for (auto const& test : tried["tests"])
    for (auto const& expectation : test["promql_expr_test"])
      for (auto const& sample : expectation["exp_samples"]) fired += sample["labels"].as<std::string>();
  auto const quiet = tried["tests"][0]["promql_expr_test"][0];
  EXPECT_EQ(quiet["expr"].as<std::string>(), "count_over_time(ALERTS{alertstate=\"firing\"}[2h])");
  EXPECT_EQ(quiet["exp_samples"].size(), 0U);
  for (auto const& group : alerts()["groups"]) {
    for (auto const& rule : group["rules"]) {
      if (!rule["alert"]) continue;
      auto const name = rule["alert"].as<std::string>();
      EXPECT_NE(fired.find("alertname=\"" + name + "\""), std::string::npos) << name;
      EXPECT_TRUE(rule["annotations"]["summary"]) << name;
      EXPECT_TRUE(rule["annotations"]["description"]) << name;
      EXPECT_THAT(rule["labels"]["severity"].as<std::string>(), testing::AnyOf("page", "ticket")) << name;
    }
  }
}

// What the tests above stand on.
TEST(Queries, AreReadForWhatTheyMiss) {
  auto const page = read_page("# HELP x\nweir_a_total{to=\"open\",by=\"x\"} 3\nweir_b 1\n");
  auto const lacks = [&](std::string_view expression) { return missing(read_expression(expression), page); };
  EXPECT_THAT(lacks("sum by (to) (rate(weir_a_total{instance=~\"$node\",to=~\"open\"}[5m])) / weir_b"), IsEmpty());
  EXPECT_THAT(lacks("weir_c > 1"), testing::ElementsAre("weir_c"));
  EXPECT_THAT(lacks("weir_a_total{from=~\"$x\"}"), testing::ElementsAre("weir_a_total by from"));
  EXPECT_THAT(lacks("weir_a_total{to=~\"open|shut\"}"), testing::ElementsAre("weir_a_total of to shut"));
  EXPECT_THAT(lacks("weir_a_total{to!=\"shut\"}"), testing::ElementsAre("weir_a_total of to shut"));
  EXPECT_THAT(lacks("sum by (what) (weir_b)"), testing::ElementsAre("by (what)"));
}

}  // namespace
}  // namespace weir::ship
