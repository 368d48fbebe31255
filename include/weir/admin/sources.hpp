// What the admin listener tells and asks of the rest of Weir, as functions, so that it knows none of the parts. All are
// called on the admin thread, one at a time, and but for a reload must not wait for a worker. Owner: the daemon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/admin/router.hpp"
#include "weir/base/clock.hpp"
#include "weir/cache/mode.hpp"
#include "weir/config/load.hpp"
#include "weir/observe/cookie_names.hpp"
#include "weir/observe/hot_keys.hpp"
#include "weir/observe/metrics.hpp"
#include "weir/proxy/explain.hpp"
#include "weir/proxy/purge.hpp"
#include "weir/proxy/warm.hpp"
#include "weir/shield/limiter.hpp"

namespace weir::admin {

struct FlightLine {
  std::string key;  // readable: cache::describe_key
  std::uint32_t waiters = 0;
  std::uint32_t fetches = 0;
  std::uint64_t received = 0;  // body bytes of the newest fetch
  bool head = false;
  std::optional<base::Duration> age{};  // since its newest fetch got its permit
};

struct OriginLine {
  std::string name;
  bool reached = false;            // answered anything since the start
  std::string breaker = "closed";  // closed, half-open, open
  shield::Limiter::Stats limiter;
  shield::LimiterRules limits;
  std::vector<std::string> servers_out;  // of several, those that are left out now
};

struct SiteLine {
  std::string name;
  std::array<std::uint64_t, observe::outcome_count> requests{};
};

struct Stats {
  base::Duration uptime{};
  bool draining = false;
  std::string mode = "normal";  // MODE-1
  std::array<std::uint64_t, observe::outcome_count> requests{};
  std::vector<SiteLine> sites{};
  std::uint64_t coalesced = 0, fetches = 0;
  std::array<std::uint64_t, observe::fetch_class_count> fetches_by_class{};
  std::array<std::uint64_t, observe::fetch_result_count> fetches_by_result{};
  std::array<std::uint64_t, observe::shed_reason_count> shed{};
  std::array<std::uint64_t, observe::stale_reason_count> stale_served{};
  std::int64_t connections = 0;      // of clients, open
  std::int64_t origin_inflight = 0;  // fetches with a permit
  std::uint64_t flights = 0, waiting = 0;
  std::string store_type = "memory";  // or valkey: then bytes and entries are of the near tier
  std::string store_guard{};          // closed, half-open, open; empty: no shared store
  std::uint64_t store_bytes = 0, store_max_bytes = 0, store_entries = 0, store_evicted = 0;
  std::vector<OriginLine> origins;
  std::uint64_t cacheable = 0, with_credential_cookie = 0;      // requests (FWD-3)
  std::vector<observe::CookieNames::Row> credential_cookies{};  // the most frequent names

  // Fills all that the workers count.
  void count(observe::Metrics const& metrics);
};

struct Readiness {
  bool ready = false;
  std::string why;  // when not: "draining", "no origin reached yet"
};

struct Reloaded {
  std::vector<config::Mistake> mistakes;  // not empty: nothing has changed
  std::vector<std::string> warnings;
};

struct ModeLine {
  cache::Mode mode = cache::Mode::normal;
  base::Duration left{};  // until it ends; zero for `normal`
};

struct Sources {
  std::function<std::string()> metrics;  // the page
  std::function<std::string()> config;   // JSON, secrets hidden
  std::function<std::vector<FlightLine>(std::size_t at_most)> flights;
  std::function<Stats()> stats;
  std::function<Readiness()> readiness;
  std::function<std::vector<observe::HotKey>(observe::Hot what, std::size_t at_most)> hot;  // keys readable
  std::function<proxy::Explanation(proxy::Question const& question)> explain;
  std::function<std::vector<proxy::Explainer::Held>(proxy::Question const& question, bool all_keys)> entries;
  std::function<proxy::PurgeResult(proxy::PurgeOrder const&)> purge;
  std::function<Reloaded()> reload;  // waits until all workers have it
  std::function<proxy::WarmBegun(proxy::WarmOrder)> warm;
  std::function<proxy::WarmProgress()> warm_progress;  // of the latest
  std::function<ModeLine()> mode;
  std::function<void(cache::Mode mode, base::Duration lasts)> set_mode;  // MODE-1
  std::function<void()> drain;                                           // returns at once
};

// Of requests that were answered from the store or an origin, the share that needed no fetch of their own: hits, stale
// answers and collapsed requests. Nothing before the first such request. Purges, refused, shed and tunnelled requests are
// left out; errors count as fetches.
std::optional<double> share_without_fetch(Stats const& stats) noexcept;

// Every call of `admin.listen`; the daemon adds to it.
Router admin_endpoints(Sources const& sources);
// What `admin.metrics_listen` opens: /metrics, /healthz and /readyz, without a token.
Router open_endpoints(Sources const& sources);

}  // namespace weir::admin
