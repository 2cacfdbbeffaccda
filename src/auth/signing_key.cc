// The keys of service_account_tokens.h: RSA, and ECDSA over the curves that JSON Web Algorithms has (RFC 7518, section 3.4).
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>

#include "auth/internal/openssl.h"
#include "auth/service_account_tokens.h"
#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using internal::KeyPtr;
using ContextPtr = OpenSslPointer<EVP_MD_CTX>;

// A number of the key, big-endian, at least `size` octets.
std::string NumberText(EVP_PKEY* key, const char* parameter, size_t size = 0) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, parameter, &number) != 1) return "";
  std::string octets(std::max(size, static_cast<size_t>(BN_num_bytes(number))), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(octets.data()), static_cast<int>(octets.size()));
  BN_free(number);
  return Base64UrlEncode(octets);
}

struct Curve {
  std::string_view openssl, name, algorithm;
  size_t octets;                          // of a coordinate, and of each half of a signature
  const EVP_MD* (*digest)();
};
constexpr Curve kCurves[] = {{"prime256v1", "P-256", "ES256", 32, EVP_sha256},
                             {"secp384r1", "P-384", "ES384", 48, EVP_sha384},
                             {"secp521r1", "P-521", "ES512", 66, EVP_sha512}};

const Curve* CurveOf(EVP_PKEY* key) {
  char name[64] = {};
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, nullptr) != 1) return nullptr;
  auto found = std::ranges::find(kCurves, std::string_view(name), &Curve::openssl);
  return found == std::end(kCurves) ? nullptr : found;
}

const unsigned char* Octets(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// OpenSSL writes a signature of ECDSA as a DER sequence of two numbers; a token has them side by side.
std::string SideBySide(std::string_view der, size_t octets) {
  const unsigned char* at = Octets(der);
  ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  if (pair == nullptr) return "";
  std::string text(2 * octets, '\0');
  auto* out = reinterpret_cast<unsigned char*>(text.data());
  const int size = static_cast<int>(octets);
  const bool fits = BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, size) == size && BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + octets, size) == size;
  ECDSA_SIG_free(pair);
  return fits ? text : "";
}

std::string AsDer(std::string_view text, size_t octets) {
  if (text.size() != 2 * octets) return "";
  ECDSA_SIG* pair = ECDSA_SIG_new();
  const int size = static_cast<int>(octets);
  ECDSA_SIG_set0(pair, BN_bin2bn(Octets(text), size, nullptr), BN_bin2bn(Octets(text.substr(octets)), size, nullptr));
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(pair, &der);
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(std::max(length, 0)));
  OPENSSL_free(der);
  ECDSA_SIG_free(pair);
  return out;
}

class OpensslKey : public SigningKey {
 public:
  // curve: null for RSA.
  OpensslKey(KeyPtr key, const Curve* curve) : key_(std::move(key)), curve_(curve), digest_(curve != nullptr ? curve->digest() : EVP_sha256()) {
    unsigned char* der = nullptr;
    int size = i2d_PUBKEY(key_.get(), &der);
    if (size > 0) key_id_ = Base64UrlEncode(Sha256(std::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size))));
    OPENSSL_free(der);
    std::string head = R"({"use":"sig","kty":")" + std::string(curve != nullptr ? "EC" : "RSA") + R"(","kid":")" + key_id_ + '"';
    std::string algorithm = R"(,"alg":")" + std::string(OpensslKey::algorithm()) + '"';
    if (curve_ == nullptr) {
      public_jwk_ = head + algorithm + R"(,"n":")" + NumberText(key_.get(), OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
                    NumberText(key_.get(), OSSL_PKEY_PARAM_RSA_E) + "\"}";
    } else {
      public_jwk_ = head + R"(,"crv":")" + std::string(curve_->name) + '"' + algorithm + R"(,"x":")" +
                    NumberText(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, curve_->octets) + R"(","y":")" +
                    NumberText(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, curve_->octets) + "\"}";
    }
  }

  Result<std::string> Sign(std::string_view text) const override {
    ContextPtr context(EVP_MD_CTX_new());
    size_t size = 0;
    if (EVP_DigestSignInit(context.get(), nullptr, digest_, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), nullptr, &size, Octets(text), text.size()) != 1) {
      return Fail(InternalError("signing a token failed"));
    }
    std::string signature(size, '\0');
    if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, Octets(text), text.size()) != 1) {
      return Fail(InternalError("signing a token failed"));
    }
    signature.resize(size);
    return curve_ != nullptr ? SideBySide(signature, curve_->octets) : signature;
  }

  bool Verify(std::string_view text, std::string_view signature) const override {
    ContextPtr context(EVP_MD_CTX_new());
    const std::string der = curve_ != nullptr ? AsDer(signature, curve_->octets) : std::string(signature);
    return EVP_DigestVerifyInit(context.get(), nullptr, digest_, nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), Octets(der), der.size(), Octets(text), text.size()) == 1;
  }

  std::string_view algorithm() const override { return curve_ != nullptr ? curve_->algorithm : "RS256"; }
  const std::string& key_id() const override { return key_id_; }
  const std::string& public_jwk() const override { return public_jwk_; }

 private:
  KeyPtr key_;
  const Curve* curve_;
  const EVP_MD* digest_;
  std::string key_id_, public_jwk_;
};

// Null for a key that tokens can't have.
std::shared_ptr<const SigningKey> Wrap(KeyPtr key) {
  const bool rsa = key && EVP_PKEY_base_id(key.get()) == EVP_PKEY_RSA;
  const Curve* curve = key && !rsa ? CurveOf(key.get()) : nullptr;
  if (!rsa && curve == nullptr) return nullptr;
  return std::make_shared<OpensslKey>(std::move(key), curve);
}

KeyPtr PublicKeyIn(std::string_view label, std::string_view der) {
  const unsigned char* at = Octets(der);
  const auto size = static_cast<long>(der.size());
  if (label == "CERTIFICATE") {
    internal::CertificatePtr certificate(d2i_X509(nullptr, &at, size));
    return KeyPtr(certificate ? X509_get_pubkey(certificate.get()) : nullptr);
  }
  if (label == "PUBLIC KEY") return KeyPtr(d2i_PUBKEY(nullptr, &at, size));
  if (label == "RSA PUBLIC KEY") return KeyPtr(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, size));
  return KeyPtr(d2i_AutoPrivateKey(nullptr, &at, size));
}

}  // namespace

Result<std::shared_ptr<const SigningKey>> SigningKey::Load(std::string_view pem) {
  internal::BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::shared_ptr<const SigningKey> key = Wrap(KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr)));
  if (!key) {
    return Fail(InternalError("the key for service account tokens is not a private key of RSA, or of ECDSA over P-256, P-384 or P-521"));
  }
  return key;
}

Result<std::vector<std::shared_ptr<const SigningKey>>> SigningKey::LoadPublic(std::string_view pem) {
  internal::BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<std::shared_ptr<const SigningKey>> keys;
  char* label = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  while (PEM_read_bio(bio.get(), &label, &header, &data, &size) == 1) {
    auto key = Wrap(PublicKeyIn(label, {reinterpret_cast<const char*>(data), static_cast<size_t>(size)}));
    if (key) keys.push_back(std::move(key));
    OPENSSL_free(label);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
  if (keys.empty()) return Fail(SystemError("data does not contain any valid RSA or ECDSA public keys"));
  return keys;
}

}  // namespace homeostat::auth
