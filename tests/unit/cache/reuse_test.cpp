// SRV-5, FRS-1, FRS-3, STL-1, STL-2, COA-14: when a stored response may be reused (RFC 9111 4, 4.2.4, 5.2.1).
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/reuse.hpp"

namespace weir::cache::test {
namespace {

constexpr Overrule soft_at(base::Duration after_response) { return {Invalidation::soft, noon.steady + after_response}; }
constexpr Overrule invalid{Invalidation::invalid, noon.steady + 1s};
constexpr Overrule hard{Invalidation::hard, noon.steady + 1s};

// Lifetime 100 s, arrived at noon with age 10 s: fresh for 90 s.
Facts facts_of(void (*change)(Facts&)) {
  Facts facts;
  facts.status = 200;
  facts.response_time = noon.steady;
  facts.initial_age = 10s;
  facts.lifetime = 100s;
  change(facts);
  return facts;
}

constexpr auto plain = [](Facts&) {};
constexpr auto revalidating = [](Facts& facts) { facts.stale_while_revalidate = 30s; };
constexpr auto erring = [](Facts& facts) { facts.stale_if_error = 30s; };
constexpr auto both = [](Facts& facts) { facts.stale_while_revalidate = facts.stale_if_error = 30s; };
constexpr auto no_cache = [](Facts& facts) { facts.no_cache = facts.forbids_incident_stale = true; };
constexpr auto must_revalidate = [](Facts& facts) {
  facts.must_revalidate = facts.forbids_incident_stale = facts.authorized = true;
};
constexpr auto s_maxage = [](Facts& facts) {
  facts.must_revalidate = facts.authorized = facts.shared_explicitly = true;
  facts.stale_while_revalidate = 30s;  // explicit beside s-maxage: counts
};
constexpr auto immutable = [](Facts& facts) { facts.immutable = true; };
constexpr auto never_fresh = [](Facts& facts) {
  facts.lifetime = 0s;
  facts.initial_age = 0s;
};

struct Row {
  char const* name;
  void (*facts)(Facts&);
  Overrule overrule;
  base::Duration at;    // after the response came
  char const* request;  // field lines
  Verdict verdict;
  ReuseReason reason;
  int age;
  int ttl;
  bool stale_if_error = false;
  bool stale_in_incident = true;
  bool honor = true;
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

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

using enum Verdict;
using R = ReuseReason;

INSTANTIATE_TEST_SUITE_P(
    Freshness, ReuseOf,
    testing::Values(
        Row{"fresh", plain, {}, 0s, "", fresh, R::fresh, 10, 90},
        Row{"fresh to the last", plain, {}, 89s, "", fresh, R::fresh, 99, 1},
        Row{"expires at its lifetime", plain, {}, 90s, "", must_validate, R::expired, 100, 0},
        Row{"expired", plain, {}, 95s, "", must_validate, R::expired, 105, -5},
        Row{"a clock read before the response came", plain, {}, -5s, "", fresh, R::fresh, 10, 90},
        Row{"never fresh", never_fresh, {}, 0s, "", must_validate, R::expired, 0, 0},
        Row{"no-cache", no_cache, {}, 0s, "", must_validate, R::no_cache, 10, 90, false, false},
        Row{"must-revalidate while fresh", must_revalidate, {}, 0s, "", fresh, R::fresh, 10, 90, false, false},
        Row{"must-revalidate when stale", must_revalidate, {}, 91s, "", must_validate, R::expired, 101, -1, false, false}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    StaleWindows, ReuseOf,
    testing::Values(
        Row{"while revalidate", revalidating, {}, 90s, "", stale_while_revalidate, R::within_stale_while_revalidate, 100, 0},
        Row{"to the window's end",
            revalidating,
            {},
            119s,
            "",
            stale_while_revalidate,
            R::within_stale_while_revalidate,
            129,
            -29},
        Row{"behind the window", revalidating, {}, 120s, "", must_validate, R::expired, 130, -30},
        Row{"if error", erring, {}, 119s, "", must_validate, R::expired, 129, -29, true},
        Row{"behind the error window", erring, {}, 120s, "", must_validate, R::expired, 130, -30, false},
        Row{"both", both, {}, 100s, "", stale_while_revalidate, R::within_stale_while_revalidate, 110, -10, true},
        Row{"explicit beside s-maxage",
            s_maxage,
            {},
            100s,
            "",
            stale_while_revalidate,
            R::within_stale_while_revalidate,
            110,
            -10}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Overruled, ReuseOf,
    testing::Values(
        Row{"hard", both, hard, 2s, "", unusable, R::purged, 12, 88, false, false},
        Row{"invalid is never stale", both, invalid, 2s, "", must_validate, R::invalidated, 12, 88, false, false},
        Row{"invalid and expired", both, invalid, 100s, "", must_validate, R::invalidated, 110, -10, false, false},
        Row{"soft without a window", plain, soft_at(20s), 25s, "", must_validate, R::soft_purged, 35, -5},
        Row{"soft, this instant", plain, soft_at(20s), 20s, "", must_validate, R::soft_purged, 30, 0},
        Row{"soft, the windows run from it", both, soft_at(20s), 49s, "", stale_while_revalidate,
            R::within_stale_while_revalidate, 59, -29, true},
        Row{"soft, behind the windows", both, soft_at(20s), 50s, "", must_validate, R::soft_purged, 60, -30},
        Row{"soft lengthens nothing", both, soft_at(200s), 201s, "", must_validate, R::soft_purged, 211, -111},
        Row{"soft, seen by a clock before it", both, soft_at(20s), 19s, "", stale_while_revalidate,
            R::within_stale_while_revalidate, 29, 0, true},
        Row{"soft under must-revalidate", must_revalidate, soft_at(20s), 21s, "", must_validate, R::soft_purged, 31, -1,
            false, false},
        Row{"soft and max-stale", plain, soft_at(20s), 25s, "Cache-Control: max-stale=5", stale_allowed,
            R::request_max_stale, 35, -5}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Askers, ReuseOf,
    testing::Values(
        Row{"authorization", plain, {}, 0s, "Authorization: x", unusable, R::authorization, 10, 90, false, false},
        Row{"authorization, must-revalidate",
            must_revalidate,
            {},
            0s,
            "Authorization: x",
            fresh,
            R::fresh,
            10,
            90,
            false,
            false},
        Row{"authorization, s-maxage", s_maxage, {}, 0s, "Authorization: x", fresh, R::fresh, 10, 90},
        Row{"cookie", plain, {}, 0s, "Cookie: s=1", unusable, R::cookie, 10, 90, false, false},
        Row{"cookie, must-revalidate is not enough",
            must_revalidate,
            {},
            0s,
            "Cookie: s=1",
            unusable,
            R::cookie,
            10,
            90,
            false,
            false},
        Row{"cookie, s-maxage", s_maxage, {}, 0s, "Cookie: s=1", fresh, R::fresh, 10, 90},
        Row{"no-store may be answered", plain, {}, 0s, "Cache-Control: no-store", fresh, R::fresh, 10, 90},
        Row{"only-if-cached", plain, {}, 0s, "Cache-Control: only-if-cached", fresh, R::fresh, 10, 90}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    RequestDirectives, ReuseOf,
    testing::Values(
        Row{"no-cache", erring, {}, 0s, "Cache-Control: no-cache", must_validate, R::request_no_cache, 10, 90, true},
        Row{"no-cache without a window",
            plain,
            {},
            0s,
            "Cache-Control: no-cache",
            must_validate,
            R::request_no_cache,
            10,
            90},
        Row{"Pragma says nothing", plain, {}, 0s, "Pragma: no-cache", fresh, R::fresh, 10, 90},
        Row{"an unknown directive", plain, {}, 0s, "Cache-Control: no-cash, no-transform", fresh, R::fresh, 10, 90},
        Row{"max-age met", plain, {}, 0s, "Cache-Control: max-age=10", fresh, R::fresh, 10, 90},
        Row{"max-age passed", plain, {}, 1s, "Cache-Control: max-age=10", must_validate, R::request_max_age, 11, 89},
        Row{"max-age passed, immutable", immutable, {}, 1s, "Cache-Control: max-age=10", fresh, R::fresh, 11, 89},
        Row{"immutable to its end",
            immutable,
            {},
            90s,
            "Cache-Control: max-age=10",
            must_validate,
            R::request_max_age,
            100,
            0},
        Row{"no-cache, immutable", immutable, {}, 1s, "Cache-Control: no-cache", must_validate, R::request_no_cache, 11, 89},
        Row{"max-age goes before a window",
            revalidating,
            {},
            95s,
            "Cache-Control: max-age=10",
            must_validate,
            R::request_max_age,
            105,
            -5},
        Row{"min-fresh met", plain, {}, 0s, "Cache-Control: min-fresh=90", fresh, R::fresh, 10, 90},
        Row{"min-fresh missed", plain, {}, 0s, "Cache-Control: min-fresh=91", must_validate, R::request_min_fresh, 10, 90},
        Row{"max-stale met", plain, {}, 95s, "Cache-Control: max-stale=5", stale_allowed, R::request_max_stale, 105, -5},
        Row{"max-stale passed", plain, {}, 96s, "Cache-Control: max-stale=5", must_validate, R::expired, 106, -6},
        Row{"any max-stale", plain, {}, 5000s, "Cache-Control: max-stale", stale_allowed, R::request_max_stale, 5010, -4910},
        Row{"max-stale under must-revalidate",
            must_revalidate,
            {},
            91s,
            "Cache-Control: max-stale",
            must_validate,
            R::expired,
            101,
            -1,
            false,
            false},
        Row{"max-stale under s-maxage", s_maxage, {}, 130s, "Cache-Control: max-stale", must_validate, R::expired, 140, -40},
        Row{"max-stale under no-cache",
            no_cache,
            {},
            91s,
            "Cache-Control: max-stale",
            must_validate,
            R::no_cache,
            101,
            -1,
            false,
            false},
        Row{"a window refreshes, max-stale does not",
            revalidating,
            {},
            95s,
            "Cache-Control: max-stale",
            stale_while_revalidate,
            R::within_stale_while_revalidate,
            105,
            -5},
        Row{"ignored unless honoured",
            plain,
            {},
            20s,
            "Cache-Control: no-cache, max-age=0, min-fresh=99",
            fresh,
            R::fresh,
            30,
            70,
            false,
            true,
            false},
        Row{"max-stale ignored unless honoured",
            plain,
            {},
            91s,
            "Cache-Control: max-stale",
            must_validate,
            R::expired,
            101,
            -1,
            false,
            true,
            false}),
    row_name);

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
