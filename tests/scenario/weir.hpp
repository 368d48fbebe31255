// A whole Weir inside the test's process, for scenarios: a script of origin, clients and gates that ends in counters. Time
// stands still for nobody, but the test turns it on. Threads: the test's own.
//
//   ScriptedOrigin origin;
//   Weir weir(origin);
//   origin.answer("/a", Script().wait(gate)...);
//   Burst burst(weir.port(), 100);  burst.get("/a");
//   ASSERT_TRUE(weir.waits_for_waiters(100));
//   gate.open();  burst.collect();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/burst.hpp"
#include "support/cache_status.hpp"
#include "support/client.hpp"
#include "support/gate.hpp"
#include "support/origin.hpp"
#include "weir/daemon/daemon.hpp"

namespace weir::test {

class Weir {
 public:
  // In front of `origin`, on a free port, with two workers. `yaml`: settings beside the defaults, without `version`,
  // `listen`, `admin` and `origins`. A mistake in them fails the test.
  explicit Weir(ScriptedOrigin const& origin, std::string const& yaml = "") : Weir(origin.url(), yaml) {}
  // `listen`: another address, an IPv6 one or `unix:<path>` (which has no port). A `listen` at the start of `yaml` counts
  // instead.
  explicit Weir(std::string const& origin_url, std::string const& yaml = "", std::string const& listen = "127.0.0.1:0");
  ~Weir();

  std::uint16_t port() const noexcept { return port_; }  // of the first address
  std::uint16_t port(std::size_t listen) const;
  std::uint16_t admin_port() const noexcept { return daemon_->admin_port(); }
  daemon::Daemon& daemon() noexcept { return *daemon_; }

  // Reloads with other settings, those beside them as before. The mistakes, by path and what is wrong; empty: done.
  std::vector<std::string> reload(std::string const& yaml);
  // What an operator's reload finds from now on.
  void edit(std::string const& yaml) { *yaml_ = yaml; }

  // Everybody's clock goes on by `by` at once; what falls due happens now.
  void turn(base::Duration by);

  bool waits_for_waiters(std::size_t count, Milliseconds bound = Milliseconds{20'000});
  bool waits_until_no_flights(Milliseconds bound = Milliseconds{20'000});
  std::uint64_t coalesced() { return daemon_->metrics().total_coalesced(); }
  std::uint64_t outcome(observe::Outcome outcome) { return daemon_->metrics().total(outcome); }
  std::uint64_t entries() { return daemon_->store().stats().entries; }
  std::uint64_t refusals(wire::Refusal refusal) { return daemon_->metrics().total_refusals(refusal); }
  // A sample of the metrics page by its exact name and labels; fails the test if there is none.
  double metric(std::string const& sample);

 private:
  std::shared_ptr<std::string> yaml_;
  std::string origin_url_, listen_;
  std::unique_ptr<daemon::Daemon> daemon_;
  std::uint16_t port_ = 0;
};

}  // namespace weir::test
