#include "watch.hpp"

#include "weir/observe/log.hpp"

namespace weir::daemon {

void StateWatch::look(proxy::Setup const& setup, store::ValkeyStore const* valkey, base::SteadyTime now) {
  std::erase_if(origins_, [&](auto const& known) { return !setup.origins.contains(known.first); });
  for (auto const& [name, origin] : setup.origins) {
    auto& seen = origins_[name];
    look_at(name, *origin, seen);
    look_at_servers(name, *origin->servers, seen, now);
  }
  if (valkey == nullptr) return;
  bool const closed = valkey->guard_state() == store::GuardState::closed;
  if (closed == store_closed_) return;
  store_closed_ = closed;
  auto const& address = setup.settings.store.address;
  if (closed)
    observe::log_info("store-back", {{"address", address}});
  else
    observe::log_warning("store-not-asked", {{"address", address}, {"why", valkey->last_failure()}});
}

// A breaker may have opened and closed between two looks: that is told too.
void StateWatch::look_at(std::string const& name, proxy::OriginState const& origin, Seen& seen) {
  auto const opened = origin.breaker.transitions(shield::BreakerState::open);
  bool const closed = origin.breaker.state() == shield::BreakerState::closed;
  bool const opens = opened != seen.opened;
  if (opens) observe::log_warning("breaker-opened", {{"origin", name}, {"times", opened}});
  if (closed && (opens || !seen.closed)) observe::log_info("breaker-closed", {{"origin", name}});
  seen.opened = opened;
  seen.closed = closed;
  if (seen.queued || origin.limiter.stats().queued_ever == 0) return;
  seen.queued = true;
  auto const& limits = origin.settings.limiter;
  observe::log_warning("requests-queue", {{"origin", name},
                                          {"settings", "limiter.max_concurrent, limiter.max_uploads"},
                                          {"max_concurrent", limits.max_concurrent},
                                          {"max_uploads", limits.max_uploads}});
}

// Whether by checks, which tell of each server, or by fetches that failed.
void StateWatch::look_at_servers(std::string const& name, origin::Servers const& servers, Seen& seen, base::SteadyTime now) {
  auto const out = servers.size() - servers.in_use(now);
  if (out == seen.out) return;
  auto const level = out > seen.out ? observe::LogLevel::warning : observe::LogLevel::info;
  std::string names;
  for (auto const& server : servers.out(now)) names += (names.empty() ? "" : " ") + server;
  observe::log(level, "servers-out", {{"origin", name}, {"out", out}, {"of", servers.size()}, {"servers", names}});
  seen.out = out;
}

}  // namespace weir::daemon
