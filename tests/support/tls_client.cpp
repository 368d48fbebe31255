#include "support/tls_client.hpp"

#include <gtest/gtest.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>

#include "support/client.hpp"

namespace weir::test {

TlsClient::TlsClient(std::uint16_t port, TlsOptions const& options)
    : socket_(connect_to(port, options.connect)),
      context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free),
      tls_(nullptr, &SSL_free) {
  if (!socket_) {
    ADD_FAILURE() << "nobody listens on port " << port;
    return;
  }
  timeval const bound{20, 0};
  setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  SSL_CTX_set_security_level(context_.get(), 0);  // to ask for what nobody should agree to
  SSL_CTX_set_min_proto_version(context_.get(), options.version);
  SSL_CTX_set_max_proto_version(context_.get(), options.version);
  if (!options.ciphers.empty()) SSL_CTX_set_cipher_list(context_.get(), options.ciphers.c_str());
  tls_.reset(SSL_new(context_.get()));
  if (!options.name.empty()) SSL_set_tlsext_host_name(tls_.get(), options.name.c_str());
  if (!options.protocols.empty())
    SSL_set_alpn_protos(tls_.get(), reinterpret_cast<unsigned char const*>(options.protocols.data()),
                        static_cast<unsigned>(options.protocols.size()));
  if (options.resume != nullptr) SSL_set_session(tls_.get(), options.resume);
  if (!options.before.empty() && !socket_.send_all(options.before)) ADD_FAILURE() << "the peer takes nothing";
  SSL_set_fd(tls_.get(), socket_.fd());
  connected_ = SSL_connect(tls_.get()) == 1;
}

std::string TlsClient::certificate_name() const {
  std::unique_ptr<X509, decltype(&X509_free)> const certificate(SSL_get1_peer_certificate(tls_.get()), &X509_free);
  std::array<char, 256> name{};
  if (certificate)
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(), name.size());
  return name.data();
}

std::string TlsClient::protocol() const {
  unsigned char const* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_.get(), &name, &size);
  return {reinterpret_cast<char const*>(name), size};
}

std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> TlsClient::session() const {
  return {SSL_get1_session(tls_.get()), &SSL_SESSION_free};
}

void TlsClient::send(std::string_view bytes) {
  if (SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
    ADD_FAILURE() << "the peer takes no more";
}

Response TlsClient::read(std::string_view method) {
  ResponseReader reader(method);
  for (;;) {
    if (reader.take(buffer_)) return reader.so_far(End::whole);
    std::array<char, 16384> bytes;
    int const got = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (got > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    int const why = SSL_get_error(tls_.get(), got);
    if (why == SSL_ERROR_ZERO_RETURN) return reader.so_far(End::finished);
    if (why == SSL_ERROR_SYSCALL && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      ADD_FAILURE() << "silence";
      return reader.so_far(End::silence);
    }
    return reader.so_far(End::reset);
  }
}

Response TlsClient::get(std::string_view target, Fields const& fields) {
  send(write_request("GET", target, fields));
  return read();
}

bool TlsClient::ends_cleanly() {
  char byte = 0;
  int const got = SSL_read(tls_.get(), &byte, 1);
  return buffer_.empty() && got <= 0 && SSL_get_error(tls_.get(), got) == SSL_ERROR_ZERO_RETURN;
}

}  // namespace weir::test
