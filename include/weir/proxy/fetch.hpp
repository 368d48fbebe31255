// One fetch: from the look into the store to the last byte stored (SPEC sections 6 and 8; DESIGN's step 7). It belongs to
// nobody: the coroutine owns everything it needs and outlives every requester. Whatever happens, who waits is told: the
// LeaderTicket's destructor is the failure path. Threads: the worker that started it.
#pragma once

#include <memory>
#include <string>

#include "weir/proxy/context.hpp"
#include "weir/proxy/forward.hpp"
#include "weir/proxy/tunnel.hpp"
#include "weir/proxy/upload.hpp"

namespace weir::proxy {

struct FetchOrder {
  FetchOrder() = default;
  FetchOrder(FetchOrder&&) = default;
  FetchOrder& operator=(FetchOrder&&) = default;
  // Begun or not, it is over: an upload has nowhere to go, and what it was to refresh may be claimed again after
  // `refresh_pause`.
  ~FetchOrder();

  shield::LeaderTicket ticket;
  std::shared_ptr<config::Settings const> settings;  // of a snapshot, and so keeps `policy`, `origin`, `pool` and `site`
  config::Policy const* policy = nullptr;  // of `settings`
  OriginState* origin = nullptr;
  origin::Pool* pool = nullptr;
  ForwardRequest request;
  std::string_view site;  // its name, in `settings`
  std::string key;  // primary key; empty where the request has none
  std::uint64_t hash = 0;
  std::string selector;        // of the slot's key: empty while no vary spec is known
  cache::Requester requester;  // `fields` is set from `request` by the fetch
  cache::Asker asker;          // the leader's, for what the store may hold by now
  cache::Entry basis;          // a stale entry to validate
  cache::Entry refreshes;      // what a background refresh was claimed for
  shield::Permit permit;       // of background work; else the fetch takes its own
  std::uint64_t partition = 0;
  bool shared = false;     // canonical, others may join
  bool may_store = false;  // GET to a cacheable route
  bool unsafe = false;     // invalidates, and is read to its end
  observe::FetchClass why = observe::FetchClass::miss;
  base::Ref<Tunnel> tunnel;  // asks for a websocket; null: does not
  base::Ref<Upload> upload;  // the request's body as it comes from the client; null: none
  // COA-12: the request's body, read whole and keyed, sent with the head; null: none. Such a request is safe and idempotent.
  std::shared_ptr<std::string const> body;
};

// After a background refresh that could not begin, or came to nothing, so long until the next.
inline constexpr base::Duration refresh_pause = std::chrono::seconds(1);

// Starts it on `local`'s worker. Never throws: if it cannot be started, the ticket's destructor tells those who wait.
void start_fetch(Local& local, FetchOrder order) noexcept;

}  // namespace weir::proxy
