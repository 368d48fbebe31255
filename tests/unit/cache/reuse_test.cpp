// SRV-5, FRS-1, FRS-3, STL-1, STL-2, COA-14: when a stored response may be reused (RFC 9111 4, 4.2.4, 5.2.1).
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cache/reuse_rows.hpp"

namespace weir::cache::test {
namespace {

class ReuseOf : public testing::TestWithParam<Row> {};

TEST_P(ReuseOf, StoredResponse) {  // SRV-5, FRS-1, STL-1, STL-2, STL-3, COA-14, MODE-1
  Row const& row = GetParam();
  WireRequest const wire(std::string("GET /\n") + row.request);
  bool const cookie = wire.fields().has(http::FieldId::cookie);
  auto const asker = asker_of(wire.request, cookie, {.honor_revalidation = row.honor});
  auto const facts = facts_of(row.facts);
  auto const reused = reuse(asker, facts, row.overrule, after(row.at), Mode::normal);
  EXPECT_EQ(reused.verdict, row.verdict);
  EXPECT_EQ(label(reused.reason), label(row.reason));
  EXPECT_EQ(to_seconds(reused.age), row.age);
  EXPECT_EQ(to_seconds(reused.ttl), row.ttl);
  EXPECT_EQ(reused.stale_if_error, row.stale_if_error);
  EXPECT_FALSE(reused.stale_in_incident);

  auto const incident = reuse(asker, facts, row.overrule, after(row.at), Mode::stale_on_error);
  EXPECT_EQ(incident.verdict, row.verdict);
  EXPECT_EQ(incident.stale_if_error, row.stale_if_error || row.stale_in_incident);
  EXPECT_EQ(incident.stale_in_incident, row.stale_in_incident && !row.stale_if_error);

  auto const bypassed = reuse(asker, facts, row.overrule, after(row.at), Mode::bypass);
  EXPECT_EQ(bypassed.verdict, Verdict::unusable);
  EXPECT_EQ(label(bypassed.reason), "bypass-mode");
  EXPECT_FALSE(bypassed.stale_if_error || bypassed.stale_in_incident);
}

INSTANTIATE_TEST_SUITE_P(Freshness, ReuseOf, testing::ValuesIn(rows_of("Freshness")), row_name);
INSTANTIATE_TEST_SUITE_P(StaleWindows, ReuseOf, testing::ValuesIn(rows_of("StaleWindows")), row_name);
INSTANTIATE_TEST_SUITE_P(Overruled, ReuseOf, testing::ValuesIn(rows_of("Overruled")), row_name);
INSTANTIATE_TEST_SUITE_P(Askers, ReuseOf, testing::ValuesIn(rows_of("Askers")), row_name);
INSTANTIATE_TEST_SUITE_P(RequestDirectives, ReuseOf, testing::ValuesIn(rows_of("RequestDirectives")), row_name);

TEST(Asker, KnowsWhatTheRequestSays) {  // SRV-5
  WireRequest const wire("GET /\nAuthorization: x\nCache-Control: no-store, only-if-cached, max-age=1");
  auto const asker = asker_of(wire.request, true, {});
  EXPECT_TRUE(asker.has_authorization);
  EXPECT_TRUE(asker.has_cookie_credential);
  EXPECT_TRUE(asker.only_if_cached);
  EXPECT_TRUE(asker.no_store);
  EXPECT_FALSE(asker.max_age);
  WireRequest const bare("GET /");
  auto const nobody = asker_of(bare.request, false, {.honor_revalidation = true});
  EXPECT_FALSE(nobody.has_authorization || nobody.has_cookie_credential || nobody.only_if_cached || nobody.no_store);
}

TEST(EarlyRefresh, OnlyInTheLastQuarterAndMoreLikelyTowardsTheEnd) {  // FRS-3
  auto facts = facts_of(plain);
  facts.initial_age = 0s;
  facts.fetch_time = 1s;
  double const small = 1e-30;  // -ln: 69
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 74s, small));
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 74s, 0.0));
  EXPECT_TRUE(wants_early_refresh(facts, noon.steady + 75s, small));
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 99s, 0.5));  // 0.69 s of work, 1 s left
  EXPECT_TRUE(wants_early_refresh(facts, noon.steady + 99s, 0.3));   // 1.2 s
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 99s, 1.0));
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 100s, small)) << "expired is not early";
}

TEST(EarlyRefresh, AQuickFetchCountsAsFiftyMilliseconds) {  // FRS-3
  auto facts = facts_of(plain);
  facts.initial_age = 0s;
  EXPECT_TRUE(wants_early_refresh(facts, noon.steady + 100s - 30ms, 0.5));  // 35 ms
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 100s - 40ms, 0.5));
}

TEST(EarlyRefresh, WeighsTheFetchTimeExactly) {  // FRS-3
  auto facts = facts_of(plain);
  facts.initial_age = 0s;
  double const one = std::exp(-1.0);  // -ln: 1
  EXPECT_TRUE(wants_early_refresh(facts, noon.steady + 100s - 50ms, one));
  EXPECT_FALSE(wants_early_refresh(facts, noon.steady + 100s - 51ms, one));
}

TEST(ReuseLabels, AreWordsAndDiffer) {
  std::vector<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(ReuseReason::cookie); ++i) {
    auto const word = label(static_cast<ReuseReason>(i));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), word), 0) << word;
    seen.push_back(word);
  }
}

}  // namespace
}  // namespace weir::cache::test
