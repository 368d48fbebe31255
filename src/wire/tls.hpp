// TLS on one socket, both roles: OpenSSL's state and the bytes that the socket has not taken yet. Nothing here waits: what
// cannot go on says would_block, and `Stream` waits for the socket. Not asio::ssl::stream, which holds 70 KiB for each
// connection and can only wait: this one holds no buffer while idle, and answers a hit in the turn that read its request.
// Owner: a Stream. Threads: its worker.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include <openssl/ssl.h>

#include "weir/wire/stream.hpp"

namespace weir::wire {

class Tls {
 public:
  // One record's bytes, the most that one can have (RFC 8446 5.1).
  static constexpr std::size_t record_size = std::size_t{16} * 1024;

  Tls(Stream::Socket& socket, SSL_CTX* context);
  ~Tls();
  Tls(Tls const&) = delete;
  Tls& operator=(Tls const&) = delete;

  // Before the first handshake: which side we are. A client verifies `server_name`, a name or an IP address, where its
  // context verifies; empty: any.
  void be_client(std::string const& server_name) noexcept;
  void be_server() noexcept;

  // Call again until it says something else than would_block: then the other side knows that we have finished too.
  error_code shake_hands() noexcept;
  Transferred read(std::span<char> into) noexcept;
  // What the socket took whole; the rest must be written next, the same bytes in the same order (part of it is
  // encrypted already). Bytes and would_block may come together.
  Transferred write(std::span<asio::const_buffer const> buffers) noexcept;
  // close_notify, where everything before it has gone out.
  void say_goodbye() noexcept;

  bool owes() const noexcept { return sent_ < unsent_.size(); }  // the socket must take more first
  bool holds_bytes() const noexcept { return !starved_ && SSL_has_pending(ssl_) == 1; }
  bool holds_part_of_a_record() const noexcept { return starved_ && SSL_has_pending(ssl_) == 1; }
  bool is_silent() noexcept;  // neither bytes, nor an end, nor an error have come

 private:
  static int send(BIO* bio, char const* data, int size) noexcept;
  static int receive(BIO* bio, char* into, int size) noexcept;
  static long control(BIO* bio, int command, long, void*) noexcept;
  static BIO_METHOD* method() noexcept;

  error_code flush() noexcept;
  error_code reason(int result) noexcept;

  // What one write leaves behind is a record; more is an alert or an answer to a change of keys.
  static constexpr std::size_t most_unsent = 4 * record_size;

  Stream::Socket& socket_;
  SSL* ssl_;
  std::string unsent_;     // encrypted, for the socket
  std::size_t sent_ = 0;   // of it
  std::size_t taken_ = 0;  // plain bytes that are in it, or have left it, and were not reported as written yet
  int system_error_ = 0;   // of the socket
  bool ended_ = false;     // the socket's input
  bool starved_ = false;   // the last read used up all that was there
  bool failed_ = false;
};

}  // namespace weir::wire
