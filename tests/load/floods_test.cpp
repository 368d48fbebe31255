// Clients that ask for ever new things: fields, keys, variants, cookies, purges. What remembers them has a bound, and
// ordinary clients beside them get their hits.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "load/stage.hpp"
#include "support/client.hpp"
#include "support/deadline.hpp"

namespace weir::load {
namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;

// Any whole answer will do: what counts is what it costs.
std::string whole(Answered const&) { return {}; }

Crowd::Plan flood_of(std::size_t clients, std::function<Ask(std::uint64_t, Random&)> ask) {
  Crowd::Plan plan;
  plan.clients = clients;
  plan.next = [ask = std::move(ask), number = std::uint64_t{0}](Random& random) mutable { return ask(++number, random); };
  plan.judge = whole;
  return plan;
}

struct Huge {
  std::string bytes;
  int status;
  std::string reason;
};

std::vector<Huge> huge_requests() {
  std::string const start = "GET / HTTP/1.1\r\nHost: weir.test\r\n";
  std::string many = start;
  for (int i = 0; i < 100; ++i) many += "X-" + std::to_string(i) + ": a\r\n";
  return {{start + "X: " + std::string(20'000, 'a') + "\r\n\r\n", 431, "fields-too-large"},
          {start + std::string(200'000, 'a'), 431, "fields-too-large"},
          {many + "\r\n", 431, "too-many-fields"},
          {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: weir.test\r\n\r\n", 414, "target-too-long"},
          {"POST / HTTP/1.1\r\nHost: weir.test\r\nContent-Length: 67108865\r\n\r\n", 413, "body-too-large"}};
}

// REQ-1, REQ-3: refused before anything grows with it.
TEST(Flood, HugeRequests) {
  Attack attack(
      "huge heads", [](Request const&) { return Reply{}; }, "");
  std::uint64_t rounds = 0;
  for (test::Deadline const end(load_time()); rounds < 20 || !end.passed(); ++rounds) {
    for (auto const& [bytes, status, reason] : huge_requests()) {
      test::Client client(attack.weir().port());
      client.send(bytes);
      EXPECT_EQ(client.read().status, status) << reason;
    }
  }
  auto const all = attack.weir().metrics();
  for (auto const& reason : {"too-many-fields", "target-too-long", "body-too-large"})
    EXPECT_EQ(all.find("weir_key_rejections_total{reason=\"" + std::string(reason) + "\"}")->second, rounds) << reason;
  EXPECT_EQ(all.find("weir_key_rejections_total{reason=\"fields-too-large\"}")->second, 2 * rounds);
  EXPECT_EQ(attack.origin().calls(), 0U);
  attack.end("`limits.header_bytes`, `.header_count`, `.target_bytes`, `.body_bytes` as shipped", {});
}

// MEM-1: paths that nobody asked for before fill the store to its bound, and drive out nothing that is asked for again.
TEST(Flood, RandomPaths) {
  auto const page = [](Request const&) { return Reply{.fields = cached_for("3600"), .size = 32 * 1024}; };
  Attack attack("random paths", page, "store: {max_bytes: 16MiB}\n");
  auto const& weir = attack.weir();
  Crowd flood(weir.port(), flood_of(32, [](std::uint64_t, Random& random) {
                return Ask{"/" + std::to_string(random()) + "/" + std::to_string(random() % 10)};
              }));
  double most = 0;
  EXPECT_TRUE(test::eventually([&] {
    most = std::max(most, weir.metric("weir_store_bytes"));
    return weir.metric("weir_evictions_total{queue=\"small\"}") > 500;
  }));
  for (test::Deadline const end(load_time()); !end.passed(); go_on(Milliseconds(50)))
    most = std::max(most, weir.metric("weir_store_bytes"));
  EXPECT_EQ(flood.stop().lost, 0U);
  EXPECT_LE(most, 16 * mebibyte + 32 * 33 * 1024);  // and what is under way for each client
  EXPECT_GT(most, 14 * mebibyte);
  attack.end("`store.max_bytes` 16 MiB", {.bytes = 16 * mebibyte * 5 / 4});
}

// KEY-6: a key has its variants, and a Vary its names.
TEST(Flood, Variants) {
  auto const page = [](Request const& request) {
    auto fields = cached_for("3600");
    bool const many = request.target.starts_with("/many/");
    fields.push_back({"Vary", many ? "X-1, X-2, X-3, X-4, X-5, X-6, X-7, X-8, X-9" : "X-Kind"});
    return Reply{.fields = fields};
  };
  Attack attack("variants", page, "");
  auto const& weir = attack.weir();
  Crowd flood(weir.port(), flood_of(16, [](std::uint64_t number, Random&) {
                return Ask{number % 4 == 0 ? "/many/" + std::to_string(number) : "/one",
                           "GET",
                           {{"X-Kind", std::to_string(number)}}};
              }));
  EXPECT_TRUE(test::eventually([&] { return flood.answers() > 500; }));
  double most = 0;
  for (test::Deadline const end(load_time()); !end.passed(); go_on(Milliseconds(50)))
    most = std::max(most, weir.metric("weir_store_entries"));
  EXPECT_EQ(flood.stop().lost, 0U);
  EXPECT_EQ(most, Ordinary::pages + 8);
  EXPECT_GT(weir.metric("weir_not_stored_total{reason=\"vary-fields\"}"), 100);
  attack.end("`key.max_variants` 8, `key.max_vary_headers` 8", {});
}

// FWD-3, COA-8, LIM-1: who has a cookie fetches alone and stores nothing; the names are kept in a table of 64.
TEST(Flood, Cookies) {
  auto const page = [](Request const&) { return Reply{.fields = cached_for("3600"), .delay = Milliseconds(2)}; };
  Attack attack("cookies", page, "limiter: {max_concurrent: 16}\n");
  auto const& weir = attack.weir();
  Crowd flood(weir.port(), flood_of(64, [](std::uint64_t number, Random& random) {
                std::string cookies = "s" + std::to_string(number) + "=1";
                for (int i = 0; i < 200; ++i)
                  cookies += "; c" + std::to_string(random() % 100'000) + "=" + std::to_string(i);
                return Ask{"/account/" + std::to_string(number % 50), "GET", {{"Cookie", cookies}}};
              }));
  EXPECT_TRUE(test::eventually([&] { return flood.answers() > 300; }));
  go_on(load_time());
  EXPECT_EQ(flood.stop().lost, 0U);
  EXPECT_LE(attack.origin().most_at_once(), 16U);
  EXPECT_EQ(attack.origin().calls("account"), flood.stop().statuses.at(200));
  EXPECT_EQ(weir.metric("weir_store_entries"), Ordinary::pages);
  std::size_t names = 0;
  auto const stats = weir.stats();
  for (auto at = stats.find("\"name\":\""); at != std::string::npos; at = stats.find("\"name\":\"", at + 1)) ++names;
  EXPECT_LE(names, 64U + 1);  // and the origin's
  attack.end("`limiter.max_concurrent` 16, names of cookies 64", {});
}

// PRG-2, SRV-6, PRG-3: purges by ever new tags fold into a floor, which costs each page a fetch now and then; writes to what
// is not stored and the method PURGE leave nothing.
TEST(Flood, Purges) {
  auto const page = [](Request const&) { return Reply{.fields = {{"Cache-Control", "no-store"}}, .size = 200}; };
  Attack attack("purges and writes", page, "purge: {max_epochs: 500}\n");
  auto const& weir = attack.weir();
  Crowd writes(weir.port(), flood_of(8, [](std::uint64_t number, Random&) {
                 return Ask{"/written/" + std::to_string(number), number % 2 == 0 ? "DELETE" : "PURGE"};
               }));
  std::uint64_t purges = 0;
  for (test::Deadline const end(load_time()); purges < 2000 || !end.passed(); purges += 100) {
    std::string tags;
    for (std::uint64_t i = 0; i < 100; ++i) tags += (i == 0 ? "\"tag-" : ",\"tag-") + std::to_string(purges + i) + "\"";
    ASSERT_EQ(weir.admin("POST", "/v1/purge", R"({"tags":[)" + tags + "]}").status, 200);
    go_on(Milliseconds(10));
  }
  auto const& tally = writes.stop();
  EXPECT_EQ(tally.lost, 0U);
  EXPECT_EQ(tally.statuses.count(405), 1U);
  EXPECT_EQ(tally.statuses.at(200), attack.origin().calls("written"));
  EXPECT_EQ(weir.metric("weir_store_entries"), Ordinary::pages);
  // A page that was fetched at one purge is overruled by the floor 500 purges later, a hundred of which come with one call.
  attack.end("`purge.max_epochs` 500", {.refetches = Ordinary::pages * (1 + purges / 400)});
}

// REQ-3: a connection may be used so often.
TEST(Flood, RequestsOfAConnection) {
  Attack attack(
      "requests of one connection", [](Request const&) { return Reply{}; }, "limits: {requests_per_connection: 10}\n");
  for (int i = 0; i < 50; ++i) {
    test::Client client(attack.weir().port());
    for (int n = 1; n <= 10; ++n) EXPECT_EQ(client.get(Ordinary::page(1)).value("Connection"), n < 10 ? "" : "close");
    EXPECT_TRUE(client.waits_until_closed());
  }
  attack.end("`limits.requests_per_connection` 10", {});
}

}  // namespace
}  // namespace weir::load
