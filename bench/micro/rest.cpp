// What is not on the way of every hit: coalescing, eviction, the limiter; and counting, which is.
#include <memory>
#include <stdexcept>
#include <string>

#include "counted.hpp"
#include "weir/base/hash.hpp"
#include "weir/observe/hot_keys.hpp"
#include "weir/observe/metrics.hpp"
#include "weir/shield/flight_table.hpp"
#include "weir/shield/limiter.hpp"
#include "weir/store/memory_store.hpp"

namespace weir::bench {
namespace {

constexpr std::string_view some_key = "a key of the usual size: http, a host, a path";

// Nobody waits for real here.
class NoWaker final : public shield::Waker {
 public:
  void wake(shield::WaiterList& chosen) noexcept override {
    while (!chosen.empty()) {
      auto& waiter = chosen.front();
      chosen.pop_front();
      waiter.state.store(shield::WaiterState::free);
    }
  }
};

struct Table {
  NoWaker waker;
  cache::MemoryAccount account;
  cache::PurgeNumber purges;
  shield::FlightTable flights{waker, account, purges};
  shield::CoalesceRules rules;
  shield::FlightKey key{some_key, base::hash_bytes(some_key), {}};

  shield::JoinResult join(shield::SlotWaiter& waiter) { return flights.join(key, waiter, 0, rules, {}); }
};

void join_and_leave(benchmark::State& state) {
  Table table;
  shield::SlotWaiter leader, follower;
  auto const led = table.join(leader);
  measure(state, [&] {
    auto const joined = table.join(follower);
    if (joined.joined != shield::Joined::waiting || !table.flights.cancel(follower)) throw std::logic_error("did not join");
  });
}
BENCHMARK(join_and_leave);

// The slot is made for it, and goes with it.
void lead_and_fail(benchmark::State& state) {
  Table table;
  measure(state, [&] {
    shield::SlotWaiter leader;
    auto const led = table.join(leader);
    if (led.joined != shield::Joined::leading) throw std::logic_error("does not lead");
  });
}
BENCHMARK(lead_and_fail);

// A store that is full of small entries.
class FullStore {
 public:
  explicit FullStore(std::uint64_t entries) : entries_(entries), store_({entries * bytes_each()}, account_) {
    while (store_.stats().evicted_small == 0)
      for (std::uint64_t i = 0; i < entries / 64; ++i) insert();
  }
  void insert() {
    auto const key = key_of(next_++);
    store_.put(make(key, next_, account_, now_), now_.steady + std::chrono::hours(24), 8, now_);
  }
  // Of those that came last, which are there.
  bool hit(std::uint64_t back) {
    auto const key = key_of(next_ - 1 - back % (entries_ / 16));
    return store_.peek({key, base::hash_bytes(key), {}, nullptr}, now_).entry != nullptr;
  }

 private:
  static std::string key_of(std::uint64_t number) { return "http, bench.example, /some/path/" + std::to_string(number); }
  static cache::Entry make(std::string_view key, std::uint64_t began, cache::MemoryAccount& account, base::Now now) {
    cache::StoredResponse::Parts parts{key, "", "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\n", {}};
    parts.facts.response_time = now.steady;
    parts.facts.lifetime = std::chrono::hours(24);
    parts.facts.began = began;
    return cache::StoredResponse::make(parts, 64, account);
  }
  static std::uint64_t bytes_each() {
    cache::MemoryAccount account;
    return make(key_of(1'000'000), 1, account, base::read_clock())->footprint() + 16;
  }

  std::uint64_t entries_, next_ = 0;
  cache::MemoryAccount account_;
  base::Now now_ = base::read_clock();
  store::MemoryStore store_;
};

// With the making of a key and of an entry, an allocation each; another entry leaves for it.
void s3fifo_insert(benchmark::State& state) {
  FullStore store(static_cast<std::uint64_t>(state.range(0)));
  measure(state, [&] { store.insert(); });
}
BENCHMARK(s3fifo_insert)->Arg(10'000)->Arg(1'000'000);

// With the making of a key, an allocation.
void s3fifo_hit(benchmark::State& state) {
  FullStore store(static_cast<std::uint64_t>(state.range(0)));
  Numbers numbers;
  std::uint64_t found = 0;
  measure(state, [&] { found += store.hit(numbers.next()) ? 1U : 0U; });
  state.counters["found"] = benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
}
BENCHMARK(s3fifo_hit)->Arg(10'000)->Arg(1'000'000);

void limiter_acquire_and_release(benchmark::State& state) {
  NoWaker waker;
  shield::Limiter limiter(waker, {});
  shield::PermitWaiter waiter;
  measure(state, [&] {
    if (limiter.acquire(waiter) != shield::Acquire::granted) throw std::logic_error("no permit");
    waiter.permit.release();
  });
}
BENCHMARK(limiter_acquire_and_release);

void metrics_of_a_hit(benchmark::State& state) {
  auto const metrics = std::make_unique<observe::WorkerMetrics>(1);
  measure(state, [&] {
    metrics->cacheable.add();
    metrics->request(0, observe::Outcome::hit);
    metrics->request_seconds.observe(std::chrono::microseconds(17));
  });
}
BENCHMARK(metrics_of_a_hit);

void hot_keys_of_a_hit(benchmark::State& state) {
  auto const hot = std::make_unique<observe::HotKeys>();
  measure(state, [&] { hot->count(observe::Outcome::hit, some_key, 42); });
}
BENCHMARK(hot_keys_of_a_hit);

// All keys are as hot as each other: each that is counted takes the place of another.
void hot_keys_of_a_uniform_hit(benchmark::State& state) {
  auto const hot = std::make_unique<observe::HotKeys>();
  Numbers numbers;
  measure(state, [&] { hot->count(observe::Outcome::hit, some_key, numbers.next()); });
}
BENCHMARK(hot_keys_of_a_uniform_hit);

}  // namespace
}  // namespace weir::bench
