// The page that Prometheus reads. Every family of SPEC OBS-2 stands here once, with its help, and with every label value
// from the first scrape on.
#include <algorithm>
#include <sstream>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "weir/observe/build.hpp"
#include "weir/observe/metrics.hpp"
#include "weir/observe/process.hpp"

namespace weir::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = ClientMetric::Label;
using Labels = std::vector<Label>;
using Workers = std::vector<std::unique_ptr<WorkerMetrics>>;

// As in store::StoreOperation.
constexpr std::array<std::string_view, 8> store_operations{"get",   "put",   "mark",      "invalidate",
                                                           "purge", "lease", "subscribe", "decode"};
// As in daemon::Restored.
constexpr std::array<std::string_view, 4> snapshot_results{"loaded", "expired", "refused", "damaged"};
// As in store::LeaseResult.
constexpr std::array<std::string_view, 5> lease_results{"acquired", "refused", "announced", "hedged", "failed"};

// The rooms below name their reasons in their own spelling; on the page all words are joined by '-'.
std::string label_value(std::string_view word) {
  std::string out(word);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

// One family while it is filled.
class Family {
 public:
  Family(MetricFamily& family) noexcept : family_(family) {}  // NOLINT(google-explicit-constructor)

  void value(double number, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (family_.type == MetricType::Counter)
      metric.counter.value = number;
    else
      metric.gauge.value = number;
    family_.metric.push_back(std::move(metric));
  }
  void value(std::uint64_t number, Labels labels = {}) { value(static_cast<double>(number), std::move(labels)); }
  void histogram(ClientMetric::Histogram numbers, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram = std::move(numbers);
    family_.metric.push_back(std::move(metric));
  }

 private:
  MetricFamily& family_;
};

class Page {
 public:
  explicit Page(Workers const& workers) noexcept : workers_(workers) {}

  Family counter(char const* name, char const* help) { return family(name, help, MetricType::Counter); }
  Family gauge(char const* name, char const* help) { return family(name, help, MetricType::Gauge); }
  Family histogram(char const* name, char const* help) { return family(name, help, MetricType::Histogram); }

  // `get` gives a worker's Counter.
  template <class Get>
  std::uint64_t sum(Get const& get) const {
    std::uint64_t total = 0;
    for (auto const& worker : workers_) total += get(*worker).value();
    return total;
  }
  // A counter without labels.
  void counter(char const* name, char const* help, Counter WorkerMetrics::*member) {
    counter(name, help).value(sum([&](WorkerMetrics const& worker) -> Counter const& { return worker.*member; }));
  }
  // A counter with one label over an enum, from its enumerator `First` on.
  template <class Enum, std::size_t Size>
  void counter(char const* name, char const* help, char const* label_name, std::array<Counter, Size> WorkerMetrics::*member,
               std::size_t first, std::size_t end) {
    auto rows = counter(name, help);
    for (std::size_t i = first; i < end; ++i) {
      auto const get = [&](WorkerMetrics const& worker) -> Counter const& { return (worker.*member)[i]; };
      rows.value(sum(get), {{label_name, label_value(label(static_cast<Enum>(i)))}});
    }
  }
  // The buckets of all workers, summed and made cumulative. `scale`: units of a bound in one unit of the series.
  template <class Get>
  ClientMetric::Histogram sum_histogram(Get const& get, std::array<std::uint64_t, Histogram::bucket_count> const& bounds,
                                        double scale) const {
    ClientMetric::Histogram out;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      out.sample_count += sum([&](WorkerMetrics const& worker) -> Counter const& { return get(worker).buckets[i]; });
      out.bucket.push_back({out.sample_count, static_cast<double>(bounds[i]) / scale});
    }
    out.sample_count +=
        sum([&](WorkerMetrics const& worker) -> Counter const& { return get(worker).buckets[Histogram::bucket_count]; });
    auto const total = sum([&](WorkerMetrics const& worker) -> Counter const& { return get(worker).sum_nanoseconds; });
    out.sample_sum = static_cast<double>(total) / scale;
    return out;
  }
  void seconds(char const* name, char const* help, Histogram WorkerMetrics::*member) {
    auto const get = [&](WorkerMetrics const& worker) -> Histogram const& { return worker.*member; };
    histogram(name, help).histogram(sum_histogram(get, Histogram::nanosecond_bounds, 1e9));
  }

  Workers const& workers() const noexcept { return workers_; }
  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return std::move(out).str();
  }

 private:
  // The Family returned is used up before the next is begun: `families_` may move.
  MetricFamily& family(char const* name, char const* help, MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }

  Workers const& workers_;
  std::vector<MetricFamily> families_;
};

std::uint64_t read(std::function<std::uint64_t()> const& gauge) { return gauge ? gauge() : 0; }

void add_requests(Page& page, std::vector<std::string> const& sites) {
  auto requests = page.counter("weir_requests_total", "Requests of clients, by what they got.");
  for (std::size_t site = 0; site < sites.size(); ++site) {
    for (std::size_t i = 0; i < outcome_count; ++i) {
      auto const get = [&](WorkerMetrics const& w) -> Counter const& { return w.requests[site * outcome_count + i]; };
      requests.value(page.sum(get), {{"site", sites[site]}, {"outcome", std::string(label(static_cast<Outcome>(i)))}});
    }
  }
  page.seconds("weir_request_seconds", "Time from a request's head to the head of its answer.",
               &WorkerMetrics::request_seconds);
  page.counter<wire::Refusal>("weir_key_rejections_total", "Requests refused before any look-up as malformed or too large.",
                              "reason", &WorkerMetrics::refusals, 0, static_cast<std::size_t>(wire::Refusal::none));
  std::int64_t connections = 0;
  for (auto const& worker : page.workers()) connections += worker->connections.load(std::memory_order_relaxed);
  page.gauge("weir_client_connections", "Client connections open now.").value(static_cast<double>(connections));
  page.counter("weir_client_accept_errors_total", "Client connections that could not be accepted.",
               &WorkerMetrics::client_accept_errors);
  auto handshakes = page.counter("weir_tls_handshakes_total", "TLS handshakes with clients.");
  handshakes.value(page.sum([](WorkerMetrics const& w) -> Counter const& { return w.tls_handshakes; }), {{"result", "ok"}});
  handshakes.value(page.sum([](WorkerMetrics const& w) -> Counter const& { return w.tls_handshake_failures; }),
                   {{"result", "failed"}});
  page.counter("weir_proxy_header_rejections_total",
               "Client connections closed for want of a PROXY header, or of one that may be believed.",
               &WorkerMetrics::proxy_header_failures);
}

void add_origin(Page& page) {
  auto fetches = page.counter("weir_origin_fetches_total",
                              "Requests sent to origins, by cause and by how they ended; shed: not sent, to protect them.");
  for (std::size_t c = 0; c < fetch_class_count; ++c) {
    for (std::size_t r = 0; r < fetch_result_count; ++r) {
      auto const get = [&](WorkerMetrics const& w) -> Counter const& { return w.fetches[c * fetch_result_count + r]; };
      fetches.value(page.sum(get), {{"class", std::string(label(static_cast<FetchClass>(c)))},
                                    {"result", std::string(label(static_cast<FetchResult>(r)))}});
    }
  }
  auto seconds = page.histogram("weir_origin_fetch_seconds", "Time from a fetch's permit to its last body byte.");
  for (std::size_t c = 0; c < fetch_class_count; ++c) {
    auto const get = [&](WorkerMetrics const& w) -> Histogram const& { return w.fetch_seconds[c]; };
    seconds.histogram(page.sum_histogram(get, Histogram::nanosecond_bounds, 1e9),
                      {{"class", std::string(label(static_cast<FetchClass>(c)))}});
  }
  std::int64_t inflight = 0;
  for (auto const& worker : page.workers()) inflight += worker->origin_inflight.load(std::memory_order_relaxed);
  page.gauge("weir_origin_inflight", "Requests at origins now.").value(static_cast<double>(inflight));
}

void add_protection(Page& page, Gauges const& gauges) {
  auto servers = page.gauge("weir_origin_servers", "Servers of all origins, by whether fetches go to them.");
  for (bool const out : {false, true})
    servers.value(gauges.origin_servers ? static_cast<double>(gauges.origin_servers(out)) : 0.0,
                  {{"state", out ? "out" : "in"}});
  page.gauge("weir_limiter_queue_depth", "Fetches that wait for a permit, over all origins.")
      .value(read(gauges.limiter_queue));
  page.seconds("weir_limiter_wait_seconds", "Time that fetches waited for a permit.", &WorkerMetrics::limiter_wait);
  page.counter<ShedReason>("weir_shed_total", "Fetches that were refused to protect an origin.", "reason",
                           &WorkerMetrics::shed, 0, shed_reason_count);
  page.gauge("weir_breaker_state", "The worst breaker over all origins: 0 closed, 1 half open, 2 open.")
      .value(gauges.breaker_state ? static_cast<double>(gauges.breaker_state()) : 0.0);
  auto transitions = page.counter("weir_breaker_transitions_total", "Changes of a breaker's state, by the new state.");
  for (auto const to : {shield::BreakerState::closed, shield::BreakerState::half_open, shield::BreakerState::open}) {
    transitions.value(gauges.breaker_transitions ? gauges.breaker_transitions(to) : 0,
                      {{"to", std::string(shield::label(to))}});
  }
}

void add_coalescing(Page& page, Gauges const& gauges) {
  page.counter("weir_coalesced_total", "Answers taken from another request's fetch, counted at delivery.",
               &WorkerMetrics::coalesced);
  page.counter("weir_refresh_collapsed_total", "Requests with a stale entry that found its refresh under way.",
               &WorkerMetrics::refresh_collapsed);
  page.seconds("weir_coalesce_wait_seconds", "Time that followers waited for a head.", &WorkerMetrics::coalesce_wait);
  auto const fanout = [](WorkerMetrics const& w) -> Histogram const& { return w.coalesce_fanout; };
  page.histogram("weir_coalesce_fanout", "Requests that one shared fetch answered.")
      .histogram(page.sum_histogram(fanout, Histogram::number_bounds, 1));
  page.counter<CoalesceFallback>("weir_coalesce_timeouts_total", "Followers whose wait was over, by what they did then.",
                                 "fallback", &WorkerMetrics::coalesce_timeouts, 0, coalesce_fallback_count);
  page.counter("weir_coalesce_overflow_total", "Requests that found too many waiting for their key, or too many flights.",
               &WorkerMetrics::coalesce_overflow);
  page.gauge("weir_flights", "Fetches under way that requests can wait on.").value(read(gauges.flights));
  auto leases = page.counter("weir_cluster_leases_total", "Leases asked for in the shared store, by what came of it.");
  for (std::size_t i = 0; i < lease_results.size(); ++i)
    leases.value(gauges.leases ? static_cast<double>(gauges.leases(i)) : 0.0, {{"result", std::string(lease_results[i])}});
}

void add_answers(Page& page) {
  page.counter<StaleReason>("weir_stale_served_total", "Stored responses served past their lifetime.", "reason",
                            &WorkerMetrics::stale_served, 0, stale_reason_count);
  page.counter("weir_negative_served_total", "Answers from a record that the origin just failed.",
               &WorkerMetrics::negative_served);
  page.counter<cache::NotStored>("weir_not_stored_total", "Responses that were not stored.", "reason",
                                 &WorkerMetrics::not_stored, static_cast<std::size_t>(cache::NotStored::unknown) + 1,
                                 cache::not_stored_count);
}

void add_store(Page& page, Gauges const& gauges) {
  auto errors = page.counter("weir_store_errors_total", "Operations on the shared store that failed.");
  for (std::size_t i = 0; i < store_operations.size(); ++i)
    errors.value(gauges.store_errors ? static_cast<double>(gauges.store_errors(i)) : 0.0,
                 {{"op", std::string(store_operations[i])}});
  page.gauge("weir_store_guard_state", "The shared store's guard: 0 closed, 1 half open, 2 open or no answer.")
      .value(gauges.store_guard ? static_cast<double>(gauges.store_guard()) : 0.0);
  page.gauge("weir_store_bytes", "Memory that entries take, with what flights hold and readers pin.")
      .value(read(gauges.store_bytes));
  page.gauge("weir_store_entries", "Entries in memory.").value(read(gauges.store_entries));
  auto evictions = page.counter("weir_evictions_total", "Entries evicted for room, by the queue they were in.");
  evictions.value(read(gauges.evicted_small), {{"queue", "small"}});
  evictions.value(read(gauges.evicted_main), {{"queue", "main"}});
}

void add_snapshot(Page& page, Gauges const& gauges) {
  auto entries =
      page.counter("weir_snapshot_entries_total", "Entries of the snapshot that was loaded, by what became of them.");
  for (std::size_t i = 0; i < snapshot_results.size(); ++i)
    entries.value(gauges.snapshot ? static_cast<double>(gauges.snapshot(i)) : 0.0,
                  {{"result", std::string(snapshot_results[i])}});
}

void add_operation(Page& page, Metrics const& metrics, Gauges const& gauges) {
  auto purges = page.counter("weir_purges_total", "Purges and group invalidations applied.");
  purges.value(metrics.purges_soft.load(), {{"mode", "soft"}});
  purges.value(metrics.purges_invalid.load(), {{"mode", "invalid"}});
  purges.value(metrics.purges_hard.load(), {{"mode", "hard"}});
  page.counter("weir_miss_rate_anomalies_total", "Windows in which a path missed unusually often.")
      .value(metrics.miss_rate_anomalies.load());
  auto reloads = page.counter("weir_config_reloads_total", "Reloads of the configuration.");
  reloads.value(metrics.reloads_ok.load(), {{"result", "ok"}});
  reloads.value(metrics.reloads_bad.load(), {{"result", "bad"}});
  auto modes = page.gauge("weir_mode", "The incident mode: 1 for the one that holds, 0 for the others.");
  auto const mode = gauges.mode ? gauges.mode() : cache::Mode::normal;
  for (std::size_t i = 0; i < cache::mode_count; ++i) {
    auto const each = static_cast<cache::Mode>(i);
    modes.value(each == mode ? 1.0 : 0.0, {{"mode", std::string(cache::label(each))}});
  }
  page.counter("weir_log_dropped_total", "Log lines lost because the queue was full or writing failed.")
      .value(read(gauges.log_dropped));
  page.counter("weir_access_log_dropped_total", "Lines of the access log lost because the queue was full or writing failed.")
      .value(read(gauges.access_log_dropped));
  page.gauge("weir_build_info", "Which Weir this is; always 1.")
      .value(1.0,
             {{"version", std::string(version)}, {"revision", std::string(revision)}, {"compiler", std::string(compiler)}});
}

void add_process(Page& page) {
  ProcessFacts const facts = read_process();
  page.counter("process_cpu_seconds_total", "User and system CPU time spent.").value(facts.cpu_seconds);
  page.gauge("process_resident_memory_bytes", "Resident memory size.").value(facts.resident_bytes);
  page.gauge("process_virtual_memory_bytes", "Virtual memory size.").value(facts.virtual_bytes);
  page.gauge("process_open_fds", "Open file descriptors.").value(facts.open_fds);
  page.gauge("process_max_fds", "Most file descriptors that may be open.").value(facts.max_fds);
  page.gauge("process_start_time_seconds", "When the process started, since 1970.").value(facts.start_time_seconds);
  page.gauge("process_threads", "Threads of the process.").value(facts.threads);
}

}  // namespace

std::string Metrics::scrape() const {
  std::shared_ptr<Gauges const> gauges;
  std::vector<std::string> sites;
  {
    std::lock_guard const lock(gauges_mutex_);
    gauges = gauges_;
    sites = sites_;
  }
  Page page(workers_);
  add_requests(page, sites);
  add_origin(page);
  add_protection(page, *gauges);
  add_coalescing(page, *gauges);
  add_answers(page);
  add_store(page, *gauges);
  add_snapshot(page, *gauges);
  add_operation(page, *this, *gauges);
  add_process(page);
  return page.text();
}

}  // namespace weir::observe
