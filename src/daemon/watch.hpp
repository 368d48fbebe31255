// What the log says of the guards in front of origins and shared store: each change of state that a look finds, and once for
// each origin that requests have had to queue (OBS-4, LIM-2). Nothing on a request's way logs. Owner: the first worker's
// housekeeping, which looks each second. Threads: its own.
#pragma once

#include <map>
#include <string>

#include "weir/proxy/context.hpp"
#include "weir/store/valkey_store.hpp"

namespace weir::daemon {

class StateWatch {
 public:
  // `valkey`: null where the store is this process's memory.
  void look(proxy::Setup const& setup, store::ValkeyStore const* valkey, base::SteadyTime now);

 private:
  struct Seen {
    std::uint64_t opened = 0;  // times
    bool closed = true;
    bool queued = false;  // ever
    std::size_t out = 0;  // servers
  };
  static void look_at(std::string const& name, proxy::OriginState const& origin, Seen& seen);
  static void look_at_servers(std::string const& name, origin::Servers const& servers, Seen& seen, base::SteadyTime now);

  std::map<std::string, Seen> origins_;  // those of the setup
  bool store_closed_ = true;
};

}  // namespace weir::daemon
