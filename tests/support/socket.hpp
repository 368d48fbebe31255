// Plain sockets for tests: owned descriptors, connections with odd habits. Threads: one at a time for each socket, except
// `shut_down`, which any thread may call to wake one that waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/deadline.hpp"

namespace weir::test {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  void close() noexcept;           // FIN, after what was sent
  void reset() noexcept;           // RST, once the peer's kernel has what was sent
  void finish_sending() noexcept;  // FIN for our direction; the peer may still send
  void shut_down() noexcept;       // both directions, without giving up the descriptor

  // False when the peer took no more before `bound`.
  bool send_all(std::string_view bytes, Milliseconds bound = patience);
  // As much as the kernel takes at once, perhaps nothing; no value when the peer is gone.
  std::optional<std::size_t> send_some(std::string_view bytes);

  enum class Got { bytes, end, reset, nothing };  // `nothing`: the bound passed
  // Appends at most `most` bytes to `out`.
  Got receive(std::string& out, std::size_t most, Milliseconds bound = patience);
  // Whether the peer closed or reset; bytes that wait unread are left there and mean no.
  bool peer_is_gone() const noexcept;

 private:
  int fd_ = -1;
};

struct ConnectOptions {
  std::string address = "127.0.0.1";  // IPv4, IPv6, or `unix:<path>` (the port is then ignored)
  std::string source{};               // a local address such as 127.0.0.2; empty: the kernel's choice
  int receive_buffer = 0;             // bytes, for readers whose window shall fill early; 0: the kernel's choice
};

// An empty socket when nobody listens there.
Socket connect_to(std::uint16_t port, ConnectOptions const& options = {});

// Listens on `address`; port 0 takes a free one. Fails the test, and gives an empty socket, if that is impossible.
Socket listen_on(std::uint16_t port = 0, std::string const& address = "127.0.0.1", int backlog = 4096);
std::uint16_t local_port(Socket const& socket);
// A free port that nobody else gets while this socket lives. It is bound and does not listen: connects are refused until
// somebody listens there who shares addresses too, as `listen_on` does. An empty socket fails the test.
Socket reserve_port();

// As many descriptors as this process may have: bursts need two for each client when server and clients are one process.
std::size_t raise_descriptor_limit();

}  // namespace weir::test
