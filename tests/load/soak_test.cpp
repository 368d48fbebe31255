// Everything at once, for as long as it may last: two daemons, one with memory alone and one with a store that flaps, before
// an origin that has its moods, under reloads, purges, floods, uploads, and clients that leave. What may not grow is
// sampled.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "load/stage.hpp"
#include "support/client.hpp"
#include "support/deadline.hpp"
#include "support/valkey.hpp"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t keys = 100;
// Growth is judged where there is time for a warm-up: caches, pools and tables that have a bound are full then.
constexpr double least_for_growth = 120;

struct Weather {
  enum class Mood { good, slow, failing, hanging };
  std::atomic<Mood> mood{Mood::good};
  std::atomic<std::uint64_t> number{0};  // of what nobody asked for before
  std::array<std::atomic<std::int64_t>, keys> purged{};
};

std::string part_of(std::string const& target) { return target.substr(1, target.find_first_of("/?", 1) - 1); }

Reply answer(Weather const& weather, Request const& request) {
  auto const part = part_of(request.target);
  auto const mood = weather.mood.load();
  Reply reply{.fields = cached_for("86400")};  // longer than any soak: what is steady never has to be fetched in bad weather
  if (part == "steady") return reply;
  if (part == "same") return {.fields = cached_for("1"), .constant = true};
  if (part == "expiring") reply.fields = cached_for("1");
  if (part == "page") reply.fields = {{"Cache-Control", "max-age=1, stale-if-error=600"}};
  if (part == "private") reply.fields = {{"Cache-Control", "private"}, {"Set-Cookie", "a=b"}};
  if (part == "upload") reply.fields = {{"Cache-Control", "no-store"}};
  if (part == "vary") reply.fields.push_back({"Vary", "X-Kind"});
  if (part == "search") reply.size = 8192;
  if (part == "big") reply.size = std::size_t{1} << 20;
  if (mood == Weather::Mood::slow) reply.delay = Milliseconds(100);
  if (mood == Weather::Mood::failing) reply.status = 503;
  if (mood == Weather::Mood::hanging) reply.ends = Reply::Ends::never;
  return reply;
}

// What is stored for long, or may be served stale, is answered whatever the weather; the rest may be refused. With a store
// that comes back empty, anything may, as what only that had is gone.
std::string judge(Answered const& answered, bool keeps) {
  auto const part = part_of(answered.ask.target);
  auto const status = answered.response.status;
  bool const may_be_refused = !keeps || (part != "steady" && part != "page");
  if (may_be_refused && (status == 502 || status == 503 || status == 504)) return {};
  if (answered.ask.method == "HEAD") return status == 200 ? "" : "a wrong head";
  if (part == "page") return judge_body(answered, 601s);
  if (part == "same") return status == 200 || status == 304 ? "" : "neither 200 nor 304";
  return judge_body(answered, part == "expiring" ? base::Duration(1s) : base::Duration(24h));
}

std::string numbered(std::string_view part, std::uint64_t number) {
  return "/" + std::string(part) + "/" + std::to_string(number);
}

Ask next(Weather& weather, std::size_t kind, Random& random) {
  auto const number = random() % keys;
  switch (kind) {
    case 0:
      return {numbered("steady", number), random() % 4 == 0 ? "HEAD" : "GET"};
    case 1:
      return {numbered("expiring", number)};
    case 2:
      return {numbered("page", number)};
    case 3:
      return {"/search?q=" + std::to_string(++weather.number)};
    case 4:
      return {numbered("private", number), "GET", {{"Cookie", "session=" + std::to_string(random())}}};
    case 5:
      return {numbered("upload", number), "POST", {}, std::string(20'000, 'u')};
    case 6:
      return {numbered("vary", number % 5), "GET", {{"X-Kind", std::to_string(random() % 1000)}}};
    case 7:
      return {numbered("same", number), "GET", {{"If-None-Match", random() % 2 == 0 ? "\"constant\"" : "\"other\""}}};
    default: {
      Ask ask{numbered("purged", number)};
      ask.not_before = SteadyTime(base::Duration(weather.purged[number]));
      return ask;
    }
  }
}
constexpr std::size_t kinds = 9;

struct Sample {
  double resident = 0, descriptors = 0, flights = 0, waiters = 0, inflight = 0, entries = 0;
};

class Soaked {
 public:
  Soaked(std::string name, std::uint16_t origin_port, std::string settings, Weather& weather, bool keeps)
      : name_(std::move(name)), settings_(std::move(settings)), weir_(origin_port, settings_ + reloaded(0)) {
    test::Client client(weir_.port());
    for (std::uint64_t i = 0; i < keys; ++i) {
      EXPECT_EQ(client.get(numbered("steady", i)).status, 200);
      EXPECT_EQ(client.get(numbered("page", i)).status, 200);
    }
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      Crowd::Plan plan;
      plan.clients = 6;
      plan.pause = Milliseconds(20);
      plan.judge = [keeps](Answered const& answered) { return judge(answered, keeps); };
      plan.seed = kind + 1;
      plan.next = [&weather, kind](Random& random) { return next(weather, kind, random); };
      crowds_.push_back(std::make_unique<Crowd>(weir_.port(), plan));
    }
    began_ = weir_.usage();
  }

  Daemon& weir() noexcept { return weir_; }

  void reload(std::uint64_t turn) {
    EXPECT_EQ(weir_.reload(settings_ + reloaded(turn)), 200);
    if (turn % 3 != 0) return;
    EXPECT_EQ(weir_.reload(settings_ + "limits: {body_bytes: much}\n"), 422);
  }

  // In the middle of a head, of a body's first bytes, with nonsense.
  void come_and_leave(std::uint64_t turn) const {
    test::Client(weir_.port()).send("GET / HTTP/1.1\r\nHost: weir");
    test::Client leaver(weir_.port());
    leaver.send_request("GET", numbered("big", turn % 7));
    leaver.reset();
    test::Client nonsense(weir_.port());
    nonsense.send("GET / HTTP/1.1\r\nHost: weir.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(nonsense.read().status, 400);
  }

  void sample() {
    auto const usage = weir_.usage();
    auto const all = weir_.metrics();
    auto const value = [&](std::string_view name) { return all.find(name) == all.end() ? -1 : all.find(name)->second; };
    Sample sample{static_cast<double>(usage.resident), static_cast<double>(usage.descriptors), value("weir_flights")};
    auto const rows = weir_.admin("GET", "/v1/flights?limit=1000").body;
    constexpr std::string_view label = "\"waiters\":";
    for (auto at = rows.find(label); at != std::string::npos; at = rows.find(label, at + 1))
      sample.waiters += std::strtod(rows.c_str() + at + label.size(), nullptr);
    sample.inflight = value("weir_origin_inflight");
    sample.entries = value("weir_store_entries");
    std::printf("| %s, %zu | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", name_.c_str(), samples_.size(),
                sample.resident / (1 << 20), sample.descriptors, sample.flights, sample.waiters, sample.inflight,
                sample.entries);
    std::fflush(stdout);
    samples_.push_back(sample);
  }

  void end(std::uint64_t origin_calls) {
    Tally all;
    for (auto& crowd : crowds_) {
      auto const& tally = crowd->stop();
      expect_good(tally);
      all.answers += tally.answers;
      all.wrong += tally.wrong;
      all.lost += tally.lost;
      for (auto const& [status, count] : tally.statuses) all.statuses[status] += count;
    }
    all.latencies = crowds_.front()->stop().latencies;  // of hits
    EXPECT_TRUE(weir_.settles());
    EXPECT_TRUE(test::eventually([&] { return weir_.metric("weir_client_connections") == 0; }));
    if (load_seconds() >= least_for_growth) expect_no_growth();
    report("soak, " + name_, all, origin_calls, began_, weir_.usage());
    weir_.stop();
  }

 private:
  static std::string reloaded(std::uint64_t turn) {
    return "limiter: {max_concurrent: " + std::string(turn % 2 == 0 ? "64" : "48") + "}\n";
  }

  // The middle value of what `of` says of the samples in that part of the time.
  double typical(double Sample::*of, double from, double to) const {
    std::vector<double> values;
    auto const size = static_cast<double>(samples_.size());
    for (auto i = static_cast<std::size_t>(size * from); i < static_cast<std::size_t>(size * to); ++i)
      values.push_back(samples_[i].*of);
    if (values.empty()) return 0;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  }

  // A quarter of the time to warm up; then the last quarter beside the second.
  void expect_no_growth() const {
    auto const grew = [&](double Sample::*of) { return typical(of, 0.75, 1) - typical(of, 0.25, 0.5); };
    auto const tolerated = typical(&Sample::resident, 0.25, 0.5) * 0.03 + (2 << 20);
    EXPECT_TRUE(!memory_counts() || grew(&Sample::resident) <= tolerated) << name_ << " grew by " << grew(&Sample::resident);
    EXPECT_LE(grew(&Sample::descriptors), 16) << name_;
    EXPECT_LE(grew(&Sample::flights), 16) << name_;
    EXPECT_LE(grew(&Sample::waiters), 16) << name_;
    EXPECT_LE(grew(&Sample::inflight), 16) << name_;
  }

  std::string name_, settings_;
  Daemon weir_;
  Usage began_;
  std::vector<Sample> samples_;
  std::vector<std::unique_ptr<Crowd>> crowds_;  // end before what they ask
};

// Thirty seconds: good for twenty of them, then each mood in turn, and nobody there.
void set_mood(Weather& weather, Origin& origin, double seconds) {
  using Mood = Weather::Mood;
  auto const at = static_cast<std::uint64_t>(seconds * 5) % 150;  // fifths of a second
  bool const dead = at >= 140;
  weather.mood = at >= 130 ? Mood::hanging : at >= 115 ? Mood::failing : at >= 100 ? Mood::slow : Mood::good;
  static bool listens = true;
  if (listens == dead) origin.listen(listens = !dead);
}

// Fewer tags than `purge.max_epochs`: folded ones would overrule every page, and bad weather would show it.
void purge(Weather& weather, Daemon const& memory, Daemon const& shared, std::uint64_t turn) {
  auto const number = turn % keys;
  auto const now = Clock::now().time_since_epoch().count();
  auto const body = R"({"urls":["http://weir.test)" + numbered("purged", number) + R"("],"tags":["tag-)" +
                    std::to_string(number) + R"("],"mode":")" + (turn % 2 == 0 ? "hard" : "soft") + "\"}";
  EXPECT_EQ(memory.admin("POST", "/v1/purge", body).status, 200);
  EXPECT_EQ(shared.admin("POST", "/v1/purge", body).status, 200);
  weather.purged[number] = now;
}

enum class Store { up, hung, dead };

// A store that is there for most of a minute, hangs, dies, and comes back empty.
void flap(test::ValkeyServer& server, Store& is, std::uint64_t second) {
  auto const at = second % 60;
  auto const shall = at >= 32 && at < 35 ? Store::hung : at >= 40 && at < 44 ? Store::dead : Store::up;
  if (is == shall) return;
  if (is == Store::hung) server.resume();
  server.start();
  if (shall == Store::hung) server.pause();
  if (shall == Store::dead) server.kill();
  is = shall;
}

// REQ-3, COA-6, MEM-1, LIM-1, VAL-3, PRG-2, LCY-2: after the warm-up nothing grows, and at the end all is given back.
TEST(Soak, NothingGrows) {
  Weather weather;
  Origin origin([&weather](Request const& request) { return answer(weather, request); });
  test::ValkeyServer server({"--maxmemory", "64mb", "--maxmemory-policy", "noeviction"});
  std::string const common =
      "timeouts: {origin: 1s, connect: 1s}\ncoalesce: {follower_max_wait: 500ms, leader_max_age: 500ms}\n"
      "breaker: {open: 200ms, open_max: 1s, window: 2s}\npurge: {max_epochs: 500}\nlimits: {header_timeout: 1s}\n";
  Soaked memory("memory", origin.port(), common + "store: {max_bytes: 24MiB}\n", weather, true);
  Soaked shared("shared store", origin.port(),
                common + "store: {type: valkey, address: \"" + server.address() + "\", near: {max_bytes: 16MiB}}\n", weather,
                false);
  std::printf(
      "| daemon, sample | MiB | descriptors | flights | waiters | fetches | entries |\n|---|---|---|---|---|---|---|\n");
  auto const began = Clock::now();
  auto const sampled_each = std::min(10.0, load_seconds() / 8);
  double next_sample = 0;
  std::uint64_t last_second = 0;
  Store store = Store::up;
  for (std::uint64_t turn = 0;; ++turn) {
    auto const seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (seconds >= load_seconds()) break;
    set_mood(weather, origin, seconds);
    purge(weather, memory.weir(), shared.weir(), turn);
    memory.come_and_leave(turn);
    shared.come_and_leave(turn);
    auto const second = static_cast<std::uint64_t>(seconds);
    if (second != last_second) {
      flap(server, store, last_second = second);
      if (second % 5 == 0) {
        memory.reload(second / 5);
        shared.reload(second / 5);
      }
    }
    if (seconds >= next_sample) {
      memory.sample();
      shared.sample();
      next_sample += sampled_each;
    }
    go_on(Milliseconds(100));
  }
  weather.mood = Weather::Mood::good;
  origin.listen(true);
  memory.end(origin.calls());
  shared.end(origin.calls());
  expect_no_problems(origin);
}

}  // namespace
}  // namespace weir::load
