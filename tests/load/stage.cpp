#include "load/stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/client.hpp"
#include "support/deadline.hpp"

namespace weir::load {
namespace {

constexpr base::Duration hour = std::chrono::hours(1);
// To the origin, by two workers, each of which may keep 32.
constexpr std::int64_t kept_connections = 64;

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::uint64_t others_than_200(Tally const& tally) {
  auto const good = tally.statuses.find(200);
  return tally.answers - (good == tally.statuses.end() ? 0 : good->second);
}

void print(std::string const& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

double load_seconds() {
  char const* const said = std::getenv("WEIR_LOAD_SECONDS");
  return said != nullptr ? std::max(0.5, std::strtod(said, nullptr)) : 2;
}

bool memory_counts() { return WEIR_SANITIZED == 0 && std::getenv("WEIR_BINARY") == nullptr; }

Milliseconds load_time(double share) { return Milliseconds(static_cast<std::int64_t>(load_seconds() * share * 1000)); }

void go_on(Milliseconds time) {
  for (test::Deadline const deadline(time); !deadline.passed();) test::give_way();
}

Fields cached_for(std::string_view lifetime) { return {{"Cache-Control", "max-age=" + std::string(lifetime)}}; }

Ordinary::Ordinary(Daemon const& weir, Origin& origin, std::size_t clients) : crowd_(warm(weir, origin), plan(clients)) {}

std::uint16_t Ordinary::warm(Daemon const& weir, Origin& origin) {
  for (std::uint64_t i = 0; i < pages; ++i) EXPECT_EQ(test::get(weir.port(), page(i)).status, 200);
  EXPECT_TRUE(weir.settles());
  origin.forget();
  return weir.port();
}

Crowd::Plan Ordinary::plan(std::size_t clients) {
  Crowd::Plan plan;
  plan.clients = clients;
  plan.pause = Milliseconds(5);
  plan.next = [](Random& random) { return Ask{page(random())}; };
  plan.judge = [](Answered const& answered) { return judge_body(answered, hour); };
  return plan;
}

Tally const& Ordinary::stop() {
  auto const& tally = crowd_.stop();
  EXPECT_GT(tally.answers, 0U);
  expect_good(tally);
  return tally;
}

void expect_good(Tally const& tally) {
  EXPECT_EQ(tally.wrong, 0U);
  EXPECT_EQ(tally.lost, 0U);
  for (auto const& complaint : tally.complaints) ADD_FAILURE() << complaint;
}

void expect_memory(Usage const& before, Usage const& after, std::int64_t bytes, std::string_view what) {
  if (!memory_counts()) return;
  EXPECT_LE(mebibytes(after.peak - before.resident), mebibytes(bytes + slack)) << what;
}

void expect_no_problems(Origin const& origin) {
  for (auto const& problem : origin.problems()) ADD_FAILURE() << "the origin got no request: " << problem;
}

void report(std::string_view name, Tally const& tally, std::uint64_t origin_calls, Usage const& before, Usage const& after) {
  static bool const titled = [] {
    print(
        "| load | answers | not 200 | wrong | lost | origin calls | p50, p99 in ms | MiB before, after | descriptors | CPU "
        "s |");
    print("|---|---|---|---|---|---|---|---|---|---|");
    return true;
  }();
  (void)titled;
  char line[400];
  std::snprintf(line, sizeof line,
                "| %.*s | %llu | %llu | %llu | %llu | %llu | %.1f, %.1f | %.1f, %.1f | %lld, %lld | %.1f |",
                static_cast<int>(name.size()), name.data(), static_cast<unsigned long long>(tally.answers),
                static_cast<unsigned long long>(others_than_200(tally)), static_cast<unsigned long long>(tally.wrong),
                static_cast<unsigned long long>(tally.lost), static_cast<unsigned long long>(origin_calls),
                tally.latencies.milliseconds(0.5), tally.latencies.milliseconds(0.99), mebibytes(before.resident),
                mebibytes(after.resident), static_cast<long long>(before.descriptors),
                static_cast<long long>(after.descriptors), after.cpu_seconds - before.cpu_seconds);
  print(line);
}

Attack::Attack(std::string name, Origin::Handler handler, std::string const& settings)
    : name_(std::move(name)),
      origin_([handler = std::move(handler)](Request const& request) {
        return request.target.starts_with("/hot/") ? Ordinary::reply() : handler(request);
      }),
      weir_(origin_.port(), "workers: 2\n" + settings),
      alone_([this] {
        Ordinary ordinary(weir_, origin_);
        EXPECT_TRUE(test::eventually([&] { return ordinary.answers() >= 300; }));
        return ordinary.stop();
      }()),
      before_((weir_.forget_peak(), weir_.usage())),
      began_(Clock::now()),
      ordinary_(weir_, origin_) {}

void Attack::end(std::string_view bound, Cost const& cost) {
  auto const then = ordinary_.answers();
  EXPECT_TRUE(test::eventually([&] { return ordinary_.answers() >= then + 100; }));  // beside what is left of the attack
  auto const beside = ordinary_.stop();
  auto const refetched = origin_.calls("hot");
  EXPECT_LE(refetched, cost.refetches);
  EXPECT_TRUE(weir_.settles());
  expect_no_problems(origin_);
  EXPECT_TRUE(test::eventually([&] { return weir_.metric("weir_client_connections") == 0; }));
  auto const after = weir_.usage();
  expect_memory(before_, after, cost.bytes, bound);
  EXPECT_LE(after.descriptors, before_.descriptors + kept_connections);
  auto const seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  EXPECT_LE(after.cpu_seconds - before_.cpu_seconds, cost.share * seconds + 0.5);
  static bool const titled = [] {
    print(
        "| attack | bound reached | MiB added at most, may | ordinary answers | fetched again | p99 alone, beside in ms | "
        "CPU s of s |");
    print("|---|---|---|---|---|---|---|");
    return true;
  }();
  (void)titled;
  char line[500];
  std::snprintf(line, sizeof line, "| %s | %.*s | %.1f, %.1f | %llu | %llu | %.1f, %.1f | %.1f of %.1f |", name_.c_str(),
                static_cast<int>(bound.size()), bound.data(), mebibytes(after.peak - before_.resident),
                mebibytes(cost.bytes + slack), static_cast<unsigned long long>(beside.answers),
                static_cast<unsigned long long>(refetched), alone_.latencies.milliseconds(0.99),
                beside.latencies.milliseconds(0.99), after.cpu_seconds - before_.cpu_seconds, seconds);
  print(line);
  weir_.stop();
}

}  // namespace weir::load
