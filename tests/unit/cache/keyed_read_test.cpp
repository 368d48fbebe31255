// COA-12: reads whose bodies are keyed: what is shared while it arrives, and what is kept after that.
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/storability.hpp"

namespace weir::cache::test {
namespace {

struct Row {
  char const* name;
  char const* response;
  base::Duration kept_for;
  NotStored reason;  // `unknown`: shared with those who asked at the same time
  // 'k' is kept after the flight, 'j' may be joined after its head, 'n' is not to be reused without validation.
  std::string_view traits = "";
  bool keeps_errors = false;
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

class KeyedRead : public testing::TestWithParam<Row> {};

TEST_P(KeyedRead, IsSharedAndKept) {
  Row const& row = GetParam();
  WireRequest const wire("POST /\nHost: a");
  WireResponse const response(row.response);
  Requester requester;
  requester.fields = wire.fields();
  requester.kept_for = row.kept_for;
  requester.keeps_errors = row.keeps_errors;
  FetchTimes const times{.request = after(-2s), .response = noon, .purge_number = 5, .began = 6};
  auto const s = storability(requester, response.response, times, {}, {}, {}, 0);
  EXPECT_EQ(label(s.reason), label(row.reason));
  std::string traits;
  if (s.store && s.keep) traits += 'k';
  if (s.fresh_on_arrival) traits += 'j';
  if (s.store && s.facts.no_cache) traits += 'n';
  EXPECT_EQ(traits, row.traits);
  if (!s.store) return;
  EXPECT_EQ(s.facts.lifetime - s.facts.initial_age,
            std::min<base::Duration>(row.kept_for, response.response.status < 500 ? 1h : 10s));
  EXPECT_EQ(label(s.facts.lifetime_source), "collapse.ttl");
  EXPECT_EQ(s.facts.stale_if_error, 0s);
  EXPECT_EQ(s.facts.stale_while_revalidate, 0s);
}

constexpr auto shared = NotStored::unknown;

INSTANTIATE_TEST_SUITE_P(
    Table, KeyedRead,
    testing::Values(Row{"nothing said", "200 OK", 0s, shared, "j"}, Row{"nothing said, kept", "200 OK", 100ms, shared, "kj"},
                    Row{"fresh", "200 OK\nCache-Control: max-age=60", 0s, shared, "j"},
                    Row{"fresh and old", "200 OK\nCache-Control: max-age=60\nAge: 30", 1s, shared, "kj"},
                    Row{"as old as its lifetime", "200 OK\nCache-Control: max-age=60\nAge: 58", 0s, shared, ""},
                    Row{"a second younger", "200 OK\nCache-Control: max-age=60\nAge: 57", 0s, shared, "j"},
                    Row{"kept for long", "200 OK", 60s, shared, "kj"},
                    Row{"stale on arrival", "200 OK\nCache-Control: max-age=0", 0s, shared, ""},
                    Row{"stale on arrival, kept", "200 OK\nCache-Control: max-age=0, stale-if-error=60", 1s, shared, "kj"},
                    Row{"no-cache", "200 OK\nCache-Control: no-cache", 0s, shared, "n"},
                    Row{"no-cache, kept", "200 OK\nCache-Control: no-cache", 1s, shared, "kj"},
                    Row{"private", "200 OK\nCache-Control: private, max-age=60", 1s, NotStored::private_},
                    Row{"no-store", "200 OK\nCache-Control: no-store", 1s, NotStored::no_store},
                    Row{"cookie", "200 OK\nSet-Cookie: a=b", 1s, NotStored::set_cookie},
                    Row{"created", "201 Created", 1s, shared, "kj"}, Row{"not found", "404 Not Found", 1s, shared, "j"},
                    Row{"not found, kept", "404 Not Found", 1s, shared, "kj", true},
                    Row{"a redirection is no error", "399 Odd", 1s, shared, "kj"},
                    Row{"the first error", "400 Bad Request", 1s, shared, "j"},
                    Row{"an error of the request", "403 Forbidden", 1s, shared, "j"},
                    Row{"one that is never stored", "429 Too Many Requests", 1s, shared, "j"},
                    Row{"unprocessable", "422 Unprocessable Content", 1s, shared, "j"},
                    Row{"origin error", "503 Service Unavailable", 1s, NotStored::no_freshness},
                    Row{"origin error, kept", "503 Service Unavailable", 1s, shared, "kj", true},
                    Row{"origin error, kept for long", "500 Internal Server Error", 60s, shared, "kj", true},
                    Row{"partial", "206 Partial Content", 1s, NotStored::partial}),
    [](auto const& info) {
      std::string name = info.param.name;
      for (char& c : name)
        if (!isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST(KeyedRead, KeepsNoCookie) {  // COA-12, STO-2
  WireResponse const response("200 OK\nSet-Cookie: a=b");
  Requester requester;
  requester.kept_for = 1s;
  StorableRules rules;
  rules.set_cookie = SetCookie::store;
  EXPECT_EQ(label(storability(requester, response.response, {}, {}, rules, {}, 0).reason), "set-cookie");
}

}  // namespace
}  // namespace weir::cache::test
