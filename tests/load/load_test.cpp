// Weir as shipped under load: each load has thresholds that hold however slow the machine, and a line of the table for
// people.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>

#include "load/stage.hpp"
#include "support/client.hpp"
#include "support/deadline.hpp"
#include "support/valkey.hpp"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

std::string key(std::string_view part, std::uint64_t number) {
  return "/" + std::string(part) + "/" + std::to_string(number);
}

// A crowd that asks for one of `keys` keys under `part`.
Crowd::Plan plan_for(std::string part, std::uint64_t keys, std::size_t clients, base::Duration oldest) {
  Crowd::Plan plan;
  plan.clients = clients;
  plan.next = [part = std::move(part), keys](Random& random) { return Ask{key(part, random() % keys)}; };
  plan.judge = [oldest](Answered const& answered) { return judge_body(answered, oldest); };
  return plan;
}

void warm(Daemon const& weir, Origin& origin, std::string_view part, std::uint64_t keys) {
  test::Client client(weir.port());
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_EQ(client.get(key(part, i)).status, 200);
  ASSERT_TRUE(weir.settles());
  origin.forget();
  weir.forget_peak();
}

// Of a lifetime of `ttl` seconds (under 10, so without jitter): an early refresh may come after three quarters of it.
std::uint64_t most_fetches(std::uint64_t keys, double ttl, base::Duration time) {
  return keys * (2 + static_cast<std::uint64_t>(std::chrono::duration<double>(time).count() / (0.75 * ttl)));
}

// What is stored is asked for in every way that a stored answer serves: whole, its head, a range, by condition.
Ask any_way(Random& random) {
  auto const target = key("steady", random() % 200);
  switch (random() % 8) {
    case 0:
      return {target, "HEAD"};
    case 1:
      return {target, "GET", {{"Range", "bytes=0-99"}}};
    case 2:
      return {key("same", random() % 200), "GET", {{"If-None-Match", "\"constant\""}}};
    default:
      return {target};
  }
}

std::string judge_any_way(Answered const& answered) {
  auto const& [ask, response, sent] = answered;
  if (!response.value("Cache-Status").starts_with("Weir; hit")) return "not a hit";
  if (ask.method == "HEAD")
    return response.status == 200 && response.value("Content-Length") == "1024" ? "" : "a wrong head";
  if (ask.fields.empty()) return judge_body(answered, 1h);
  if (ask.fields.front().name == "If-None-Match") return response.status == 304 ? "" : "not answered with 304";
  bool const cut = response.status == 206 && response.value("Content-Range") == "bytes 0-99/1024";
  return cut && response.body.size() == 100 && response.body.starts_with(ask.target) ? "" : "a wrong range";
}

// SRV-1, SRV-3, SRV-4, MEM-1: the origin hears nothing of it, and nothing grows.
TEST(Load, SteadyHits) {
  Origin origin([](Request const& request) {
    return Reply{.fields = cached_for("3600"), .constant = request.target.starts_with("/same/")};
  });
  Daemon weir(origin.port(), "");
  warm(weir, origin, "steady", 200);
  warm(weir, origin, "same", 200);
  Crowd::Plan plan{.clients = 64, .next = any_way, .judge = judge_any_way};
  Crowd crowd(weir.port(), plan);
  ASSERT_TRUE(test::eventually([&] { return crowd.answers() > 2000; }));
  auto const before = weir.usage();
  go_on(load_time());
  auto const after = weir.usage();
  expect_good(crowd.stop());
  EXPECT_EQ(origin.calls(), 0U);
  expect_memory(before, after);
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_TRUE(weir.settles());
  report("steady hits", crowd.stop(), origin.calls(), before, after);
}

// COA-1, FRS-1, LIM-1: two hundred keys expire at one moment, again and again: one fetch each, one at a time.
TEST(Load, SynchronisedExpiry) {
  Origin origin([](Request const&) { return Reply{.fields = cached_for("1"), .delay = Milliseconds(20)}; });
  Daemon weir(origin.port(), "limiter: {max_concurrent: 32, max_queue_wait: 60s}\n");
  auto const began = Clock::now();
  Crowd crowd(weir.port(), plan_for("expiring", 200, 128, 1s));
  ASSERT_TRUE(test::eventually([&] { return crowd.answers() > 1000; }));
  auto const before = weir.usage();
  go_on(load_time());
  auto const after = weir.usage();
  expect_good(crowd.stop());
  EXPECT_LE(origin.calls(), most_fetches(200, 1, Clock::now() - began));
  EXPECT_EQ(origin.most_at_once_of_one(), 1U);
  EXPECT_LE(origin.most_at_once(), 32U);
  expect_memory(before, after);
  EXPECT_TRUE(weir.settles());
  expect_no_problems(origin);
  report("synchronised expiry", crowd.stop(), origin.calls(), before, after);
}

// LIM-1, LIM-2, MEM-1: URLs that nobody asked for before, as fast as they can; who wants something else gets it.
TEST(Load, BustingFloodBesideNormal) {
  Origin origin([](Request const& request) {
    auto reply = request.target.starts_with("/hot/") ? Ordinary::reply() : Reply{.fields = cached_for("600"), .size = 8192};
    if (!request.target.starts_with("/hot/")) reply.delay = Milliseconds(20);
    return reply;
  });
  Daemon weir(origin.port(), "store: {max_bytes: 32MiB}\nlimiter: {max_concurrent: 32, max_queue_wait: 60s}\n");
  Ordinary ordinary(weir, origin);
  auto const before = weir.usage();
  weir.forget_peak();
  std::atomic<std::uint64_t> number{0};
  auto flood_plan = plan_for("", 1, 64, 600s);
  flood_plan.next = [&number](Random&) { return Ask{"/search?q=" + std::to_string(++number)}; };
  Crowd flood(weir.port(), flood_plan);
  auto cold_plan = plan_for("", 1, 4, 600s);
  cold_plan.next = [&number](Random&) { return Ask{key("cold", ++number)}; };
  Crowd cold(weir.port(), cold_plan);
  go_on(load_time());
  auto const after = weir.usage();
  expect_good(flood.stop());
  expect_good(cold.stop());
  auto const& hits = ordinary.stop();
  EXPECT_EQ(origin.calls("hot"), 0U);
  EXPECT_GT(cold.stop().answers, 0U);
  EXPECT_EQ(origin.calls("search"), flood.stop().answers);
  EXPECT_LE(origin.most_at_once(), 32U);
  EXPECT_LE(weir.metric("weir_store_bytes"), 32 << 20);
  expect_memory(before, after, (32 << 20) * 5 / 4);
  EXPECT_TRUE(weir.settles());
  expect_no_problems(origin);
  report("busting flood", flood.stop(), origin.calls("search"), before, after);
  report("beside it: normal hits", hits, origin.calls("hot"), before, after);
  report("beside it: normal misses", cold.stop(), origin.calls("cold"), before, after);
}

enum class Mood { good, slow, failing, breaking, hanging };

Reply reply_in(Mood mood) {
  Reply reply{.fields = {{"Cache-Control", "max-age=1, stale-if-error=600"}}};
  if (mood == Mood::slow) reply.delay = Milliseconds(150);
  if (mood == Mood::failing) reply.status = 503;
  if (mood == Mood::breaking) reply.ends = Reply::Ends::broken;
  if (mood == Mood::hanging) reply.ends = Reply::Ends::never;
  return reply;
}

// STL-2, CB-1, COA-5, COA-10, REL-1: slow, failing, breaking off, hanging, dead, and well again: what was stored is
// answered.
TEST(Load, Brownout) {
  std::atomic<Mood> mood{Mood::good};
  Origin origin([&mood](Request const&) { return reply_in(mood); });
  Daemon weir(origin.port(),
              "timeouts: {origin: 500ms, connect: 500ms}\ncoalesce: {follower_max_wait: 300ms, leader_max_age: 300ms}\n"
              "breaker: {open: 200ms, open_max: 500ms, window: 1s}\nlimiter: {max_queue_wait: 500ms}\n");
  warm(weir, origin, "page", 40);
  auto const before = weir.usage();
  Crowd crowd(weir.port(), plan_for("page", 40, 32, 601s));
  for (auto const next : {Mood::slow, Mood::failing, Mood::breaking, Mood::hanging}) {
    mood = next;
    auto const calls = origin.calls();
    auto const opened = Clock::now();
    go_on(load_time(0.15) + Milliseconds(500));
    auto const seconds = std::chrono::duration<double>(Clock::now() - opened).count();
    // Those that were under way, those that open the breaker (twice, as a window ends), and the probes, at least 160 ms
    // apart.
    auto const most = next == Mood::slow ? 40 * (2 + seconds / 0.75) : 64 + 2 * 40 + seconds / 0.16;
    EXPECT_LE(static_cast<double>(origin.calls() - calls), most);
  }
  origin.listen(false);
  go_on(load_time(0.15) + Milliseconds(500));
  mood = Mood::good;
  origin.listen(true);
  auto const well = Clock::now();
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto const fresh = [&] {
      auto const made = read_stamp(test::get(weir.port(), key("page", i)).body, key("page", i));
      return made && *made >= well;
    };
    EXPECT_TRUE(test::eventually(fresh)) << i;
  }
  auto const after = weir.usage();
  expect_good(crowd.stop());
  EXPECT_GE(weir.metric("weir_breaker_transitions_total{to=\"open\"}"), 1);
  EXPECT_TRUE(test::eventually([&] { return weir.metric("weir_breaker_state") == 0; }));
  EXPECT_GE(weir.metric("weir_stale_served_total{reason=\"breaker-open\"}"), 1);
  expect_memory(before, after);
  EXPECT_TRUE(weir.settles());
  report("brownout", crowd.stop(), origin.calls(), before, after);
}

// VAL-2, VAL-3: the store hangs, comes back, dies, comes back empty, refuses to write; nobody notices but the counters.
TEST(Load, StoreFlapping) {
  test::ValkeyServer server;
  Origin origin([](Request const&) { return Reply{.fields = cached_for("2"), .delay = Milliseconds(5)}; });
  auto const store = "store: {type: valkey, address: \"" + server.address() + "\", near: {ttl: 100ms}}\n";
  Daemon weir(origin.port(), store + "limiter: {max_queue_wait: 60s}\n");
  auto const began = Clock::now();
  Crowd crowd(weir.port(), plan_for("shared", 100, 32, 2s));
  ASSERT_TRUE(test::eventually([&] { return crowd.answers() > 1000; }));
  auto const before = weir.usage();
  for (test::Deadline const end(load_time()); !end.passed();) {
    server.pause();
    go_on(Milliseconds(300));
    server.resume();
    go_on(Milliseconds(200));
    server.kill();
    go_on(Milliseconds(300));
    server.start();
    server.cli({"REPLICAOF", "127.0.0.1", "1"});
    go_on(Milliseconds(200));
    server.cli({"REPLICAOF", "NO", "ONE"});
    go_on(Milliseconds(300));
  }
  auto const after = weir.usage();
  expect_good(crowd.stop());
  EXPECT_LE(origin.calls(), most_fetches(100, 2, Clock::now() - began));
  EXPECT_EQ(origin.most_at_once_of_one(), 1U);
  EXPECT_GT(weir.metric("weir_store_errors_total{op=\"get\"}"), 0);
  expect_memory(before, after);
  EXPECT_LE(after.descriptors, before.descriptors + 64);
  EXPECT_TRUE(weir.settles());
  auto const closed_again = [&] {  // a question is what closes it
    test::get(weir.port(), key("shared", 0));
    return weir.metric("weir_store_guard_state") == 0;
  };
  EXPECT_TRUE(test::eventually(closed_again, Milliseconds(60'000)));
  report("store flapping", crowd.stop(), origin.calls(), before, after);
}

constexpr std::uint64_t purged_keys = 100, groups = 10;

// Since when each key holds nothing older. A client reads it before it asks.
using Purged = std::array<std::atomic<std::int64_t>, purged_keys>;

// Purges something, and returns when it is done: a URL, a group of ten, the prefix, in turn, softly and hard.
void purge(Daemon const& weir, Purged& purged, std::uint64_t turn) {
  auto const now = Clock::now().time_since_epoch().count();
  auto const number = turn % purged_keys;
  std::string what = R"("urls":["http://weir.test)" + key("purged", number) + "\"]";
  if (turn % 10 == 8) what = R"("tags":["group-)" + std::to_string(number % groups) + "\"]";
  if (turn % 10 == 9) what = R"("prefixes":["http://weir.test/purged/"])";
  auto const answer =
      weir.admin("POST", "/v1/purge", "{" + what + ",\"mode\":\"" + (turn % 2 == 0 ? "soft" : "hard") + "\"}");
  ASSERT_EQ(answer.status, 200) << answer.body;
  for (std::uint64_t i = 0; i < purged_keys; ++i)
    if (turn % 10 == 9 || (turn % 10 == 8 ? i % groups == number % groups : i == number)) purged[i] = now;
}

// PRG-1, COA-14, LCY-2: whoever asks after a purge gets what was made after it; no reload drops a connection or an answer.
TEST(Load, ReloadAndPurge) {
  Origin origin([](Request const& request) {
    auto fields = cached_for("600");
    auto const number = std::strtoull(request.target.substr(request.target.rfind('/') + 1).c_str(), nullptr, 10);
    fields.push_back({"Surrogate-Key", "group-" + std::to_string(number % groups)});
    return Reply{.fields = fields, .delay = Milliseconds(5)};
  });
  Daemon weir(origin.port(), "limiter: {max_queue_wait: 60s}\n");
  warm(weir, origin, "purged", purged_keys);
  Purged purged{};
  auto plan = plan_for("", 1, 64, 600s);
  plan.next = [&purged](Random& random) {
    auto const number = random() % purged_keys;
    Ask ask{key("purged", number)};
    ask.not_before = SteadyTime(base::Duration(purged[number]));
    return ask;
  };
  Crowd crowd(weir.port(), plan);
  auto const before = weir.usage();
  std::uint64_t turns = 0, reloads = 0, refused = 0;
  for (test::Deadline const end(load_time()); !end.passed(); ++turns) {
    purge(weir, purged, turns);
    if (turns % 10 == 0) {
      ++reloads;
      auto const setting = turns % 20 == 0 ? "32" : "64";
      EXPECT_EQ(weir.reload("limiter: {max_queue_wait: 60s, max_concurrent: " + std::string(setting) + "}\n"), 200);
    } else if (turns % 10 == 5) {
      ++refused;
      EXPECT_EQ(weir.reload("limiter: {max_concurrent: many}\n"), 422);
    }
    go_on(Milliseconds(5));
  }
  auto const after = weir.usage();
  auto const& tally = crowd.stop();
  expect_good(tally);
  EXPECT_EQ(tally.closed, 0U);
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"ok\"}"), static_cast<double>(reloads));
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"bad\"}"), static_cast<double>(refused));
  EXPECT_LE(origin.calls(), turns * 8 / 10 + turns / 10 * groups + turns / 10 * purged_keys + 2 * purged_keys);
  expect_memory(before, after);
  EXPECT_TRUE(weir.settles());
  expect_no_problems(origin);
  report("reload and purge (" + std::to_string(reloads + refused) + ", " + std::to_string(turns) + ")", tally,
         origin.calls(), before, after);
}

}  // namespace
}  // namespace weir::load
