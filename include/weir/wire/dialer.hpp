// Connects to one peer. Names are resolved through Asio's resolver (its own thread, never the worker's) and kept for
// `resolve_lifetime`, or until connecting to them fails. Owner and threads: one worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "weir/base/clock.hpp"
#include "weir/wire/stream.hpp"

namespace weir::wire {

// getaddrinfo tells no lifetime, so names are asked for again after this.
inline constexpr base::Duration resolve_lifetime = std::chrono::seconds(30);

struct Peer {
  std::string host;  // name or IP literal without brackets; unused with `unix_path`
  std::string port;  // decimal
  std::string unix_path;
};

enum class Dialled : std::uint8_t { refused, timeout, not_resolved, connected };

class Dialer {
 public:
  Dialer(asio::io_context& io, Peer peer) : io_(io), peer_(std::move(peer)) {}
  // Leaves `socket` open only when it is connected (TCP: without Nagle's delay). Tries every address until `due`.
  asio::awaitable<Dialled> connect(Stream::Socket& socket, base::SteadyTime due);

 private:
  asio::awaitable<bool> resolve(base::SteadyTime due);

  asio::io_context& io_;
  Peer peer_;
  std::vector<asio::ip::tcp::endpoint> resolved_;
  base::SteadyTime resolved_until_{};
};

}  // namespace weir::wire
