// Connections of one worker to one origin's servers (REL-1, REL-3): keep-alive, bounded, checked before reuse.
// Owner: the worker. Threads: its worker only.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "weir/base/clock.hpp"
#include "weir/config/load.hpp"
#include "weir/origin/address.hpp"
#include "weir/origin/servers.hpp"
#include "weir/shield/flight.hpp"
#include "weir/wire/deadline.hpp"
#include "weir/wire/dialer.hpp"
#include "weir/wire/stream.hpp"

namespace weir::origin {

namespace asio = boost::asio;

// REL-2: a request that is not idempotent takes a pooled connection only if it was idle for less than this.
inline constexpr base::Duration fresh_for = std::chrono::seconds(1);

// One connection with its time limit and what was read beyond the last message.
struct Connection {
  explicit Connection(std::shared_ptr<wire::Stream> s) : stream(std::move(s)), deadline(stream) {}
  std::shared_ptr<wire::Stream> stream;
  wire::Deadline deadline;
  ServerUse server;     // ends when it comes back into the pool
  bool reused = false;  // came out of the pool: may turn out dead at the first byte
  base::SteadyTime idle_since{};
  std::uint64_t generation = 0;  // of the name, when it was last known to lead to one of its addresses
};

enum class Want : std::uint8_t { any, fresh_enough, new_only };

struct Connected {
  std::unique_ptr<Connection> connection;  // null: `failure`
  shield::FailureKind failure = shield::FailureKind::internal;
};

class Pool {
 public:
  // `tls` is null for plain origins.
  Pool(asio::io_context& io, config::Origin const& settings, std::shared_ptr<Servers> servers,
       std::shared_ptr<asio::ssl::context> tls);
  ~Pool();

  // A live connection, within `due` and the connect timeout, whichever is first. A server that cannot be connected to is
  // told of it, and the next one is tried.
  asio::awaitable<Connected> connect(Want want, base::SteadyTime due);
  // Back after a whole exchange that left it usable. Over the bound, which is each server's, the oldest goes.
  void keep(std::unique_ptr<Connection> connection);
  void close_idle() noexcept;
  // A reload (LCY-2). `same_peer`: whether a connection of this pool is as good as one that such settings would make.
  bool same_peer(config::Origin const& settings) const noexcept;
  void use(config::Origin const& settings, std::shared_ptr<Servers> servers, std::shared_ptr<asio::ssl::context> tls);
  // Another pool took its place: from now on it keeps nothing.
  void retire() noexcept;
  // Drops what was idle for too long; the worker calls it now and then.
  void sweep(base::SteadyTime now) noexcept;
  // The first server's: what a request is for that names no host.
  Address const& address() const noexcept { return servers_->address(0); }

 private:
  struct Line {
    Line(asio::io_context& io, Address const& address);
    std::deque<std::unique_ptr<Connection>> idle;
    wire::Dialer dialer;
  };
  static std::unique_ptr<Connection> take_idle(Line& line, base::Duration younger_than, base::SteadyTime now);

  asio::io_context& io_;
  config::Origin settings_;
  std::shared_ptr<Servers> servers_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::deque<Line> lines_;  // by the server's index
  bool retired_ = false;
};

// A new connection to one server through its dialer. `tls`: for a server that wants it. `server_name`: that its certificate
// must have; empty: its host.
asio::awaitable<Connected> open_connection(asio::io_context& io, wire::Dialer& dialer, Address const& address,
                                           asio::ssl::context* tls, std::string const& server_name, base::SteadyTime due);

// Verification against the system's or the configured authorities. Throws boost::system::system_error.
std::shared_ptr<asio::ssl::context> make_tls_context(config::OriginTls const& settings);
// What it threw, as a mistake of the origin's settings.
config::Mistake tls_mistake(config::Origin const& origin, std::exception const& error);
// Tries it for each origin that is asked by TLS, for `--test` and for a configuration with other mistakes.
void try_tls(config::Settings const& settings, std::vector<config::Mistake>& mistakes);

}  // namespace weir::origin
