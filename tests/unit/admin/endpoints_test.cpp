#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "fixture.hpp"
#include "weir/observe/build.hpp"

namespace weir::admin {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

class Endpoints : public AdminTest {};

TEST_F(Endpoints, MetricsIsThePage) {  // OBS-2, OBS-3
  open();
  auto const response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "# a page\n");
  EXPECT_EQ(response.fields.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(Endpoints, AnswersAreNotForCachesAndCarryDate) {  // OBS-3
  open();
  auto const response = get("/healthz");
  EXPECT_EQ(response.fields.at("cache-control"), "no-store");
  EXPECT_EQ(response.fields.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(response.fields.at("date").size(), 29U);
}

TEST_F(Endpoints, HealthIsAliveWhateverTheRestSays) {  // OBS-3
  readiness_ = {false, "draining"};
  open();
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(Endpoints, ReadinessSaysWhyNot) {  // OBS-3
  open();
  EXPECT_EQ(get("/readyz").status, 200);
  readiness_ = {false, "draining"};
  auto const response = get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "draining\n");
}

TEST_F(Endpoints, ConfigIsPassedOn) {  // OBS-3
  open();
  auto const response = get("/v1/config");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.at("content-type"), "application/json");
  EXPECT_EQ(boost::json::parse(response.body).at("version").as_int64(), 1);
}

TEST_F(Endpoints, FlightsAreRows) {  // OBS-3
  flights_ = {{.key = "GET http://a/\xFF", .waiters = 3, .fetches = 2, .received = 70'000, .head = true, .age = 1500ms},
              {.key = "GET http://b/"}};
  open();
  auto const response = get("/v1/flights");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(asked_flights_, 100U);
  auto const value = boost::json::parse(response.body);
  auto const& rows = value.at("flights").as_array();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("key").as_string(), "GET http://a/\xEF\xBF\xBD");
  EXPECT_EQ(rows[0].at("waiters").as_int64(), 3);
  EXPECT_EQ(rows[0].at("fetches").as_int64(), 2);
  EXPECT_EQ(rows[0].at("received_bytes").as_int64(), 70'000);
  EXPECT_TRUE(rows[0].at("head").as_bool());
  EXPECT_EQ(rows[0].at("age_seconds").as_double(), 1.5);
  EXPECT_TRUE(rows[1].at("age_seconds").is_null());
}

TEST_F(Endpoints, FlightsTakeALimit) {  // OBS-3
  open();
  EXPECT_EQ(get("/v1/flights?limit=1000").status, 200);
  EXPECT_EQ(asked_flights_, 1000U);
  asked_flights_ = 0;
  for (auto const* query : {"limit=0", "limit=1001", "limit=-1", "limit=1x", "limit=", "limit", "limit=%4", "other=1"}) {
    EXPECT_EQ(get(std::string("/v1/flights?") + query).status, 400) << query;
  }
  EXPECT_EQ(asked_flights_, 0U);
}

TEST_F(Endpoints, StatsTellTheWholeStory) {  // OBS-3
  observe::Metrics metrics(2, {"default", "shop"});
  for (int i = 0; i < 3; ++i) metrics.worker(0).request(0, observe::Outcome::hit);
  metrics.worker(1).request(1, observe::Outcome::miss);
  metrics.worker(0).shed[static_cast<std::size_t>(observe::ShedReason::breaker_open)].add(2);
  metrics.worker(1).stale_served[static_cast<std::size_t>(observe::StaleReason::if_error)].add(4);
  metrics.worker(0).connections = 20;
  metrics.worker(1).connections = 1;
  metrics.worker(1).origin_inflight = 6;
  metrics.worker(0).coalesced.add(5);
  metrics.worker(0).fetch(observe::FetchClass::miss, observe::FetchResult::ok);
  stats_.count(metrics);
  stats_.uptime = 90s;
  stats_.draining = true;
  stats_.flights = 7;
  stats_.waiting = 8;
  stats_.store_bytes = 9;
  stats_.store_max_bytes = 10;
  stats_.store_entries = 11;
  stats_.store_type = "valkey";
  stats_.store_guard = "half-open";
  stats_.store_evicted = 14;
  stats_.origins.push_back({.name = "app",
                            .reached = true,
                            .breaker = "half-open",
                            .limiter = {.fetches = 12, .queued = 13},
                            .limits = {.max_concurrent = 15}});
  open();
  auto const response = get("/v1/stats");
  EXPECT_EQ(response.status, 200);
  auto const value = boost::json::parse(response.body);
  EXPECT_EQ(value.at("version").as_string(), observe::version);
  EXPECT_EQ(value.at("uptime_seconds").as_double(), 90);
  EXPECT_TRUE(value.at("draining").as_bool());
  EXPECT_EQ(value.at("requests").at("total").as_int64(), 4);
  EXPECT_EQ(value.at("requests").at("by_outcome").at("hit").as_int64(), 3);
  EXPECT_EQ(value.at("requests").at("by_outcome").as_object().size(), observe::outcome_count);
  EXPECT_EQ(value.at("requests").at("by_site").at("default").at("hit").as_int64(), 3);
  EXPECT_EQ(value.at("requests").at("by_site").at("default").at("miss").as_int64(), 0);
  EXPECT_EQ(value.at("requests").at("by_site").at("shop").at("miss").as_int64(), 1);
  EXPECT_EQ(value.at("share_without_fetch").as_double(), 0.75);
  EXPECT_EQ(value.at("mode").as_string(), "normal");
  EXPECT_EQ(value.at("connections").as_int64(), 21);
  EXPECT_EQ(value.at("fetches").at("in_flight").as_int64(), 6);
  EXPECT_EQ(value.at("fetches").at("by_class").at("miss").as_int64(), 1);
  EXPECT_EQ(value.at("fetches").at("by_result").at("ok").as_int64(), 1);
  EXPECT_EQ(value.at("shed").at("breaker-open").as_int64(), 2);
  EXPECT_EQ(value.at("stale_served").at("if-error").as_int64(), 4);
  EXPECT_EQ(value.at("store").at("type").as_string(), "valkey");
  EXPECT_EQ(value.at("store").at("guard").as_string(), "half-open");
  EXPECT_EQ(value.at("store").at("evicted").as_int64(), 14);
  EXPECT_EQ(value.at("coalesced").as_int64(), 5);
  EXPECT_EQ(value.at("origin_fetches").as_int64(), 1);
  EXPECT_EQ(value.at("flights").at("under_way").as_int64(), 7);
  EXPECT_EQ(value.at("flights").at("waiting").as_int64(), 8);
  EXPECT_GT(value.at("memory").at("resident_bytes").as_int64(), 0);
  EXPECT_EQ(value.at("memory").at("store_bytes").as_int64(), 9);
  EXPECT_EQ(value.at("memory").at("store_max_bytes").as_int64(), 10);
  EXPECT_EQ(value.at("memory").at("store_entries").as_int64(), 11);
  auto const& origin = value.at("origins").at(0);
  EXPECT_EQ(origin.at("name").as_string(), "app");
  EXPECT_TRUE(origin.at("reached").as_bool());
  EXPECT_EQ(origin.at("breaker").as_string(), "half-open");
  EXPECT_EQ(origin.at("limiter").at("fetches").as_int64(), 12);
  EXPECT_EQ(origin.at("limiter").at("queued").as_int64(), 13);
  EXPECT_EQ(origin.at("limiter").at("max_concurrent").as_int64(), 15);
}

TEST_F(Endpoints, StatsBeforeTheFirstRequest) {  // OBS-3
  open();
  EXPECT_TRUE(boost::json::parse(get("/v1/stats").body).at("share_without_fetch").is_null());
}

TEST_F(Endpoints, DrainIsCalledOnceAndOnlyByRightCalls) {  // OBS-3, OBS-5
  open();
  EXPECT_EQ(ask("GET", "/v1/drain").status, 405);
  EXPECT_EQ(ask("POST", "/v1/drain", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(drains_, 0);
  EXPECT_EQ(ask("POST", "/v1/drain").status, 202);
  EXPECT_EQ(drains_, 1);
}

TEST_F(Endpoints, TokenIsAskedForEverywhereButOnProbes) {  // OBS-5
  settings_.token_file = write_file("token", "s3cret\n");
  open();
  for (auto const* path : {"/metrics", "/v1/config", "/v1/stats", "/v1/flights"}) {
    EXPECT_EQ(get(path).status, 401) << path;
    EXPECT_EQ(get(path).fields.at("www-authenticate"), "Bearer") << path;
    EXPECT_EQ(get(path, "Authorization: Bearer s3cret\r\n").status, 200) << path;
  }
  EXPECT_EQ(ask("POST", "/v1/drain").status, 401);
  EXPECT_EQ(drains_, 0);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(Endpoints, MetricsListenerOpensThreeCallsOnly) {  // OBS-5
  settings_.token_file = write_file("token", "s3cret");
  settings_.metrics_listen = "127.0.0.1:0";
  open();
  ASSERT_NE(server_->metrics_port(), server_->port());
  struct {
    char const* line;
    int status;
  } const cases[] = {
      {"GET /metrics", 200},   {"GET /healthz", 200},   {"GET /readyz", 200},   {"HEAD /metrics", 200},
      {"POST /metrics", 405},  {"GET /v1/config", 404}, {"GET /v1/stats", 404}, {"GET /v1/flights", 404},
      {"POST /v1/drain", 404}, {"GET /", 404},
  };
  for (auto const& row : cases) {
    RawClient connection = RawClient::tcp(server_->metrics_port());
    connection.send(std::string(row.line) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\r\n\r\n");
    auto const response = connection.receive(std::string_view(row.line).starts_with("HEAD"));
    ASSERT_TRUE(response) << row.line;
    EXPECT_EQ(response->status, row.status) << row.line;
  }
  EXPECT_EQ(drains_, 0);
}

}  // namespace
}  // namespace weir::admin
