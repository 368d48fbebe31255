// A client that speaks TLS, by OpenSSL over a plain socket, and verifies nobody. Threads: one at a time for each client.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::test {

struct TlsOptions {
  std::string name{};       // in the handshake; empty: none
  std::string before{};     // bytes in front of the handshake
  int version = 0;          // TLS1_1_VERSION and the like, that one alone; 0: whatever is agreed
  std::string ciphers{};    // of TLS 1.2; empty: OpenSSL's
  std::string protocols{};  // ALPN, length-prefixed: "\x02h2\x08http/1.1"
  SSL_SESSION* resume = nullptr;
  ConnectOptions connect{};
};

class TlsClient {
 public:
  // Connects and shakes hands; `is_connected` says whether that went well. Fails the test if nobody listens there.
  explicit TlsClient(std::uint16_t port, TlsOptions const& options = {});

  bool is_connected() const noexcept { return connected_; }
  std::string certificate_name() const;  // CN of what the server showed
  std::string version() const { return SSL_get_version(tls_.get()); }
  std::string protocol() const;  // that ALPN agreed on; empty: none
  bool was_resumed() const { return SSL_session_reused(tls_.get()) == 1; }
  // Of this connection, once something was read (TLS 1.3 sends tickets behind the handshake).
  std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session() const;

  void send(std::string_view bytes);  // one record where it fits; fails the test if the peer takes no more
  // The next final response, to a request of that method. Silence fails the test.
  Response read(std::string_view method = "GET");
  Response get(std::string_view target, Fields const& fields = {});
  // True: the server said that it closes (close_notify) and closed, without a byte in between.
  bool ends_cleanly();

  Socket& socket() noexcept { return socket_; }
  SSL* handle() noexcept { return tls_.get(); }

 private:
  Socket socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  std::string buffer_;
  bool connected_ = false;
};

}  // namespace weir::test
