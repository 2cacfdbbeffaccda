// The RSA half of service_account_tokens.h.
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "auth/service_account_tokens.h"
#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyDeleter>;
using ContextPtr = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

std::string NumberText(EVP_PKEY* key, const char* parameter) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, parameter, &number) != 1) return "";
  std::string octets(static_cast<size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(octets.data()));
  BN_free(number);
  return Base64UrlEncode(octets);
}

class RsaKey : public SigningKey {
 public:
  explicit RsaKey(KeyPtr key) : key_(std::move(key)) {
    unsigned char* der = nullptr;
    int size = i2d_PUBKEY(key_.get(), &der);
    if (size > 0) key_id_ = Base64UrlEncode(Sha256(std::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size))));
    OPENSSL_free(der);
    public_jwk_ = R"({"use":"sig","kty":"RSA","kid":")" + key_id_ + R"(","alg":"RS256","n":")" +
                  NumberText(key_.get(), OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" + NumberText(key_.get(), OSSL_PKEY_PARAM_RSA_E) +
                  "\"}";
  }

  Result<std::string> Sign(std::string_view text) const override {
    ContextPtr context(EVP_MD_CTX_new());
    size_t size = 0;
    auto* data = reinterpret_cast<const unsigned char*>(text.data());
    if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) != 1) {
      return Fail(InternalError("signing a token failed"));
    }
    std::string signature(size, '\0');
    if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data, text.size()) != 1) {
      return Fail(InternalError("signing a token failed"));
    }
    signature.resize(size);
    return signature;
  }

  bool Verify(std::string_view text, std::string_view signature) const override {
    ContextPtr context(EVP_MD_CTX_new());
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  }

  const std::string& key_id() const override { return key_id_; }
  const std::string& public_jwk() const override { return public_jwk_; }

 private:
  KeyPtr key_;
  std::string key_id_, public_jwk_;
};

}  // namespace

Result<std::shared_ptr<const SigningKey>> SigningKey::Load(std::string_view pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  KeyPtr key(PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr));
  BIO_free(bio);
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return Fail(InternalError("the key for service account tokens is not an RSA private key"));
  }
  return std::shared_ptr<const SigningKey>(std::make_shared<RsaKey>(std::move(key)));
}

}  // namespace homeostat::auth
