// What exchanges and fetches work with: `Shared` is one for the process, `Local` one for each worker. The daemon owns both
// and the parts they refer to. A configuration is a `Setup`, and a worker's view of it a `Snapshot`, which a request keeps
// (LCY-2). Threads: Shared's parts say their own rules; Local belongs to its worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "weir/cache/epochs.hpp"
#include "weir/cache/invalidated_urls.hpp"
#include "weir/cache/mode.hpp"
#include "weir/cache/purge_number.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/config/settings.hpp"
#include "weir/observe/access_log.hpp"
#include "weir/observe/cookie_names.hpp"
#include "weir/observe/hot_keys.hpp"
#include "weir/observe/metrics.hpp"
#include "weir/origin/pool.hpp"
#include "weir/proxy/abandon.hpp"
#include "weir/proxy/client.hpp"
#include "weir/proxy/park.hpp"
#include "weir/shield/breaker.hpp"
#include "weir/shield/flight_table.hpp"
#include "weir/shield/limiter.hpp"
#include "weir/store/store.hpp"

namespace weir::proxy {

// What is known of an origin whatever its settings; kept by name over reloads.
struct OriginGuard {
  OriginGuard(shield::Waker& waker, config::Origin const& settings);
  void use(config::Origin const& settings) noexcept;
  shield::Limiter limiter;
  shield::Breaker breaker;
  std::atomic<bool> reached{false};  // answered anything, once: /readyz
};

// An origin as all workers share it, with the settings of one setup.
struct OriginState {
  // `known`: servers of the setup before, which stay if the settings leave them as they are. Throws
  // boost::system::system_error if the authorities of its TLS cannot be read.
  OriginState(std::shared_ptr<OriginGuard> g, config::Origin s, std::shared_ptr<origin::Servers> const& known = nullptr);
  std::shared_ptr<OriginGuard> const guard;
  config::Origin const settings;
  std::shared_ptr<origin::Servers> const servers;
  std::shared_ptr<asio::ssl::context> const tls;  // null: plain
  shield::Limiter& limiter;
  shield::Breaker& breaker;
  std::atomic<bool>& reached;
};
using Origins = std::map<std::string, std::shared_ptr<OriginState>>;

// One configuration, and what the process made of it. Immutable; a reload makes the next.
struct Setup {
  std::uint64_t number = 0;  // counts reloads
  config::Settings settings;
  Origins origins;
  std::vector<std::size_t> site_rows;  // of the metrics, by the site's index
};

// A setup as one worker works by it. A request keeps the one that it began with, and so everything of its origin. Each
// worker makes its own: its count is no other worker's business.
struct Snapshot {
  struct Origin {
    std::shared_ptr<OriginState> state;
    std::shared_ptr<origin::Pool> pool;
  };
  std::shared_ptr<Setup const> setup;
  std::vector<Origin> of_site;  // by the site's index
};

struct Shared {
  store::Store& store;
  shield::FlightTable& flights;
  cache::PurgeNumber& purges;
  cache::Epochs& epochs;
  cache::MemoryAccount& memory;
  observe::Metrics& metrics;
  Mailboxes& mailboxes;
  observe::AccessLog& access;
  std::string cdn_loop_id;                          // "weir-<instance>"
  std::atomic<std::uint64_t> flight_bytes_max{0};   // coalesce.max_bytes
  std::atomic<std::uint64_t> flight_bytes{0};       // what flights hold that no store entry owns yet
  std::atomic<std::uint64_t> fetches_under_way{0};  // alone ones too; drain waits for them
  std::atomic<bool> draining{false};
  cache::InvalidatedUrls invalidated_urls{};        // SRV-6
  observe::CookieNames cookie_names{};              // FWD-3
  observe::StrippedCookies stripped_cookies{};      // FWD-2
  cache::CurrentMode mode{};                        // MODE-1
  // MEM-2: until then a write is remembered by its key, as what it makes invalid may be still on its way from the snapshot.
  std::atomic<base::SteadyTime> snapshot_until{};
};

struct Local {
  Local(Shared& s, asio::io_context& i, std::uint16_t w, observe::WorkerMetrics& m)
      : shared(s), io(i), worker(w), metrics(m), random(std::random_device{}()) {}

  Shared& shared;
  asio::io_context& io;
  std::uint16_t worker;
  observe::WorkerMetrics& metrics;
  // The newest; an exchange that waits keeps its own.
  std::shared_ptr<Snapshot const> snapshot;
  std::shared_ptr<config::Settings const> settings;  // of `snapshot`, which it keeps alive
  bool logs_access = false;                          // by `settings`
  std::map<std::string, std::shared_ptr<origin::Pool>> pools;
  InboxPool inboxes;
  AbandonSignals signals;
  std::minstd_rand random;
  observe::HotKeys hot;
  std::string scratch;  // for heads that are written without waiting
  std::uint64_t random_bits() { return std::uniform_int_distribution<std::uint64_t>()(random); }
  double chance() { return std::uniform_real_distribution<double>(0.0, 1.0)(random); }
};

}  // namespace weir::proxy
