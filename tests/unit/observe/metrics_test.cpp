#include "weir/observe/metrics.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/observe/build.hpp"

namespace weir::observe {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A page as series text to value.
std::map<std::string, double> series_of(std::string const& page) {
  std::map<std::string, double> out;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::size_t const blank = line.rfind(' ');
    out[line.substr(0, blank)] = std::strtod(line.c_str() + blank, nullptr);
  }
  return out;
}

std::string name_of(std::string const& series) { return series.substr(0, series.find('{')); }

struct Row {
  char const* name;
  char const* type;
  char const* labels;  // of one series, as the page writes them
};

void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

// OBS-2, word for word, one label set each.
Row const rows[] = {
    {"weir_requests_total", "counter", R"({site="shop.example",outcome="hit"})"},
    {"weir_request_seconds", "histogram", ""},
    {"weir_origin_fetches_total", "counter", R"({class="miss",result="not-modified"})"},
    {"weir_origin_fetch_seconds", "histogram", R"(class="background")"},
    {"weir_origin_inflight", "gauge", ""},
    {"weir_limiter_queue_depth", "gauge", ""},
    {"weir_limiter_wait_seconds", "histogram", ""},
    {"weir_shed_total", "counter", R"({reason="queue-timeout"})"},
    {"weir_coalesced_total", "counter", ""},
    {"weir_refresh_collapsed_total", "counter", ""},
    {"weir_coalesce_wait_seconds", "histogram", ""},
    {"weir_coalesce_fanout", "histogram", ""},
    {"weir_coalesce_timeouts_total", "counter", R"({fallback="gateway-timeout"})"},
    {"weir_coalesce_overflow_total", "counter", ""},
    {"weir_flights", "gauge", ""},
    {"weir_cluster_leases_total", "counter", R"({result="acquired"})"},
    {"weir_stale_served_total", "counter", R"({reason="if-error"})"},
    {"weir_negative_served_total", "counter", ""},
    {"weir_not_stored_total", "counter", R"({reason="request-no-store"})"},
    {"weir_key_rejections_total", "counter", R"({reason="host-missing"})"},
    {"weir_origin_servers", "gauge", R"({state="out"})"},
    {"weir_breaker_state", "gauge", ""},
    {"weir_breaker_transitions_total", "counter", R"({to="half-open"})"},
    {"weir_store_errors_total", "counter", R"({op="get"})"},
    {"weir_store_guard_state", "gauge", ""},
    {"weir_store_bytes", "gauge", ""},
    {"weir_store_entries", "gauge", ""},
    {"weir_evictions_total", "counter", R"({queue="small"})"},
    {"weir_purges_total", "counter", R"({mode="soft"})"},
    {"weir_miss_rate_anomalies_total", "counter", ""},
    {"weir_client_connections", "gauge", ""},
    {"weir_config_reloads_total", "counter", R"({result="ok"})"},
    {"weir_client_accept_errors_total", "counter", ""},
    {"weir_mode", "gauge", R"({mode="bypass"})"},
    {"weir_snapshot_entries_total", "counter", R"({result="damaged"})"},
    {"weir_log_dropped_total", "counter", ""},
    {"weir_tls_handshakes_total", "counter", R"({result="failed"})"},
    {"weir_proxy_header_rejections_total", "counter", ""},
    {"weir_access_log_dropped_total", "counter", ""},
};

class EverySeries : public testing::TestWithParam<Row> {};

// OBS-2: there from the start, at zero, with help and type.
TEST_P(EverySeries, IsThereFromTheStartAtZero) {
  Row const& row = GetParam();
  Metrics const metrics(2, {"shop.example"});
  std::string const page = metrics.scrape();
  std::string const name = row.name;
  EXPECT_THAT(page, HasSubstr("# HELP " + name + " "));
  EXPECT_THAT(page, HasSubstr("# TYPE " + name + " " + row.type + "\n"));
  auto const series = series_of(page);
  if (std::string_view(row.type) != "histogram") {
    ASSERT_TRUE(series.contains(name + row.labels)) << page;
    EXPECT_EQ(series.at(name + row.labels), 0);
    return;
  }
  std::string const labels = row.labels;
  std::string const braced = labels.empty() ? "" : "{" + labels + "}";
  std::string const bucket = "_bucket{" + labels + (labels.empty() ? "" : ",");
  for (auto const& part : {"_count" + braced, "_sum" + braced, bucket + "le=\"+Inf\"}"}) {
    ASSERT_TRUE(series.contains(name + part)) << name + part;
    EXPECT_EQ(series.at(name + part), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Obs2, EverySeries, testing::ValuesIn(rows), [](auto const& row) { return row.param.name; });

// OBS-2: nothing but the table's names and the process's; no series twice; only our own label names.
TEST(Metrics, HoldsNoSeriesThatTheTableDoesNotName) {
  Metrics const metrics(1, {"a", "b"});
  std::set<std::string> known;
  for (auto const& row : rows) {
    for (auto const* part : {"", "_bucket", "_sum", "_count"}) known.insert(std::string(row.name) + part);
  }
  std::set<std::string> seen;
  std::istringstream lines(metrics.scrape());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::string const series = line.substr(0, line.rfind(' '));
    EXPECT_TRUE(seen.insert(series).second) << series;
    if (series.starts_with("process_") || series.starts_with("weir_build_info{")) continue;
    EXPECT_TRUE(known.contains(name_of(series))) << series;
    EXPECT_THAT(series.substr(name_of(series).size()), Not(HasSubstr("_"))) << "words of label values are joined by '-'";
  }
}

TEST(Metrics, SaysWhichBuildThisIs) {  // OBS-2
  Metrics const metrics(1, {});
  std::string const series = "weir_build_info{version=\"" + std::string(version) + "\",revision=\"" + std::string(revision) +
                             "\",compiler=\"" + std::string(compiler) + "\"}";
  EXPECT_EQ(series_of(metrics.scrape()).at(series), 1);
}

TEST(Metrics, TellsAboutTheProcess) {  // OBS-2
  Metrics const metrics(1, {});
  auto const series = series_of(metrics.scrape());
  EXPECT_GE(series.at("process_cpu_seconds_total"), 0);
  EXPECT_GT(series.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(series.at("process_virtual_memory_bytes"), series.at("process_resident_memory_bytes"));
  EXPECT_GT(series.at("process_start_time_seconds"), 1.6e9);
  EXPECT_GE(series.at("process_threads"), 1);
  EXPECT_GT(series.at("process_max_fds"), series.at("process_open_fds"));
  double const before = series.at("process_open_fds");
  std::ifstream const one_more("/proc/self/stat");
  EXPECT_EQ(series_of(metrics.scrape()).at("process_open_fds"), before + 1);
}

TEST(Metrics, SumsOverWorkersAndSites) {  // OBS-2
  Metrics metrics(2, {"a", "b"});
  metrics.worker(0).request(0, Outcome::hit);
  metrics.worker(1).request(0, Outcome::hit);
  metrics.worker(1).request(1, Outcome::hit);
  metrics.worker(0).request(1, Outcome::tunnel);
  metrics.worker(0).fetch(FetchClass::background, FetchResult::server_error);
  metrics.worker(1).fetch(FetchClass::hedge, FetchResult::shed);
  metrics.worker(0).coalesced.add(3);
  metrics.worker(1).coalesced.add(4);
  metrics.worker(1).refusals[static_cast<std::size_t>(wire::Refusal::bare_cr_lf)].add(2);
  metrics.worker(0).not_stored[static_cast<std::size_t>(cache::NotStored::private_)].add(5);
  metrics.worker(0).connections.store(7);
  metrics.worker(1).connections.store(8);
  metrics.worker(0).origin_inflight.store(1);
  metrics.purges_hard = 9;
  metrics.reloads_bad = 1;
  auto const series = series_of(metrics.scrape());
  EXPECT_EQ(series.at(R"(weir_requests_total{site="a",outcome="hit"})"), 2);
  EXPECT_EQ(series.at(R"(weir_requests_total{site="b",outcome="hit"})"), 1);
  EXPECT_EQ(series.at(R"(weir_requests_total{site="b",outcome="tunnel"})"), 1);
  EXPECT_EQ(series.at(R"(weir_origin_fetches_total{class="background",result="server-error"})"), 1);
  EXPECT_EQ(series.at(R"(weir_origin_fetches_total{class="hedge",result="shed"})"), 1);
  EXPECT_EQ(series.at("weir_coalesced_total"), 7);
  EXPECT_EQ(series.at(R"(weir_key_rejections_total{reason="bare-cr-lf"})"), 2);
  EXPECT_EQ(series.at(R"(weir_not_stored_total{reason="private"})"), 5);
  EXPECT_EQ(series.at("weir_client_connections"), 15);
  EXPECT_EQ(series.at("weir_origin_inflight"), 1);
  EXPECT_EQ(series.at(R"(weir_purges_total{mode="hard"})"), 9);
  EXPECT_EQ(series.at(R"(weir_config_reloads_total{result="bad"})"), 1);
  EXPECT_EQ(metrics.total(Outcome::hit), 3U);
  EXPECT_EQ(metrics.total(Outcome::miss), 0U);
  EXPECT_EQ(metrics.total_coalesced(), 7U);
  EXPECT_EQ(metrics.total_fetches(), 1U);  // what was shed never went
  EXPECT_EQ(metrics.total_refusals(wire::Refusal::bare_cr_lf), 2U);
  EXPECT_EQ(metrics.total_not_stored(cache::NotStored::private_), 5U);
}

TEST(Metrics, HistogramsAreCumulativeWithInclusiveBounds) {  // OBS-2
  Metrics metrics(2, {});
  metrics.worker(0).request_seconds.observe(100us);
  metrics.worker(1).request_seconds.observe(101us);
  metrics.worker(1).request_seconds.observe(11s);
  metrics.worker(1).request_seconds.observe(-1s);
  metrics.worker(0).coalesce_fanout.observe_number(100);
  metrics.worker(0).coalesce_fanout.observe_number(100'001);
  auto const series = series_of(metrics.scrape());
  EXPECT_EQ(series.at(R"(weir_request_seconds_bucket{le="0.0001"})"), 2);
  EXPECT_EQ(series.at(R"(weir_request_seconds_bucket{le="0.00025"})"), 3);
  EXPECT_EQ(series.at(R"(weir_request_seconds_bucket{le="10"})"), 3);
  EXPECT_EQ(series.at(R"(weir_request_seconds_bucket{le="+Inf"})"), 4);
  EXPECT_EQ(series.at("weir_request_seconds_count"), 4);
  EXPECT_NEAR(series.at("weir_request_seconds_sum"), 11.000201, 1e-9);
  EXPECT_EQ(series.at(R"(weir_coalesce_fanout_bucket{le="50"})"), 0);
  EXPECT_EQ(series.at(R"(weir_coalesce_fanout_bucket{le="100"})"), 1);
  EXPECT_EQ(series.at(R"(weir_coalesce_fanout_bucket{le="100000"})"), 1);
  EXPECT_EQ(series.at("weir_coalesce_fanout_count"), 2);
  EXPECT_EQ(series.at("weir_coalesce_fanout_sum"), 100'101);
}

TEST(Metrics, ReadsGaugesAtTheScrape) {  // OBS-2
  Metrics metrics(1, {});
  std::uint64_t flights = 1;
  Gauges gauges;
  gauges.flights = [&] { return flights; };
  gauges.store_bytes = [] { return 2U; };
  gauges.store_entries = [] { return 3U; };
  gauges.evicted_small = [] { return 4U; };
  gauges.evicted_main = [] { return 5U; };
  gauges.limiter_queue = [] { return 6U; };
  gauges.log_dropped = [] { return 7U; };
  gauges.origin_servers = [](bool out) { return out ? 9U : 10U; };
  gauges.breaker_state = [] { return 2; };
  gauges.breaker_transitions = [](shield::BreakerState to) { return to == shield::BreakerState::open ? 8U : 0U; };
  metrics.set_gauges(std::move(gauges));
  EXPECT_EQ(series_of(metrics.scrape()).at("weir_flights"), 1);
  flights = 12;
  auto const series = series_of(metrics.scrape());
  EXPECT_EQ(series.at("weir_flights"), 12);
  EXPECT_EQ(series.at("weir_store_bytes"), 2);
  EXPECT_EQ(series.at("weir_store_entries"), 3);
  EXPECT_EQ(series.at(R"(weir_evictions_total{queue="small"})"), 4);
  EXPECT_EQ(series.at(R"(weir_evictions_total{queue="main"})"), 5);
  EXPECT_EQ(series.at("weir_limiter_queue_depth"), 6);
  EXPECT_EQ(series.at("weir_log_dropped_total"), 7);
  EXPECT_EQ(series.at(R"(weir_origin_servers{state="out"})"), 9);
  EXPECT_EQ(series.at(R"(weir_origin_servers{state="in"})"), 10);
  EXPECT_EQ(series.at("weir_breaker_state"), 2);
  EXPECT_EQ(series.at(R"(weir_breaker_transitions_total{to="open"})"), 8);
}

// Every enumerator has a word of its own, in kebab case.
template <class Enum>
void expect_words(std::size_t first, std::size_t end) {
  std::set<std::string_view> words;
  for (std::size_t i = first; i < end; ++i) {
    auto const text = label(static_cast<Enum>(i));
    EXPECT_THAT(std::string(text), MatchesRegex("[a-z0-9]+(-[a-z0-9]+)*")) << i;
    EXPECT_TRUE(words.insert(text).second) << text;
  }
}

TEST(Labels, AreDistinctKebabWords) {  // OBS-2
  expect_words<Outcome>(0, outcome_count);
  expect_words<FetchClass>(0, fetch_class_count);
  expect_words<FetchResult>(0, fetch_result_count);
  expect_words<ShedReason>(0, shed_reason_count);
  expect_words<StaleReason>(0, stale_reason_count);
  expect_words<CoalesceFallback>(0, coalesce_fallback_count);
}

// OBS-2: the real promtool has nothing to say, at zero and with numbers, and site names may hold anything.
TEST(Metrics, PromtoolAcceptsThePage) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  Metrics metrics(2, {"shop.example", "with \"quotes\" and \\ and\nnewline"});
  metrics.worker(1).request(1, Outcome::hit);
  metrics.worker(1).request_seconds.observe(3ms);
  auto const folder = std::filesystem::path(testing::TempDir());
  auto const page = folder / "weir_metrics_test.prom";
  auto const said = folder / "weir_metrics_test.out";
  std::ofstream(page) << metrics.scrape();
  int const status = std::system(("promtool check metrics <" + page.string() + " >" + said.string() + " 2>&1").c_str());
  std::ostringstream words;
  words << std::ifstream(said).rdbuf();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << words.str();
  EXPECT_EQ(words.str(), "");
}

}  // namespace
}  // namespace weir::observe
