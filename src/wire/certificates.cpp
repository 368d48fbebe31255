#include "weir/wire/certificates.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

namespace weir::wire {
namespace {

namespace asio = boost::asio;

// For TLS 1.2: forward secrecy and authenticated encryption alone. Those of TLS 1.3 are all of that kind.
constexpr char ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

std::string openssl_says() {
  std::array<char, 256> text{};
  auto const error = ERR_peek_last_error();
  ERR_error_string_n(error, text.data(), text.size());
  auto const* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason != nullptr ? reason : text.data();
}

// A pipe or a device could block whoever reads it.
std::string unreadable(std::string const& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "no file `" + file + "`";
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// RFC 7301: HTTP/1.1 is all that is spoken here; who offers only other things is told so.
int on_protocols(SSL*, unsigned char const** chosen, unsigned char* size, unsigned char const* offered, unsigned int all,
                 void*) noexcept {
  static constexpr std::array<unsigned char, 18> spoken{8, 'h', 't', 't', 'p', '/', '1', '.', '1',
                                                        8, 'h', 't', 't', 'p', '/', '1', '.', '0'};
  unsigned char* found = nullptr;
  int const agreed = SSL_select_next_proto(&found, size, spoken.data(), spoken.size(), offered, all);
  *chosen = found;
  return agreed == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

std::string Certificates::add(std::string const& certificate, std::string const& key) {
  for (auto const& file : {certificate, key})
    if (auto wrong = unreadable(file); !wrong.empty()) return wrong;
  ERR_clear_error();
  asio::ssl::context context(asio::ssl::context::tls_server);
  auto* const made = context.native_handle();
  SSL_CTX_set_min_proto_version(made, only_1_3_ ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);  // tickets need no memory here
  SSL_CTX_set_default_passwd_cb(made, [](char*, int, int, void*) { return 0; });  // nobody is there to be asked
  SSL_CTX_set_alpn_select_cb(made, &on_protocols, nullptr);
  if (SSL_CTX_set_cipher_list(made, ciphers) != 1) return openssl_says();
  if (SSL_CTX_use_certificate_chain_file(made, certificate.c_str()) != 1)
    return "`" + certificate + "` holds no certificate that can be used: " + openssl_says();
  if (SSL_CTX_use_PrivateKey_file(made, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return "`" + key + "` holds no key that can be used with `" + certificate + "`: " + openssl_says();
  if (SSL_CTX_check_private_key(made) != 1)
    return "`" + key + "` is not the key of `" + certificate + "`: " + openssl_says();
  if (contexts_.empty()) {
    SSL_CTX_set_tlsext_servername_callback(made, &Certificates::on_server_name);
    SSL_CTX_set_tlsext_servername_arg(made, this);
  }
  learn_names(SSL_CTX_get0_certificate(made), contexts_.size());
  contexts_.push_back(std::move(context));
  return {};
}

// RFC 9525: the names for which a certificate is good are those in subjectAltName. Of two with one name the first serves.
void Certificates::learn_names(X509* certificate, std::size_t index) {
  std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> const names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    auto const* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    auto const* const text = reinterpret_cast<char const*>(ASN1_STRING_get0_data(name->d.dNSName));
    names_.try_emplace(lower({text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))}), index);
  }
}

std::size_t Certificates::choose(std::string_view host) const {
  auto const name = lower(host);
  if (auto const found = names_.find(name); found != names_.end()) return found->second;
  auto const dot = name.find('.');  // a `*` stands for one label
  if (dot == std::string::npos || dot == 0) return 0;
  auto const found = names_.find("*" + name.substr(dot));
  return found != names_.end() ? found->second : 0;
}

int Certificates::on_server_name(SSL* ssl, int*, void* self) noexcept {
  auto const& certificates = *static_cast<Certificates const*>(self);
  auto const* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr || certificates.names_.empty()) return SSL_TLSEXT_ERR_OK;
  try {
    auto const index = certificates.choose(name);
    if (index != 0) SSL_set_SSL_CTX(ssl, certificates.contexts_[index].native_handle());
  } catch (std::exception const&) {  // no memory; C calls us
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace weir::wire
