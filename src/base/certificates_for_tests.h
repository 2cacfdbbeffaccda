// Certificates made on the spot, for tests of TLS and of what stands on it.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "base/openssl.h"

namespace homeostat::testing {

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string alternative_names;  // "DNS:localhost,IP:127.0.0.1"
  std::string usage;              // "serverAuth", "clientAuth"; empty: any
  bool ca = false;
  long valid_from = -3600, valid_to = 3600;  // seconds from `now`
  time_t now = time(nullptr);
};

// A key and its certificate. Signs others if it was requested as a CA.
class TestCertificate {
 public:
  // Signed by `issuer`, or by itself.
  explicit TestCertificate(const CertificateRequest& request, const TestCertificate* issuer = nullptr)
      : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free), certificate_(X509_new(), &X509_free) {
    X509* x = certificate_.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), NextSerial());
    ASN1_TIME_set(X509_getm_notBefore(x), request.now + request.valid_from);
    ASN1_TIME_set(X509_getm_notAfter(x), request.now + request.valid_to);
    X509_set_pubkey(x, key_.get());
    X509_NAME* name = X509_get_subject_name(x);
    for (const std::string& organization : request.organizations) AddName(name, "O", organization);
    AddName(name, "CN", request.common_name);
    X509_set_issuer_name(x, X509_get_subject_name(issuer != nullptr ? issuer->certificate_.get() : x));
    if (request.ca) AddExtension(NID_basic_constraints, "critical,CA:TRUE");
    if (!request.alternative_names.empty()) AddExtension(NID_subject_alt_name, request.alternative_names);
    if (!request.usage.empty()) AddExtension(NID_ext_key_usage, request.usage);
    X509_sign(x, (issuer != nullptr ? issuer->key_ : key_).get(), EVP_sha256());
  }

  std::string certificate() const {
    return Pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate_.get()); });
  }
  std::string key() const {
    return Pem([&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }

 private:
  static long NextSerial() {
    static long serial = 0;
    return ++serial;
  }
  static void AddName(X509_NAME* name, const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  }
  void AddExtension(int kind, const std::string& text) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, text.c_str());
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class Writer>
  static std::string Pem(Writer write) {
    OpenSslPointer<BIO> bio(BIO_new(BIO_s_mem()));
    write(bio.get());
    char* text = nullptr;
    long size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<size_t>(size));
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace homeostat::testing
