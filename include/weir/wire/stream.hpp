// One byte stream to a peer: TCP or unix socket, plain or TLS. Both sides of Weir use it. Owner: the session or the origin
// connection, through a shared_ptr where a second coroutine writes while the first reads. Threads: its own worker only. At
// most one read and one write may be pending at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

namespace weir::wire {

namespace asio = boost::asio;
using boost::system::error_code;

struct Transferred {
  error_code error;
  std::size_t bytes = 0;
};

class Tls;

class Stream {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  explicit Stream(Socket socket);
  ~Stream();  // closes
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  Socket& socket() noexcept { return socket_; }
  asio::any_io_executor executor() { return socket_.get_executor(); }

  // As TLS client: verifies the peer's name against `server_name` where the context verifies.
  asio::awaitable<error_code> start_tls_client(asio::ssl::context& context, std::string const& server_name);
  // As TLS server: the context stays until the handshake is over.
  asio::awaitable<error_code> start_tls_server(asio::ssl::context& context);

  // At least one byte, or an error (asio::error::eof at the peer's clean end).
  asio::awaitable<Transferred> read_some(std::span<char> into);
  // Everything, or an error.
  asio::awaitable<Transferred> write(std::span<asio::const_buffer const> buffers);
  asio::awaitable<Transferred> write(asio::const_buffer buffer);
  // Without waiting; would_block when there is nothing, or when the socket takes no more. What `try_write` did not report as
  // written must be written next: the same bytes.
  Transferred try_read(std::span<char> into) noexcept;
  Transferred try_write(std::span<asio::const_buffer const> buffers) noexcept;
  // What waits on a plain connection, left there for the next read; eof at the peer's end.
  Transferred peek(std::span<char> into) noexcept;
  // Until there is something to read, with any completion token of an error code.
  template <class Token>
  auto wait_readable(Token&& token) {
    return socket_.async_wait(sign_of_bytes(), std::forward<Token>(token));
  }

  // Whether bytes wait unread.
  bool has_bytes() const noexcept;
  // Whether the peer has begun to send what cannot be read yet: a part of a TLS record.
  bool has_begun() const noexcept;
  // Whether an idle connection has ended, failed, or holds bytes that nobody asked for.
  bool is_stale() noexcept;
  // Pending operations end with operation_aborted. Idempotent. TLS says so to the peer, where nothing was cut off.
  void close() noexcept;
  // The same, and it stays open.
  void cancel() noexcept;
  // The peer sees RST instead of a clean end: for messages that must not look whole.
  void reset() noexcept;
  // While on, however this connection ends, the peer sees that as a break: for a message whose end is the connection's.
  void end_is_a_break(bool on) noexcept;
  // Bytes that the kernel holds for the peer.
  std::size_t unsent() const noexcept;
  // The end of what is sent. TLS says so behind it first, as soon as the socket takes that; `close` would not wait.
  asio::awaitable<error_code> finish();

 private:
  Socket::wait_type sign_of_bytes() const noexcept { return tls_ ? sign_of_tls_bytes() : Socket::wait_read; }
  Socket::wait_type sign_of_tls_bytes() const noexcept;
  asio::awaitable<error_code> shake_hands();
  asio::awaitable<Transferred> read_tls(std::span<char> into);
  asio::awaitable<Transferred> write_tls(std::span<asio::const_buffer const> buffers);
  asio::awaitable<error_code> flush_tls();
  asio::awaitable<bool> give_way();

  Socket socket_;
  std::unique_ptr<Tls> tls_;
  unsigned at_once_ = 0;    // TLS: steps that did not wait
  unsigned cancelled_ = 0;  // times
  bool breaks_ = false;
};

}  // namespace weir::wire
