// The owner of everything (DESIGN "Who owns what"): members stand in the order in which they are made; they die in the
// reverse. Threads: one thread makes it, starts it, drains it and destroys it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/admin/server.hpp"
#include "weir/admin/sources.hpp"
#include "weir/server/worker.hpp"
#include "weir/store/memory_store.hpp"
#include "weir/store/valkey_store.hpp"

namespace weir::daemon {

enum class Ended : std::uint8_t { unclean, clean };

class Daemon {
 public:
  // Opens every listener and starts the threads. Throws std::exception whose message tells the operator what to mend.
  explicit Daemon(config::Settings settings);
  ~Daemon();

  // Stops accepting, finishes requests and their fetches, at most `drain.timeout`; then stops the workers. `wait` is called
  // again and again: it waits for so long, or less, and returns true to end at once. Unclean: requests were cut off.
  Ended drain(std::function<bool(base::Duration)> const& wait);
  bool drain_requested() const noexcept { return drain_requested_.load(std::memory_order_acquire); }

  std::vector<std::string> const& addresses() const noexcept { return addresses_; }  // as bound
  std::uint16_t admin_port() const noexcept { return admin_ ? admin_->port() : 0; }

  // For tests: the parts that they look at.
  observe::Metrics& metrics() noexcept { return metrics_; }
  shield::FlightTable& flights() noexcept { return flights_; }
  store::Store& store() noexcept { return *store_; }
  store::ValkeyStore* valkey() noexcept { return valkey_; }  // null: the store is this process's memory
  cache::MemoryAccount const& memory() const noexcept { return memory_; }
  proxy::Shared& shared() noexcept { return shared_; }
  std::vector<std::unique_ptr<server::Worker>>& workers() noexcept { return workers_; }
  std::size_t sessions() const noexcept;

 private:
  void open_store();
  void listen();
  void watch_miss_rate(base::SteadyTime now);  // on the first worker
  void start_admin();
  admin::Sources admin_sources();
  admin::Stats stats() const;
  admin::Readiness readiness() const;
  bool idle() const noexcept;

  std::shared_ptr<config::Settings const> settings_;
  base::Now started_;
  std::size_t worker_count_;
  cache::MemoryAccount memory_;
  cache::PurgeNumber purges_;
  cache::Epochs epochs_;
  std::unique_ptr<store::Store> store_;
  store::ValkeyStore* valkey_ = nullptr;  // the same, if it is one
  proxy::Mailboxes mailboxes_;
  std::map<std::string, std::unique_ptr<proxy::OriginState>> origins_;
  shield::FlightTable flights_;
  observe::Metrics metrics_;
  server::ConnectionCount connections_;
  proxy::Shared shared_;
  std::vector<std::unique_ptr<server::Worker>> workers_;
  std::vector<std::string> addresses_;
  base::SteadyTime miss_window_began_{};  // the first worker's, once it runs
  std::atomic<bool> drain_requested_{false};
  std::unique_ptr<admin::Server> admin_;
};

}  // namespace weir::daemon
