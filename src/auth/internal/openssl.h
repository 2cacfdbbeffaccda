// What is asked of OpenSSL in several places here.
#pragma once

#include <string>

#include "base/openssl.h"

namespace homeostat::auth::internal {

using KeyPtr = OpenSslPointer<EVP_PKEY>;
using CertificatePtr = OpenSslPointer<X509>;
using BioPtr = OpenSslPointer<BIO>;

inline bool AddExtension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  OpenSslPointer<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Names the authority's key, if it has a name: an authority that somebody made by hand may have none.
inline bool AddAuthorityKeyId(X509* certificate, X509* issuer) {
  return X509_get_ext_by_NID(issuer, NID_subject_key_identifier, -1) < 0 || AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid");
}

}  // namespace homeostat::auth::internal
