// GET /v1/stats (OBS-3): counts since the start, and how things stand now.
#include "stats_endpoint.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "weir/observe/build.hpp"
#include "weir/observe/json_text.hpp"
#include "weir/observe/process.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;
using observe::Outcome;

// {"hit": 3, "stale": 0, ...}: every word of the enum.
template <class Enum, std::size_t Size>
bj::object by_label(std::array<std::uint64_t, Size> const& counts) {
  bj::object rows;
  for (std::size_t i = 0; i < Size; ++i) rows[label(static_cast<Enum>(i))] = counts[i];
  return rows;
}

bj::object limiter_of(OriginLine const& origin) {
  auto const& stats = origin.limiter;
  return {{"fetches", stats.fetches},
          {"background", stats.background},
          {"uploads", stats.uploads},
          {"streams", stats.streams},
          {"queued", stats.queued},
          {"queued_ever", stats.queued_ever},
          {"most_at_once", stats.most_at_once},
          {"max_concurrent", origin.limits.max_concurrent},
          {"max_uploads", origin.limits.max_uploads},
          {"max_streams", origin.limits.max_streams},
          {"max_queue", origin.limits.max_queue}};
}

bj::array origins_of(Stats const& stats) {
  bj::array rows;
  for (auto const& origin : stats.origins) {
    bj::array out;
    for (auto const& server : origin.servers_out) out.emplace_back(observe::valid_utf8(server));
    rows.push_back(bj::object{{"name", observe::valid_utf8(origin.name)},
                              {"reached", origin.reached},
                              {"breaker", origin.breaker},
                              {"servers_out", std::move(out)},
                              {"limiter", limiter_of(origin)}});
  }
  return rows;
}

bj::object requests_of(Stats const& stats) {
  std::uint64_t total = 0;
  for (auto const count : stats.requests) total += count;
  bj::object by_site;
  for (auto const& site : stats.sites) by_site[observe::valid_utf8(site.name)] = by_label<Outcome>(site.requests);
  return {{"total", total}, {"by_outcome", by_label<Outcome>(stats.requests)}, {"by_site", std::move(by_site)}};
}

bj::object fetches_of(Stats const& stats) {
  return {{"in_flight", stats.origin_inflight},
          {"by_class", by_label<observe::FetchClass>(stats.fetches_by_class)},
          {"by_result", by_label<observe::FetchResult>(stats.fetches_by_result)}};
}

bj::object cookies_of(Stats const& stats) {
  bj::array names;
  for (auto const& row : stats.credential_cookies)
    names.push_back(bj::object{{"name", observe::valid_utf8(row.name)}, {"requests", row.requests}});
  return {{"requests", stats.cacheable}, {"with_credential", stats.with_credential_cookie}, {"names", std::move(names)}};
}

bj::object store_of(Stats const& stats) {
  bool const shared = !stats.store_guard.empty();
  return {{"type", stats.store_type},
          {"guard", shared ? bj::value(stats.store_guard) : bj::value(nullptr)},
          {"evicted", stats.store_evicted}};
}

}  // namespace

Answer answer_stats(Stats const& stats) {
  auto const process = observe::read_process();
  auto const share = share_without_fetch(stats);
  bj::object const body{{"version", observe::version},
                        {"revision", observe::revision},
                        {"uptime_seconds", std::chrono::duration<double>(stats.uptime).count()},
                        {"draining", stats.draining},
                        {"mode", stats.mode},
                        {"connections", stats.connections},
                        {"requests", requests_of(stats)},
                        {"share_without_fetch", share ? bj::value(*share) : bj::value(nullptr)},
                        {"coalesced", stats.coalesced},
                        {"origin_fetches", stats.fetches},
                        {"fetches", fetches_of(stats)},
                        {"shed", by_label<observe::ShedReason>(stats.shed)},
                        {"stale_served", by_label<observe::StaleReason>(stats.stale_served)},
                        {"flights", {{"under_way", stats.flights}, {"waiting", stats.waiting}}},
                        {"memory",
                         {{"resident_bytes", process.resident_bytes},
                          {"store_bytes", stats.store_bytes},
                          {"store_max_bytes", stats.store_max_bytes},
                          {"store_entries", stats.store_entries}}},
                        {"store", store_of(stats)},
                        {"cookies", cookies_of(stats)},
                        {"origins", origins_of(stats)}};
  return json(200, bj::serialize(body) + "\n");
}

void Stats::count(observe::Metrics const& metrics) {
  auto const add = [](auto& sums, auto const& counters) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counters[i].value();
  };
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i] = metrics.total(static_cast<Outcome>(i));
  coalesced = metrics.total_coalesced();
  fetches = metrics.total_fetches();
  cacheable = metrics.total_cacheable();
  with_credential_cookie = metrics.total_with_credential_cookie();
  for (auto const& name : metrics.sites()) sites.push_back({.name = name});
  for (auto const& worker : metrics.workers()) {
    add(shed, worker->shed);
    add(stale_served, worker->stale_served);
    connections += worker->connections.load(std::memory_order_relaxed);
    origin_inflight += worker->origin_inflight.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < worker->fetches.size(); ++i) {
      auto const count = worker->fetches[i].value();
      auto const result = i % observe::fetch_result_count;
      if (observe::is_sent(static_cast<observe::FetchResult>(result)))
        fetches_by_class[i / observe::fetch_result_count] += count;
      fetches_by_result[result] += count;
    }
    for (std::size_t i = 0; i < sites.size() * observe::outcome_count; ++i)
      sites[i / observe::outcome_count].requests[i % observe::outcome_count] += worker->requests[i].value();
  }
}

std::optional<double> share_without_fetch(Stats const& stats) noexcept {
  auto const of = [&](Outcome outcome) { return stats.requests[static_cast<std::size_t>(outcome)]; };
  std::uint64_t const without = of(Outcome::hit) + of(Outcome::stale) + of(Outcome::collapsed);
  std::uint64_t const with =
      of(Outcome::miss) + of(Outcome::revalidated) + of(Outcome::pass) + of(Outcome::bypass) + of(Outcome::error);
  if (without + with == 0) return std::nullopt;
  return static_cast<double>(without) / static_cast<double>(without + with);
}

}  // namespace weir::admin
