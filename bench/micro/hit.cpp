// A hit and its steps.
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "counted.hpp"
#include "quiet_weir.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/proxy/answer.hpp"

namespace weir::bench {
namespace {

constexpr std::size_t body_size = 1024;

// One for all, as a million entries take their time.
QuietWeir& filled(std::uint64_t entries) {
  static std::map<std::uint64_t, std::unique_ptr<QuietWeir>> all;
  auto& weir = all[entries];
  if (weir) return *weir;
  weir = std::make_unique<QuietWeir>(2);
  weir->store_many(entries, entries > 10'000 ? 64 : body_size);
  weir->store("/varies", body_size, "accept-language");
  weir->store("/large", 10 * body_size);
  return *weir;
}

struct Request {
  explicit Request(std::string text) : bytes(std::move(text)) {
    std::size_t scanned = 0;
    head = wire::read_request_head(bytes, "http", {}, room, scanned);
  }
  std::string bytes;
  wire::HeadRoom room;
  wire::RequestHead head;
};

void append_key(QuietWeir const& weir, Request const& request, std::string& rewritten, cache::KeyBytes& out) {
  auto const& rules = weir.settings().sites.front().policy.key;
  auto const target = cache::rewrite_target(request.head.request, rules, rewritten);
  cache::append_primary_key(request.head.request, target, rules, nullptr, out);
}

void answer_all(benchmark::State& state, QuietWeir& weir, std::string const& request) {
  QuietWeir::Desk desk(weir, static_cast<std::uint16_t>(state.thread_index()));
  measure(state, [&] {
    if (!desk.answer(request)) throw std::logic_error("no hit");
  });
}

void parse(benchmark::State& state) {
  Request request(request_for("/x/00000000"));
  measure(state, [&] {
    std::size_t scanned = 0;
    benchmark::DoNotOptimize(wire::read_request_head(request.bytes, "http", {}, request.room, scanned));
  });
}
BENCHMARK(parse);

void key(benchmark::State& state) {
  Request const request(request_for("/x/00000000"));
  auto const& weir = filled(1);
  std::string rewritten;
  measure(state, [&] {
    cache::KeyBytes bytes;
    append_key(weir, request, rewritten, bytes);
    benchmark::DoNotOptimize(base::hash_bytes(cache::view(bytes)));
  });
}
BENCHMARK(key);

// Keys made before, asked for in no order.
void look_up(benchmark::State& state) {
  auto const entries = static_cast<std::uint64_t>(state.range(0));
  auto& weir = filled(entries);
  auto const& rules = weir.settings().sites.front().policy.key;
  struct Key {
    std::string bytes;
    std::uint64_t hash;
  };
  std::vector<Key> keys;
  Numbers numbers;
  std::string rewritten;
  for (int i = 0; i < 65536; ++i) {
    cache::KeyBytes bytes;
    append_key(weir, Request(request_for(path_of(numbers.next() % entries))), rewritten, bytes);
    keys.push_back({std::string(cache::view(bytes)), base::hash_bytes(cache::view(bytes))});
  }
  auto const now = base::read_clock();
  std::size_t i = 0;
  measure(state, [&] {
    auto const& each = keys[++i % keys.size()];
    if (!weir.daemon().store().peek({each.bytes, each.hash, {}, &rules}, now).entry) throw std::logic_error("not found");
  });
}
BENCHMARK(look_up)->Arg(1)->Arg(10'000)->Arg(1'000'000);

void decision(benchmark::State& state) {
  Request const request(request_for("/x/00000000"));
  auto const& policy = filled(1).settings().sites.front().policy;
  cache::Facts facts;
  facts.status = 200;
  facts.lifetime = std::chrono::hours(1);
  facts.response_time = base::read_clock().steady;
  measure(state, [&] {
    auto const cookies = cache::classify_cookies(request.head.request.fields, policy.key, policy.cookies);
    auto const asker = cache::asker_of(request.head.request, cookies.has_credential, policy.client);
    benchmark::DoNotOptimize(cache::reuse(asker, facts, {}, base::read_clock(), cache::Mode::normal));
    benchmark::DoNotOptimize(cache::has_conditionals(request.head.request.fields));
  });
}
BENCHMARK(decision);

void head_assembly(benchmark::State& state) {
  std::string out;
  proxy::AnswerTail tail;
  tail.age = std::chrono::seconds(1234);
  tail.cache_status.hit = true;
  tail.cache_status.ttl = std::chrono::seconds(54321);
  tail.framing = proxy::BodyFraming::length;
  tail.length = body_size;
  measure(state, [&] {
    out.clear();
    proxy::append_tail(out, tail);
    benchmark::DoNotOptimize(out.data());
  });
}
BENCHMARK(head_assembly);

void whole_hit(benchmark::State& state) { answer_all(state, filled(1), request_for("/x/00000000")); }
BENCHMARK(whole_hit);

// One key, two workers.
void whole_hit_by_two(benchmark::State& state) { answer_all(state, filled(1), request_for("/x/00000000")); }
BENCHMARK(whole_hit_by_two)->Threads(2)->UseRealTime();

void whole_hit_of_variant(benchmark::State& state) { answer_all(state, filled(1), request_for("/varies")); }
BENCHMARK(whole_hit_of_variant);

void whole_hit_not_modified(benchmark::State& state) {
  answer_all(state, filled(1), request_for("/x/00000000", "If-None-Match: \"5f1d7a84\"\r\n"));
}
BENCHMARK(whole_hit_not_modified);

void whole_hit_of_range(benchmark::State& state) {
  answer_all(state, filled(1), request_for("/large", "Range: bytes=1024-2047\r\n"));
}
BENCHMARK(whole_hit_of_range);

void whole_hit_uniform(benchmark::State& state) {
  auto const entries = static_cast<std::uint64_t>(state.range(0));
  QuietWeir::Desk desk(filled(entries), 0);
  Numbers numbers;
  auto request = request_for(path_of(0));
  constexpr std::size_t end = std::string_view("GET /x/00000000").size();
  measure(state, [&] {
    auto number = numbers.next() % entries;
    for (std::size_t i = end; i-- > end - 8; number /= 10) request[i] = static_cast<char>('0' + number % 10);
    if (!desk.answer(request)) throw std::logic_error("no hit");
  });
}
BENCHMARK(whole_hit_uniform)->Arg(10'000)->Arg(1'000'000);

}  // namespace
}  // namespace weir::bench

BENCHMARK_MAIN();
