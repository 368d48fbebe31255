#include "weir/observe/status_fields.hpp"

#include <limits>
#include <ostream>

#include <gtest/gtest.h>

#include "weir/http/structured.hpp"

namespace weir::observe {
namespace {

using namespace std::chrono_literals;

struct Row {
  char const* name;
  CacheStatus status;
  char const* text;
};

void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

CacheStatus hit(base::Duration ttl, std::string_view word = {}) { return {.hit = true, .ttl = ttl, .detail = word}; }
CacheStatus forwarded(Forwarded why, int status = 0) { return {.forwarded = why, .forwarded_status = status}; }
CacheStatus with(CacheStatus status, Collapsed collapsed, bool stored = false) {
  status.collapsed = collapsed;
  status.stored = stored;
  return status;
}
CacheStatus with(CacheStatus status, base::Duration ttl, std::string_view word) {
  status.ttl = ttl;
  status.detail = word;
  return status;
}

// OBS-1, STL-2, RFC 9211 section 2.
Row const rows[] = {
    {"hit", hit(50s), "Weir; hit; ttl=50"},
    {"hit_with_a_fraction_left", hit(999ms), "Weir; hit; ttl=1"},
    {"hit_just_stale", hit(-1ms, detail::stale_while_revalidate), "Weir; hit; ttl=-1; detail=stale-while-revalidate"},
    {"shed_serves_stale", hit(-7s, detail::shed), "Weir; hit; ttl=-7; detail=shed"},
    {"open_breaker_serves_stale", hit(-7s, detail::circuit_open), "Weir; hit; ttl=-7; detail=circuit-open"},
    {"negative_record", {.hit = true, .detail = detail::negative}, "Weir; hit; detail=negative"},
    {"leader", with(forwarded(Forwarded::uri_miss, 200), Collapsed::unsaid, true),
     "Weir; fwd=uri-miss; fwd-status=200; stored"},
    {"follower", with(forwarded(Forwarded::uri_miss, 200), Collapsed::yes, true),
     "Weir; fwd=uri-miss; fwd-status=200; stored; collapsed"},
    {"had_to_fetch_after_all", with(forwarded(Forwarded::uri_miss, 200), Collapsed::no),
     "Weir; fwd=uri-miss; fwd-status=200; collapsed=?0"},
    {"marker",
     {.forwarded = Forwarded::miss, .forwarded_status = 200, .detail = detail::hit_for_miss},
     "Weir; fwd=miss; fwd-status=200; detail=hit-for-miss"},
    {"stale_if_error", with(forwarded(Forwarded::stale, 503), -12s, detail::stale_if_error),
     "Weir; fwd=stale; fwd-status=503; ttl=-12; detail=stale-if-error"},
    {"stale_after_a_timeout", with(forwarded(Forwarded::stale), -12s, detail::coalesce_timeout),
     "Weir; fwd=stale; ttl=-12; detail=coalesce-timeout"},
    {"bypass", forwarded(Forwarded::bypass, 404), "Weir; fwd=bypass; fwd-status=404"},
    {"method", forwarded(Forwarded::method), "Weir; fwd=method"},
    {"vary_miss", forwarded(Forwarded::vary_miss), "Weir; fwd=vary-miss"},
    {"request", forwarded(Forwarded::request), "Weir; fwd=request"},
    {"partial", forwarded(Forwarded::partial), "Weir; fwd=partial"},
    {"nothing_to_say", {}, "Weir"},
    {"longest_lifetime", hit(base::Duration::max()), "Weir; hit; ttl=9223372037"},
};

class CacheStatusText : public testing::TestWithParam<Row> {};

TEST_P(CacheStatusText, IsTheRowsAndAStructuredField) {
  StatusText const text(GetParam().status);
  EXPECT_EQ(text.view(), GetParam().text);
  auto const list = http::parse_sf_list(text.view());
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  ASSERT_TRUE(std::holds_alternative<http::SfToken>(list->front().item.value));
  EXPECT_EQ(std::get<http::SfToken>(list->front().item.value).text, "Weir");
}

INSTANTIATE_TEST_SUITE_P(Obs1, CacheStatusText, testing::ValuesIn(rows), [](auto const& row) { return row.param.name; });

// The parameters of a structured field's one member, as its parser understands them.
http::SfParameters parameters_of(StatusText const& text) {
  auto const list = http::parse_sf_list(text.view());
  if (!list || list->size() != 1) return {};
  return list->front().item.parameters.empty() ? list->front().parameters : list->front().item.parameters;
}

TEST(CacheStatusText, MeansWhatItSays) {  // OBS-1
  CacheStatus status = with(forwarded(Forwarded::vary_miss, 200), Collapsed::no, true);
  status.ttl = -5s;
  status.detail = detail::coalesce_timeout;
  auto const parameters = parameters_of(StatusText(status));
  ASSERT_EQ(parameters.size(), 6U);
  EXPECT_EQ(parameters[0].first, "fwd");
  EXPECT_EQ(std::get<http::SfToken>(parameters[0].second).text, "vary-miss");
  EXPECT_EQ(parameters[1].first, "fwd-status");
  EXPECT_EQ(std::get<std::int64_t>(parameters[1].second), 200);
  EXPECT_EQ(parameters[2].first, "stored");
  EXPECT_EQ(std::get<bool>(parameters[2].second), true);
  EXPECT_EQ(parameters[3].first, "collapsed");
  EXPECT_EQ(std::get<bool>(parameters[3].second), false);
  EXPECT_EQ(parameters[4].first, "ttl");
  EXPECT_EQ(std::get<std::int64_t>(parameters[4].second), -5);
  EXPECT_EQ(parameters[5].first, "detail");
  EXPECT_EQ(std::get<http::SfToken>(parameters[5].second).text, "coalesce-timeout");
}

// The buffer holds the longest value that the struct can describe.
TEST(CacheStatusText, FitsTheLongest) {  // OBS-1
  std::string const longest(max_detail, 'x');
  CacheStatus status = with(forwarded(Forwarded::vary_miss, std::numeric_limits<int>::min()), Collapsed::no, true);
  status.ttl = base::Duration::min();
  status.detail = longest;
  EXPECT_TRUE(StatusText(status).view().ends_with(longest));
}

TEST(CacheStatusTextDeathTest, HitExcludesForwarding) {
  EXPECT_DEATH(StatusText(CacheStatus{.hit = true, .forwarded = Forwarded::miss}), "assertion failed");
}

TEST(ProxyStatusText, NamesTheError) {  // OBS-1, RFC 9209 2.3
  EXPECT_EQ(StatusText(ProxyStatus{"connection_refused"}).view(), "Weir; error=connection_refused");
  StatusText const text(ProxyStatus{"http_response_incomplete", 200});
  EXPECT_EQ(text.view(), "Weir; error=http_response_incomplete; received-status=200");
  auto const parameters = parameters_of(text);
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(std::get<http::SfToken>(parameters[0].second).text, "http_response_incomplete");
  EXPECT_EQ(std::get<std::int64_t>(parameters[1].second), 200);
}

TEST(ProxyStatusTextDeathTest, NeedsAnError) { EXPECT_DEATH(StatusText(ProxyStatus{}), "assertion failed"); }

}  // namespace
}  // namespace weir::observe
