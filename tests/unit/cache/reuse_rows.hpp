// When a stored response may be reused, row by row (SRV-5, FRS-1, STL-1, STL-2, STL-3, COA-14, MODE-1): for the function
// that decides, and for a Weir that is asked what it would do and then does it.
#pragma once

#include <ostream>
#include <vector>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/reuse.hpp"

namespace weir::cache::test {

constexpr Overrule soft_at(base::Duration after_response) { return {Invalidation::soft, noon.steady + after_response}; }
constexpr Overrule invalid{Invalidation::invalid, noon.steady + 1s};
constexpr Overrule hard{Invalidation::hard, noon.steady + 1s};

// A response that arrived at noon with an age of 10 s and a lifetime of 100 s, so that it is fresh for 90 s: what its
// Cache-Control says, and what that makes of it.
struct Stored {
  char const* says;
  void (*change)(Facts&);
};
inline Facts facts_of(Stored const& stored) {
  Facts facts;
  facts.status = 200;
  facts.response_time = noon.steady;
  facts.initial_age = 10s;
  facts.lifetime = 100s;
  stored.change(facts);
  return facts;
}

inline constexpr Stored plain{"max-age=100", [](Facts&) {}};
inline constexpr Stored revalidating{"max-age=100, stale-while-revalidate=30",
                                     [](Facts& facts) { facts.stale_while_revalidate = 30s; }};
inline constexpr Stored erring{"max-age=100, stale-if-error=30", [](Facts& facts) { facts.stale_if_error = 30s; }};
inline constexpr Stored both{"max-age=100, stale-while-revalidate=30, stale-if-error=30",
                             [](Facts& facts) { facts.stale_while_revalidate = facts.stale_if_error = 30s; }};
inline constexpr Stored no_cache{"max-age=100, no-cache",
                                 [](Facts& facts) { facts.no_cache = facts.forbids_incident_stale = true; }};
inline constexpr Stored must_revalidate{"max-age=100, must-revalidate", [](Facts& facts) {
                                          facts.must_revalidate = facts.forbids_incident_stale = facts.authorized = true;
                                        }};
inline constexpr Stored s_maxage{"s-maxage=100, stale-while-revalidate=30", [](Facts& facts) {
                                   facts.must_revalidate = facts.authorized = facts.shared_explicitly = true;
                                   facts.stale_while_revalidate = 30s;  // explicit beside s-maxage: counts
                                 }};
inline constexpr Stored immutable{"max-age=100, immutable", [](Facts& facts) { facts.immutable = true; }};
inline constexpr Stored never_fresh{"max-age=0", [](Facts& facts) { facts.lifetime = facts.initial_age = 0s; }};

struct Row {
  char const* name;
  Stored facts;
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
inline void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

// In groups, each with a name.
struct Rows {
  char const* name;
  std::vector<Row> rows;
};
inline std::vector<Rows> const& reuse_rows() {
  using enum Verdict;
  using R = ReuseReason;
  static std::vector<Rows> const groups{
      {"Freshness",
       {Row{"fresh", plain, {}, 0s, "", fresh, R::fresh, 10, 90},
        Row{"fresh to the last", plain, {}, 89s, "", fresh, R::fresh, 99, 1},
        Row{"expires at its lifetime", plain, {}, 90s, "", must_validate, R::expired, 100, 0},
        Row{"expired", plain, {}, 95s, "", must_validate, R::expired, 105, -5},
        Row{"a clock read before the response came", plain, {}, -5s, "", fresh, R::fresh, 10, 90},
        Row{"never fresh", never_fresh, {}, 0s, "", must_validate, R::expired, 0, 0},
        Row{"no-cache", no_cache, {}, 0s, "", must_validate, R::no_cache, 10, 90, false, false},
        Row{"must-revalidate while fresh", must_revalidate, {}, 0s, "", fresh, R::fresh, 10, 90, false, false},
        Row{"must-revalidate when stale", must_revalidate, {}, 91s, "", must_validate, R::expired, 101, -1, false, false}}},
      {"StaleWindows",
       {Row{"while revalidate", revalidating, {}, 90s, "", stale_while_revalidate, R::within_stale_while_revalidate, 100, 0},
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
            -10}}},
      {"Overruled",
       {Row{"hard", both, hard, 2s, "", unusable, R::purged, 12, 88, false, false},
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
            R::request_max_stale, 35, -5}}},
      {"Askers",
       {Row{"authorization", plain, {}, 0s, "Authorization: x", unusable, R::authorization, 10, 90, false, false},
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
        Row{"only-if-cached", plain, {}, 0s, "Cache-Control: only-if-cached", fresh, R::fresh, 10, 90}}},
      {"RequestDirectives",
       {Row{"no-cache", erring, {}, 0s, "Cache-Control: no-cache", must_validate, R::request_no_cache, 10, 90, true},
        Row{"no-cache without a window",
            plain,
            {},
            0s,
            "Cache-Control: no-cache",
            must_validate,
            R::request_no_cache,
            10,
            90},
        Row{"If-Match is the origin's",
            plain,
            {},
            0s,
            "If-Match: *",
            must_validate,
            R::request_no_cache,
            10,
            90,
            false,
            true,
            false},
        Row{"If-Unmodified-Since is, whatever it says",
            plain,
            {},
            0s,
            "If-Unmodified-Since: never\nCache-Control: max-age=99",
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
            false}}},
  };
  return groups;
}

inline std::vector<Row> const& rows_of(std::string_view group) {
  for (auto const& rows : reuse_rows())
    if (rows.name == group) return rows.rows;
  static std::vector<Row> const none;
  return none;
}

}  // namespace weir::cache::test
