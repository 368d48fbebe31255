// Counting (OBS-2). Each worker counts in memory of its own with plain relaxed stores (one writer, no read-modify-write);
// the scrape sums. Names and labels are SPEC's; every series is there from the start at zero; no label value comes from a
// request. Owner: the daemon; outlives the workers. Threads: a WorkerMetrics belongs to its worker; scrape from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/mode.hpp"
#include "weir/cache/storability.hpp"
#include "weir/shield/breaker.hpp"
#include "weir/wire/head.hpp"

namespace weir::observe {

// weir_requests_total{outcome}: what a client got.
enum class Outcome : std::uint8_t {
  hit,          // from the store without asking the origin
  stale,        // a stored response past its lifetime
  miss,         // this request's own fetch, shared or storable
  revalidated,  // stored response after a 304, this request's own fetch
  collapsed,    // another request's fetch
  pass,         // on a hit-for-miss marker, or with credentials: a fetch of its own
  bypass,       // method or route never touches the cache
  purge,
  refused,
  shed,
  error,
  tunnel,
  redirect,  // to https
};
inline constexpr std::size_t outcome_count = 13;
std::string_view label(Outcome outcome) noexcept;

// weir_origin_fetches_total{class}: why the origin was asked.
enum class FetchClass : std::uint8_t {
  miss,
  revalidate,
  pass,
  bypass,
  background,
  warm,
  probe,
  retry,
  resume,
  replacement,
  mismatch,
  range,
  hedge
};
inline constexpr std::size_t fetch_class_count = 13;
std::string_view label(FetchClass fetch) noexcept;

// weir_origin_fetches_total{result}. All but `shed` are of requests that were for the origin to answer.
enum class FetchResult : std::uint8_t {
  ok,
  not_modified,
  client_error,
  server_error,
  connect_failed,
  timeout,
  broken,
  abandoned,
  shed
};
inline constexpr std::size_t fetch_result_count = 9;
std::string_view label(FetchResult result) noexcept;
constexpr bool is_sent(FetchResult result) noexcept { return result != FetchResult::shed; }

enum class ShedReason : std::uint8_t { queue_full, queue_timeout, breaker_open, coalesce_overflow, draining, connections };
inline constexpr std::size_t shed_reason_count = 6;
std::string_view label(ShedReason reason) noexcept;

enum class StaleReason : std::uint8_t { while_revalidate, if_error, coalesce_timeout, shed, breaker_open, incident };
inline constexpr std::size_t stale_reason_count = 6;
std::string_view label(StaleReason reason) noexcept;

enum class CoalesceFallback : std::uint8_t { stale, replacement, wait_on, gateway_timeout };
inline constexpr std::size_t coalesce_fallback_count = 4;
std::string_view label(CoalesceFallback fallback) noexcept;

// Written by one thread, read by any.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Seconds (or a plain number for fan-out) in fixed buckets.
class Histogram {
 public:
  static constexpr std::size_t bucket_count = 16;  // and one for +Inf
  // Upper bounds, inclusive. A negative duration counts as none.
  static constexpr std::array<std::uint64_t, bucket_count> nanosecond_bounds{
      100'000,    250'000,     500'000,     1'000'000,   2'500'000,     5'000'000,     10'000'000,    25'000'000,
      50'000'000, 100'000'000, 250'000'000, 500'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};
  static constexpr std::array<std::uint64_t, bucket_count> number_bounds{
      1, 2, 5, 10, 20, 50, 100, 200, 500, 1'000, 2'000, 5'000, 10'000, 20'000, 50'000, 100'000};
  void observe(base::Duration d) noexcept;
  void observe_number(std::uint64_t n) noexcept;
  std::array<Counter, bucket_count + 1> buckets;
  Counter sum_nanoseconds;  // or the plain sum
};

struct alignas(128) WorkerMetrics {
  explicit WorkerMetrics(std::size_t sites);

  void request(std::size_t site, Outcome outcome) noexcept {
    requests[site * outcome_count + static_cast<std::size_t>(outcome)].add();
  }
  void fetch(FetchClass c, FetchResult r) noexcept {
    fetches[static_cast<std::size_t>(c) * fetch_result_count + static_cast<std::size_t>(r)].add();
  }

  std::vector<Counter> requests;  // [site][outcome]
  Histogram request_seconds;
  std::array<Counter, fetch_class_count * fetch_result_count> fetches;
  std::array<Histogram, fetch_class_count> fetch_seconds;
  Histogram limiter_wait;
  std::array<Counter, shed_reason_count> shed;
  Counter coalesced, refresh_collapsed, coalesce_overflow, negative_served, client_accept_errors;
  Counter tls_handshakes, tls_handshake_failures, proxy_header_failures;  // of clients' connections
  Histogram coalesce_wait, coalesce_fanout;                               // fan-out is numbers
  std::array<Counter, coalesce_fallback_count> coalesce_timeouts;
  std::array<Counter, stale_reason_count> stale_served;
  std::array<Counter, cache::not_stored_count> not_stored;
  Counter cacheable, with_credential_cookie;  // requests that a cache could answer; those of them with such a cookie (FWD-3)
  std::array<Counter, wire::refusal_count> refusals;
  std::atomic<std::int64_t> connections{0};      // open now; single writer
  std::atomic<std::int64_t> origin_inflight{0};  // single writer
};

// Read at scrape time, on the scraping thread, from the parts that own them. One that is not set reads as 0.
struct Gauges {
  std::function<std::uint64_t()> flights, store_bytes, store_entries, evicted_small, evicted_main, limiter_queue,
      log_dropped, access_log_dropped;
  std::function<cache::Mode()> mode;
  std::function<std::uint64_t(std::size_t result)> snapshot;  // entries, in the order of the labels; null: no memory store
  std::function<std::uint64_t(bool out)> origin_servers;
  std::function<int()> breaker_state;  // 0 closed, 1 half-open, 2 open; the worst over origins
  std::function<std::uint64_t(shield::BreakerState to)> breaker_transitions;
  std::function<int()> store_guard;                                  // 0 closed, 1 half-open, 2 open; null: no shared store
  std::function<std::uint64_t(std::size_t result)> leases;           // the same
  std::function<std::uint64_t(std::size_t operation)> store_errors;  // in the order of the labels; null: no shared store
};

// Sites that reloads may add; what comes beyond counts as the site `other`.
inline constexpr std::size_t max_added_sites = 64;

class Metrics {
 public:
  Metrics(std::size_t workers, std::vector<std::string> site_names);
  WorkerMetrics& worker(std::size_t index) noexcept { return *workers_[index]; }
  void set_gauges(Gauges gauges);
  // For each site its row in WorkerMetrics::requests; a name has the same for good.
  std::vector<std::size_t> rows_of(std::vector<std::string> const& site_names);
  // From the admin thread and signal handling; atomic.
  std::atomic<std::uint64_t> reloads_ok{0}, reloads_bad{0}, purges_soft{0}, purges_hard{0}, purges_invalid{0},
      miss_rate_anomalies{0};

  // Prometheus text format 0.0.4 through prometheus-cpp's TextSerializer.
  std::string scrape() const;
  // Sums over workers, for tests and /v1/stats.
  std::uint64_t total(Outcome outcome) const noexcept;
  std::uint64_t total_coalesced() const noexcept;
  std::uint64_t total_fetches() const noexcept;  // that were sent
  std::uint64_t total_refusals(wire::Refusal refusal) const noexcept;
  std::uint64_t total_not_stored(cache::NotStored reason) const noexcept;
  std::uint64_t total_cacheable() const noexcept;
  std::uint64_t total_with_credential_cookie() const noexcept;
  // For what sums in its own way; the counters may be read from any thread.
  std::vector<std::unique_ptr<WorkerMetrics>> const& workers() const noexcept { return workers_; }
  std::vector<std::string> sites() const;  // by row

 private:
  std::vector<std::unique_ptr<WorkerMetrics>> workers_;
  mutable std::mutex gauges_mutex_;  // guards the names and the pointer; the calls out happen without it
  std::vector<std::string> sites_;
  std::shared_ptr<Gauges const> gauges_;
};

}  // namespace weir::observe
