// What load tests share: how long a load lasts, ordinary clients beside it, and the table that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "load/crowd.hpp"
#include "load/daemon.hpp"
#include "load/origin.hpp"

namespace weir::load {

// WEIR_LOAD_SECONDS; 2 unless said, so that a test is short.
double load_seconds();
Milliseconds load_time(double share = 1);
// Until so much of the load's time is over. What happens meanwhile is the load; nothing is waited for.
void go_on(Milliseconds time);

// Sanitizers keep what was freed, so bounds on memory mean nothing under them.
bool memory_counts();
// What a process may take beyond what is counted: buffers, stacks and heaps of its threads that have not been used before.
inline constexpr std::int64_t slack = std::int64_t{8} << 20;

Fields cached_for(std::string_view lifetime);  // Cache-Control: max-age=`lifetime`

// Clients that ask for fifty pages that are stored and stay fresh: /hot/N. Whatever happens beside them, each answer is a
// hit.
class Ordinary {
 public:
  static constexpr int pages = 50;
  static Reply reply() { return {.fields = cached_for("3600")}; }
  static std::string page(std::uint64_t number) { return "/hot/" + std::to_string(number % pages); }

  // Asks for each page once, then begins.
  Ordinary(Daemon const& weir, Origin& origin, std::size_t clients = 8);
  std::uint64_t answers() const noexcept { return crowd_.answers(); }
  // Expects that nothing was wrong or lost.
  Tally const& stop();

 private:
  static Crowd::Plan plan(std::size_t clients);
  static std::uint16_t warm(Daemon const& weir, Origin& origin);
  Crowd crowd_;
};

void expect_good(Tally const& tally);  // nothing wrong, nothing lost
// No more than `bytes` and the slack were added at any time since `forget_peak`.
void expect_memory(Usage const& before, Usage const& after, std::int64_t bytes = 0, std::string_view what = {});
void expect_no_problems(Origin const& origin);

// One line of the table of loads.
void report(std::string_view name, Tally const& tally, std::uint64_t origin_calls, Usage const& before, Usage const& after);

// An attack: an origin, a daemon of two workers and ordinary clients, and what it cost. Settings and bounds are the test's.
//
//   Attack attack("slow heads", handler, "limits: {header_timeout: 1s}\n");
//   ...
//   attack.end("a head 1 s", {.bytes = 400 * 20 * 1024});
class Attack {
 public:
  Attack(std::string name, Origin::Handler handler, std::string const& settings);

  Origin& origin() noexcept { return origin_; }
  Daemon& weir() noexcept { return weir_; }

  // Expects that the ordinary clients were served from the store alone (`refetches` of their pages aside), that no more than
  // `bytes` and the slack were added at any time, that the processor was used for no more than `share` of the time (of one
  // core), and that everything is given back.
  struct Cost {
    std::int64_t bytes = 0;
    std::uint64_t refetches = 0;
    double share = 2.5;  // two workers, and the admin thread
  };
  void end(std::string_view bound, Cost const& cost);

 private:
  std::string name_;
  Origin origin_;
  Daemon weir_;
  Tally alone_;
  Usage before_;
  SteadyTime began_;
  Ordinary ordinary_;
};

}  // namespace weir::load
