// An origin that speaks TLS with a certificate of its own making. It answers `tls <target>` to every request, keeps its
// connections, and counts. Threads: one for each connection; any may ask.
#pragma once

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/socket.hpp"

namespace weir::test {

class TlsOrigin {
 public:
  // Self-signed for `name`, an IPv4 address or a host.
  explicit TlsOrigin(std::string const& name)
      : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free), listener_(listen_on()), file_(make_file()) {
    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
    X509_set_pubkey(certificate.get(), key.get());
    auto* const subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<unsigned char const*>("weir test"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), subject);
    bool const address = name.find_first_not_of("0123456789.") == std::string::npos;
    auto* const extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ((address ? "IP:" : "DNS:") + name).c_str());
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
    if (auto* const out = std::fopen(file_.c_str(), "w")) {
      PEM_write_X509(out, certificate.get());
      std::fclose(out);
    }
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TlsOrigin() {
    listener_.shut_down();
    acceptor_.join();
    for (auto& socket : sockets_) socket.shut_down();
    for (auto& thread : threads_) thread.join();
    ::unlink(file_.c_str());
  }
  TlsOrigin(TlsOrigin const&) = delete;
  TlsOrigin& operator=(TlsOrigin const&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(local_port(listener_)); }
  std::string const& certificate_file() const noexcept { return file_; }
  std::size_t connections() const {
    return locked([this] { return sockets_.size(); });
  }
  std::size_t calls() const {
    return locked([this] { return calls_; });
  }
  std::vector<std::string> names() const {
    return locked([this] { return names_; });
  }  // that clients gave, one a handshake
  // After each answer, in the same record where it fits.
  void append(std::string bytes) {
    locked([&] { extra_ = std::move(bytes); });
  }
  // Bytes more in each body.
  void pad(std::size_t size) {
    locked([&] { padding_ = size; });
  }

 private:
  template <class Work>
  std::invoke_result_t<Work> locked(Work&& work) const {
    std::lock_guard const lock(mutex_);
    return work();
  }
  static std::string make_file() {
    std::string name = "/tmp/weir-tls-XXXXXX";
    ::close(::mkstemp(name.data()));
    return name;
  }
  void accept_all() {
    for (;;) {
      int const fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      std::lock_guard const lock(mutex_);
      sockets_.emplace_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }
  void serve(int fd) {
    std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_.get()), &SSL_free);
    SSL_set_fd(tls.get(), fd);
    if (SSL_accept(tls.get()) == 1) {
      auto const* const name = SSL_get_servername(tls.get(), TLSEXT_NAMETYPE_host_name);
      {
        std::lock_guard const lock(mutex_);
        names_.emplace_back(name ? name : "");
      }
      answer_all(*tls);
    }
    ::shutdown(fd, SHUT_RDWR);
  }
  void answer_all(SSL& tls) {
    std::string head;
    for (char byte = 0; SSL_read(&tls, &byte, 1) == 1;) {
      head += byte;
      if (!head.ends_with("\r\n\r\n")) continue;
      auto const from = head.find(' ') + 1;
      auto body = "tls " + head.substr(from, head.find(' ', from) - from);
      std::string extra;
      {
        std::lock_guard const lock(mutex_);
        ++calls_;
        body.append(padding_, '.');
        extra = extra_;
      }
      auto const answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body + extra;
      if (SSL_write(&tls, answer.data(), static_cast<int>(answer.size())) <= 0) return;
      head.clear();
    }
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  Socket listener_;
  std::string file_;
  mutable std::mutex mutex_;  // guards all below
  std::vector<Socket> sockets_;
  std::vector<std::thread> threads_;
  std::vector<std::string> names_;
  std::string extra_;
  std::size_t padding_ = 0;
  std::size_t calls_ = 0;
  std::thread acceptor_;
};

}  // namespace weir::test
