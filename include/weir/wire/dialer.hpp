// Connects to one peer. Names are resolved through Asio's resolver (its own thread, never the worker's), one question at a
// time for all who connect. What was found is kept for `resolve_lifetime`; then it is asked for again, while those who
// connect go on with what is known: an old answer is better than none, and than a late one. Only where nothing is known yet,
// or nothing known can be connected to, they wait for the answer. Owner and threads: one worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/base/clock.hpp"
#include "weir/wire/stream.hpp"

namespace weir::wire {

// getaddrinfo tells no lifetime, so names are asked for again after this; after a failure, and where connecting failed, not
// more often than each `resolve_pause`.
inline constexpr base::Duration resolve_lifetime = std::chrono::seconds(30);
inline constexpr base::Duration resolve_pause = std::chrono::seconds(1);

struct Peer {
  std::string host;  // name or IP literal without brackets; unused with `unix_path`
  std::string port;  // decimal
  std::string unix_path;
};

// Questions for names that this process waits for. They cannot be ended, and the end of an io_context waits for its own:
// as long as the system's resolver does. Threads: any.
std::size_t questions_under_way() noexcept;

enum class Dialled : std::uint8_t { refused, timeout, not_resolved, connected };

class Dialer {
 public:
  Dialer(asio::io_context& io, Peer peer);
  ~Dialer();
  Dialer(Dialer&&) noexcept;
  // Leaves `socket` open only when it is connected (TCP: without Nagle's delay). Tries every address until `due`:
  // each has its share of the time that is left.
  asio::awaitable<Dialled> connect(Stream::Socket& socket, base::SteadyTime due);

  // Asks for the name again if it is time to; nobody waits. For those who go on using a connection.
  void renew(base::SteadyTime now);
  // Grows when an address is no longer among those of the name.
  std::uint64_t generation() const noexcept;
  // Whether a connection leads to one of the addresses that are known now.
  bool leads_here(Stream::Socket const& socket) const noexcept;

 private:
  struct Names;
  asio::awaitable<Dialled> try_addresses(Stream::Socket& socket, std::shared_ptr<Names> names, base::SteadyTime due);

  asio::io_context& io_;
  std::string unix_path_;
  std::shared_ptr<Names> names_;
};

}  // namespace weir::wire
