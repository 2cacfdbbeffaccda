// OpenSSL's objects with an owner.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace homeostat::auth::internal {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const { Free(object); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Deleter<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

// Whether what the authority signs can name its key: an authority that somebody made by hand may have no identifier for it.
inline bool HasKeyId(const X509* authority) { return X509_get_ext_by_NID(authority, NID_subject_key_identifier, -1) >= 0; }

}  // namespace homeostat::auth::internal
