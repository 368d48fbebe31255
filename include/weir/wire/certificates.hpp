// The certificates of a TLS listener: one context each, chosen by the host that a client names (RFC 6066 3), and the rules
// that all of them keep. Read once, then constant: a reload reads new ones, and connections keep what they began with.
// Threads: made by one, then any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/ssl/context.hpp>

namespace weir::wire {

class Certificates {
 public:
  // `only_1_3`: no TLS 1.2 either. Nothing older is ever spoken.
  explicit Certificates(bool only_1_3) : only_1_3_(only_1_3) {}
  Certificates(Certificates const&) = delete;
  Certificates& operator=(Certificates const&) = delete;

  // Files in PEM: the certificate with those that vouch for it, and its private key. What is wrong with them, or nothing.
  // The first is for clients that name no host, or one that no certificate is for.
  std::string add(std::string const& certificate, std::string const& key);
  bool empty() const noexcept { return contexts_.empty(); }

  // For `Stream::start_tls_server`; this object stays until that has ended.
  boost::asio::ssl::context& context() const noexcept { return contexts_.front(); }
  // Which certificate a client gets that names `host`, by its index.
  std::size_t choose(std::string_view host) const;

 private:
  static int on_server_name(SSL* ssl, int*, void* self) noexcept;
  void learn_names(X509* certificate, std::size_t index);

  bool only_1_3_;
  // Handing out a connection's state changes a context's counts, which are OpenSSL's to guard.
  mutable std::vector<boost::asio::ssl::context> contexts_;
  std::unordered_map<std::string, std::size_t> names_;  // lower case; "*.shop.example" too
};

}  // namespace weir::wire
