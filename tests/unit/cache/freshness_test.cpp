// FRS-1, FRS-2, STL-1: age on arrival, lifetime, jitter and stale windows (RFC 9111 4.2).
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/freshness.hpp"

namespace weir::cache::test {
namespace {

constexpr std::int64_t most = 2147483648;

struct AgeRow {
  char const* name;
  char const* fields;
  std::int64_t age;  // s; the response took 2 s
};
void PrintTo(AgeRow const& row, std::ostream* out) { *out << row.name; }

class InitialAge : public testing::TestWithParam<AgeRow> {};

TEST_P(InitialAge, OnArrival) {  // FRS-1
  WireResponse const wire(std::string("200 OK\n") + GetParam().fields);
  EXPECT_EQ(initial_age(wire.fields(), after(-2s), noon), std::chrono::seconds(GetParam().age));
}

INSTANTIATE_TEST_SUITE_P(
    Table, InitialAge,
    testing::Values(
        AgeRow{"nothing said", "", 2}, AgeRow{"Age", "Age: 30", 32}, AgeRow{"Age of a list", "Age: 10, 20", 12},
        AgeRow{"Age twice", "Age: 10\nAge: 20", 12}, AgeRow{"the first Age is broken", "Age: abc\nAge: 20", 22},
        AgeRow{"the first Age is empty", "Age:\nAge: 20", 22}, AgeRow{"negative", "Age: -7200", 2},
        AgeRow{"a fraction", "Age: 7200.0", 2}, AgeRow{"empty", "Age:", 2},
        AgeRow{"a number in another field", "Content-Length: 5\nAge: 30", 32},
        AgeRow{"a list whose first member is broken", "Age: x, 20", 2}, AgeRow{"too large", "Age: 4294967296", most + 2},
        AgeRow{"larger than a number", "Age: 99999999999999999999999", most + 2},
        AgeRow{"an origin an hour behind", "Date: $-3600", 2}, AgeRow{"an origin an hour ahead", "Date: $+3600", 2},
        AgeRow{"behind a cache that sends Age", "Date: $-3600\nAge: 5\nVia: 1.1 cache", 7},
        AgeRow{"behind an HTTP/1.0 cache", "Date: $-3600\nVia: 1.1 a, 1.0 b", 3600},
        AgeRow{"in front of an HTTP/1.1 cache", "Date: $-3600\nVia: 1.0 a, 1.1 b", 3600},
        AgeRow{"on a line of its own", "Date: $-3600\nVia: 1.0 a\nVia: 1.1 b", 3600},
        AgeRow{"behind an HTTP/0.9 cache", "Date: $-3600\nVia: 0.9 a", 3600},
        AgeRow{"behind another protocol", "Date: $-3600\nVia: gopher/1.0 a, 1.0 b", 3600},
        AgeRow{"1.0 in another field", "Date: $-3600\nServer: 1.0 a", 2},
        AgeRow{"written with its name", "Date: $-3600\nVia: HTTP/1.0 b", 3600},
        AgeRow{"and with an Age larger than it seems", "Date: $-10\nAge: 50\nVia: 1.0 b", 52},
        AgeRow{"HTTP/1.0 cache ahead of us", "Date: $+3600\nVia: 1.0 b", 2},
        AgeRow{"HTTP/1.0 without Date", "Via: 1.0 b", 2}, AgeRow{"another protocol", "Date: $-3600\nVia: gopher/1.0 b", 2},
        AgeRow{"1.0 in a name", "Date: $-3600\nVia: 1.1 1.0", 2},
        AgeRow{"Dates apart further than numbers reach", "Date: Mon, 01 Jan 0001 00:00:00 GMT\nVia: 1.0 b", most}),
    row_name);

TEST(InitialAge, AWallClockStepDuringTheFetchChangesNothing) {  // FRS-1
  WireResponse const wire("200 OK\nDate: $+0");
  base::Now const stepped{noon.wall + 24h, noon.steady};
  EXPECT_EQ(initial_age(wire.fields(), after(-2s), stepped), 2s);
}

TEST(InitialAge, AResponseIsNotYoungerThanItSays) {  // FRS-1
  EXPECT_EQ(initial_age(WireResponse("200\nAge: 3").fields(), after(2s), noon), 3s);
}

TEST(Date, IsThatOfReceiptWhereItIsNone) {  // FRS-1
  EXPECT_EQ(date_of(WireResponse("200\nDate: $-5").fields(), noon.wall), noon.wall - 5s);
  EXPECT_EQ(date_of(WireResponse("200").fields(), noon.wall), noon.wall);
  EXPECT_EQ(date_of(WireResponse("200\nDate: foo").fields(), noon.wall), noon.wall);
  EXPECT_EQ(date_of(WireResponse("200\nDate: $-5\nDate: $-6").fields(), noon.wall), noon.wall);
}

struct LifeRow {
  char const* name;
  char const* response;
  std::int64_t lifetime;
  char kind;  // e: explicit, h: heuristic, -: neither
  void (*rules)(FreshnessRules&) = [](FreshnessRules&) {};
};
void PrintTo(LifeRow const& row, std::ostream* out) { *out << row.name; }

class LifetimeOf : public testing::TestWithParam<LifeRow> {};

TEST_P(LifetimeOf, Response) {  // FRS-1
  WireResponse const wire(GetParam().response);
  FreshnessRules rules;
  GetParam().rules(rules);
  auto const policy = policy_of(wire.fields(), wire.response.status, StorableRules());
  auto const lifetime = lifetime_from_origin(wire.fields(), wire.response.status, policy, rules, noon.wall);
  EXPECT_EQ(lifetime.value, std::chrono::seconds(GetParam().lifetime));
  EXPECT_EQ(lifetime.is_explicit, GetParam().kind == 'e');
  EXPECT_EQ(lifetime.heuristic, GetParam().kind == 'h');
}

constexpr auto default_ttl = [](FreshnessRules& rules) { rules.default_ttl = 7s; };

INSTANTIATE_TEST_SUITE_P(
    Explicit, LifetimeOf,
    testing::Values(
        LifeRow{"max-age", "200\nCache-Control: max-age=60", 60, 'e'},
        LifeRow{"s-maxage goes before max-age", "200\nCache-Control: max-age=60, s-maxage=30", 30, 'e'},
        LifeRow{"max-age goes before Expires", "200\nCache-Control: max-age=60\nDate: $+0\nExpires: $+30", 60, 'e'},
        LifeRow{"max-age clamps", "200\nCache-Control: max-age=99999999999", most, 'e'},
        LifeRow{"Expires less Date", "200\nDate: $-100\nExpires: $-40", 60, 'e'},
        LifeRow{"Expires before Date", "200\nDate: $+400\nExpires: $+300", 0, 'e'},
        LifeRow{"Expires without Date", "200\nExpires: $+30", 30, 'e'},
        LifeRow{"Expires with a broken Date", "200\nDate: foo\nExpires: $+30", 30, 'e'},
        LifeRow{"Expires: 0", "200\nExpires: 0", 0, 'e'},
        LifeRow{"Expires twice alike", "200\nExpires: $+30\nExpires: $+30", 30, 'e'},
        LifeRow{"Expires twice", "200\nExpires: $+30\nExpires: $+40", 0, 'e'},
        LifeRow{"Expires beyond all numbers", "200\nExpires: Fri, 31 Dec 9999 23:59:59 GMT", most, 'e'},
        LifeRow{"max-age twice alike", "200\nCache-Control: max-age=60\nCache-Control: max-age=60", 60, 'e'},
        LifeRow{"max-age twice", "200\nCache-Control: max-age=60, max-age=30", 0, 'e'},
        LifeRow{"max-age malformed", "200\nCache-Control: max-age=a\nExpires: $+30", 0, 'e'},
        LifeRow{"malformed hides s-maxage too", "200\nCache-Control: max-age=a, s-maxage=30", 0, 'e'},
        LifeRow{"targeted goes before all", "200\nCDN-Cache-Control: max-age=5\nCache-Control: s-maxage=60\nExpires: $+30",
                5, 'e'},
        LifeRow{"the first targeted", "200\nCDN-Cache-Control: max-age=5\nWeir-Cache-Control: max-age=4", 4, 'e'},
        LifeRow{"targeted without a lifetime hides Expires", "200\nCDN-Cache-Control: public\nExpires: $+30", 0, 'h'},
        LifeRow{"targeted that does not parse", "200\nCDN-Cache-Control: max-age=5, &&&\nCache-Control: max-age=60", 60,
                'e'},
        LifeRow{"quoted", "200\nCache-Control: max-age=\"60\"", 60, 'e'},
        LifeRow{"beside what nobody knows", "200\nCache-Control: max-age=60, community=\"UCI\", max-aging=5", 60, 'e'},
        LifeRow{"Pragma says nothing", "200\nPragma: no-cache\nExpires: $+30", 30, 'e'},
        LifeRow{"explicit in an error", "503\nCache-Control: max-age=60", 60, 'e'},
        LifeRow{"explicit in any status", "599\nCache-Control: max-age=60", 60, 'e'}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Guessed, LifetimeOf,
    testing::Values(LifeRow{"nothing", "200", 0, 'h'},
                    LifeRow{"a tenth", "200\nDate: $-100\nLast-Modified: $-1100", 100, 'h'},
                    LifeRow{"at most an hour", "200\nLast-Modified: $-360000", 3600, 'h'},
                    LifeRow{"at most what is set", "200\nLast-Modified: $-1000", 20, 'h',
                            [](FreshnessRules& rules) { rules.heuristic_max = 20s; }},
                    LifeRow{"another share", "200\nLast-Modified: $-1000", 500, 'h',
                            [](FreshnessRules& rules) { rules.heuristic_percent = 50; }},
                    LifeRow{"at most the whole", "200\nLast-Modified: $-1000", 1000, 'h',
                            [](FreshnessRules& rules) { rules.heuristic_percent = 200; }},
                    LifeRow{"modified twice", "200\nLast-Modified: $-1000\nLast-Modified: $-1000", 7, 'h', default_ttl},
                    LifeRow{"default", "200", 7, 'h', default_ttl},
                    LifeRow{"a guess goes before the default", "200\nLast-Modified: $-1000", 100, 'h', default_ttl},
                    LifeRow{"modified after Date: the default", "200\nLast-Modified: $+1000", 7, 'h', default_ttl},
                    LifeRow{"modified at no date", "200\nLast-Modified: x", 7, 'h', default_ttl},
                    LifeRow{"a status that permits no guess", "302\nLast-Modified: $-1000", 0, '-', default_ttl},
                    LifeRow{"public permits it", "302\nCache-Control: public\nLast-Modified: $-1000", 100, 'h'},
                    LifeRow{"but not of an error", "503\nCache-Control: public\nLast-Modified: $-1000", 0, '-', default_ttl},
                    LifeRow{"404", "404", 7, 'h', default_ttl}),
    row_name);

FreshnessRules jittered(std::uint32_t percent) {
  FreshnessRules rules;
  rules.jitter = percent;
  return rules;
}

TEST(Jitter, OnlyShortensAndOnlyTenSecondsOrMore) {  // FRS-2
  FreshnessRules const rules;
  EXPECT_EQ(with_jitter(9s, rules, 0.99), 9s);
  EXPECT_EQ(with_jitter(10s, rules, 0), 10s);
  EXPECT_EQ(with_jitter(10s, rules, 0.5), 9500ms);
  EXPECT_EQ(with_jitter(100s, rules, 2), 90s) << "no number lengthens it or shortens it by more";
  EXPECT_EQ(with_jitter(100s, rules, -1), 100s);
  EXPECT_EQ(with_jitter(100s, jittered(0), 0.99), 100s);
  EXPECT_EQ(with_jitter(100s, jittered(200), 1), 0s);
  EXPECT_EQ(with_jitter(100s, jittered(200), 0.5), 50s) << "as 100 percent";
}

struct WindowRow {
  char const* name;
  char const* response;
  int while_revalidate;
  int if_error;
};
void PrintTo(WindowRow const& row, std::ostream* out) { *out << row.name; }

class StaleWindowsOf : public testing::TestWithParam<WindowRow> {};

TEST_P(StaleWindowsOf, Response) {  // STL-1
  WireResponse const wire(GetParam().response);
  FreshnessRules rules;
  rules.default_stale_while_revalidate = 3s;
  rules.default_stale_if_error = 4s;
  auto const policy = policy_of(wire.fields(), wire.response.status, StorableRules());
  auto const windows = stale_windows(policy.directives, wire.response.status, rules);
  EXPECT_EQ(to_seconds(windows.while_revalidate), GetParam().while_revalidate);
  EXPECT_EQ(to_seconds(windows.if_error), GetParam().if_error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, StaleWindowsOf,
    testing::Values(
        WindowRow{"defaults", "200\nCache-Control: max-age=1", 3, 4},
        WindowRow{"explicit", "200\nCache-Control: stale-while-revalidate=10, stale-if-error=20", 10, 20},
        WindowRow{"explicit none", "200\nCache-Control: stale-while-revalidate=0, stale-if-error=0", 0, 0},
        WindowRow{"one explicit", "200\nCache-Control: stale-if-error=20", 3, 20},
        WindowRow{"no default beside s-maxage", "200\nCache-Control: s-maxage=1", 0, 0},
        WindowRow{"explicit beside s-maxage", "200\nCache-Control: s-maxage=1, stale-while-revalidate=10", 10, 0},
        WindowRow{"must-revalidate", "200\nCache-Control: must-revalidate, stale-while-revalidate=10, stale-if-error=20", 0,
                  0},
        WindowRow{"proxy-revalidate", "200\nCache-Control: proxy-revalidate, stale-if-error=20", 0, 0},
        WindowRow{"no-cache", "200\nCache-Control: no-cache, stale-if-error=20", 0, 0},
        WindowRow{"no-cache of a field forbids nothing", "200\nCache-Control: no-cache=\"a\"", 3, 4},
        WindowRow{"conflicting", "200\nCache-Control: max-age=x, stale-if-error=20", 0, 0},
        WindowRow{"an error is no answer to fall back on", "503\nCache-Control: max-age=1, stale-if-error=20", 0, 0}),
    row_name);

TEST(Bounds, KeepSettingsWithinADelta) {
  EXPECT_EQ(clamp_delta(-1s), 0s);
  EXPECT_EQ(clamp_delta(std::chrono::hours(24 * 365 * 200)), std::chrono::seconds(most));
}

}  // namespace
}  // namespace weir::cache::test
