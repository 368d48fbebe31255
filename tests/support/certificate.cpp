#include "support/certificate.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace weir::test {
namespace {

std::string new_file() {
  auto name = testing::TempDir() + "weir-certificate-XXXXXX";
  int const fd = ::mkstemp(name.data());
  EXPECT_GE(fd, 0) << name;
  ::close(fd);
  return name;
}

template <class Write>
void write_to(std::string const& file, Write const& write) {
  std::unique_ptr<FILE, int (*)(FILE*)> const out(std::fopen(file.c_str(), "w"), &std::fclose);
  if (!out || write(out.get()) != 1) ADD_FAILURE() << "cannot write " << file;
}

}  // namespace

Certificate::Certificate(std::vector<std::string> const& names) : file_(new_file()), key_file_(new_file()) { renew(names); }

Certificate::~Certificate() {
  ::unlink(file_.c_str());
  ::unlink(key_file_.c_str());
}

void Certificate::renew(std::vector<std::string> const& names) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> const key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  std::unique_ptr<X509, decltype(&X509_free)> const certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key.get());
  auto* const subject = X509_get_subject_name(certificate.get());
  auto const* const common = reinterpret_cast<unsigned char const*>(names.empty() ? "weir test" : names.front().c_str());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, common, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  std::string all;
  for (auto const& name : names) {
    bool const address = name.find_first_not_of("0123456789.") == std::string::npos;
    all.append(all.empty() ? "" : ",").append(address ? "IP:" : "DNS:").append(name);
  }
  if (!all.empty()) {
    auto* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, all.c_str());
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  write_to(file_, [&](FILE* out) { return PEM_write_X509(out, certificate.get()); });
  write_to(key_file_,
           [&](FILE* out) { return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace weir::test
