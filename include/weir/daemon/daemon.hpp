// The owner of everything (DESIGN "Who owns what"): members stand in the order in which they are made; they die in the
// reverse. Threads: one thread makes it, starts it, drains it and destroys it; `reload` and `setup` may be called from any.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/admin/server.hpp"
#include "weir/admin/sources.hpp"
#include "weir/config/load.hpp"
#include "weir/daemon/snapshot.hpp"
#include "weir/server/worker.hpp"
#include "weir/store/memory_store.hpp"
#include "weir/store/valkey_store.hpp"

namespace weir::daemon {

enum class Ended : std::uint8_t { unclean, snapshot_lost, clean };

class Daemon {
 public:
  // Opens every listener and starts the threads. Throws std::exception whose message tells the operator what to mend.
  // `load`: reads the configuration again, for a reload.
  explicit Daemon(config::Settings settings, std::function<config::Loaded()> load = {});
  ~Daemon();

  // LCY-2: takes the configuration as it is now, without dropping a connection or the cache; with any mistake nothing
  // changes. Returns when all workers have it. The second takes what was loaded already.
  admin::Reloaded reload();
  admin::Reloaded reload(config::Loaded loaded);
  std::shared_ptr<proxy::Setup const> setup() const;

  // Stops accepting, finishes requests and their fetches, at most `drain.timeout`; then stops the workers. `wait` is called
  // again and again: it waits for so long, or less, and returns true to end at once. Unclean: requests were cut off. Then
  // the snapshot is written, which may take `drain.timeout` once more; lost: it could not be, and no request was cut off.
  Ended drain(std::function<bool(base::Duration)> const& wait);
  // After it: what is still to be written is written, and nothing is lost if the process ends without destroying this.
  void finish() noexcept;
  // Whether every worker has turned since this was last asked, for a watchdog. From the thread that drains.
  bool turns() noexcept;
  // USR1: the log and the access log, by their names again.
  void reopen_logs();
  bool drain_requested() const noexcept { return drain_requested_.load(std::memory_order_acquire); }

  std::vector<std::string> addresses() const;  // that are listened on, as bound
  std::uint16_t admin_port() const noexcept { return admin_ ? admin_->port() : 0; }

  // For tests: the parts that they look at.
  observe::Metrics& metrics() noexcept { return metrics_; }
  shield::FlightTable& flights() noexcept { return flights_; }
  store::Store& store() noexcept { return *store_; }
  store::ValkeyStore* valkey() noexcept { return valkey_; }  // null: the store is this process's memory
  SnapshotKeeper* snapshot() noexcept { return snapshot_.get(); }
  cache::MemoryAccount const& memory() const noexcept { return memory_; }
  proxy::Shared& shared() noexcept { return shared_; }
  std::vector<std::unique_ptr<server::Worker>>& workers() noexcept { return workers_; }
  std::size_t sessions() const noexcept;

 private:
  // An address as it is configured and as it is bound: the port may be the system's choice.
  struct Front {
    std::string configured, bound;
  };
  struct Opening;
  struct Next;

  void open_store();
  void open_access_log();
  void apply_limits(config::Settings const& settings) noexcept;
  Next prepare(config::Loaded& loaded);
  void publish(Next& next);
  admin::Reloaded take(config::Loaded loaded);  // under `reload_mutex_`
  bool write_snapshot(std::function<bool(base::Duration)> const& wait);
  void listen();
  void watch_miss_rate(base::SteadyTime now);  // on the first worker
  void set_mode(cache::Mode mode, base::Duration lasts);
  void start_admin();
  admin::Sources admin_sources();
  admin::Stats stats() const;
  std::uint64_t breaker_transitions(shield::BreakerState to) const;
  admin::Readiness readiness() const;
  bool idle() const noexcept;

  base::Now started_;
  std::size_t worker_count_;
  cache::MemoryAccount memory_;
  cache::PurgeNumber purges_;
  cache::Epochs epochs_;
  std::unique_ptr<store::Store> store_;
  store::ValkeyStore* valkey_ = nullptr;  // the same, if it is one
  proxy::Mailboxes mailboxes_;
  mutable std::mutex setup_mutex_;  // guards the two below
  std::shared_ptr<proxy::Setup const> setup_;
  std::array<std::uint64_t, 3> retired_transitions_{};  // of the breakers of origins that are no more, by state
  shield::FlightTable flights_;
  observe::Metrics metrics_;
  server::ConnectionCount connections_;
  observe::AccessLog access_;
  proxy::Shared shared_;
  proxy::Warmer warmer_;
  std::unique_ptr<SnapshotKeeper> snapshot_;  // null: the store is not this process's memory
  std::vector<std::unique_ptr<server::Worker>> workers_;
  std::function<config::Loaded()> load_;
  mutable std::mutex reload_mutex_;  // one reload at a time, none during a drain; guards all below but what is atomic
  std::vector<Front> fronts_;
  std::vector<std::uint64_t> seen_turns_;  // the draining thread's
  base::SteadyTime miss_window_began_{};   // the first worker's, once it runs
  std::atomic<bool> drain_requested_{false};
  proxy::Explainer explainer_;
  std::unique_ptr<admin::Server> admin_;
};

}  // namespace weir::daemon
