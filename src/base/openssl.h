// OpenSSL's objects with an owner.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace homeostat {

struct OpenSslFree {
  void operator()(SSL_CTX* value) const { SSL_CTX_free(value); }
  void operator()(SSL* value) const { SSL_free(value); }
  void operator()(X509* value) const { X509_free(value); }
  void operator()(X509_EXTENSION* value) const { X509_EXTENSION_free(value); }
  void operator()(X509_REQ* value) const { X509_REQ_free(value); }
  void operator()(X509_STORE* value) const { X509_STORE_free(value); }
  void operator()(X509_STORE_CTX* value) const { X509_STORE_CTX_free(value); }
  void operator()(GENERAL_NAMES* value) const { GENERAL_NAMES_free(value); }
  void operator()(EVP_PKEY* value) const { EVP_PKEY_free(value); }
  void operator()(EVP_MD_CTX* value) const { EVP_MD_CTX_free(value); }
  void operator()(BIO* value) const { BIO_free_all(value); }
};
template <class T>
using OpenSslPointer = std::unique_ptr<T, OpenSslFree>;

}  // namespace homeostat
