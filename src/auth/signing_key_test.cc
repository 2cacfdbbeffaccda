#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "auth/pki.h"
#include "auth/service_account_tokens.h"

namespace homeostat::auth {
namespace {

std::string EcKey(const char* curve) {
  EVP_PKEY* key = EVP_EC_gen(curve);
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  std::string pem(static_cast<size_t>(BIO_get_mem_data(bio, &data)), '\0');
  pem.assign(data, pem.size());
  BIO_free(bio);
  EVP_PKEY_free(key);
  return pem;
}

TEST(SigningKeyTest, SignsWithWhatTokensMayBeSignedWith) {
  const struct {
    std::string pem, algorithm, type;
    size_t octets;
  } cases[] = {{MakeRsaKey().value(), "RS256", R"("kty":"RSA")", 256},
               {EcKey("P-256"), "ES256", R"("crv":"P-256")", 64},
               {EcKey("P-384"), "ES384", R"("crv":"P-384")", 96},
               {EcKey("P-521"), "ES512", R"("crv":"P-521")", 132}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.algorithm);
    auto key = SigningKey::Load(one.pem);
    ASSERT_TRUE(key) << key.error().message();
    EXPECT_EQ((*key)->algorithm(), one.algorithm);
    EXPECT_NE((*key)->public_jwk().find(one.type), std::string::npos) << (*key)->public_jwk();
    auto signature = (*key)->Sign("text");
    ASSERT_TRUE(signature);
    EXPECT_EQ(signature->size(), one.octets);
    EXPECT_TRUE((*key)->Verify("text", *signature));
    EXPECT_FALSE((*key)->Verify("texts", *signature));
    EXPECT_FALSE((*key)->Verify("text", signature->substr(1)));
    EXPECT_FALSE((*key)->Verify("text", ""));
  }
  EXPECT_FALSE(SigningKey::Load(EcKey("secp256k1")));
  EXPECT_FALSE(SigningKey::Load("no key"));
}

std::string PublicPem(std::string_view private_pem) {
  BIO* in = BIO_new_mem_buf(private_pem.data(), static_cast<int>(private_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(out, key);
  char* data = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(out, &data));
  std::string pem(data, size);
  BIO_free(in);
  BIO_free(out);
  EVP_PKEY_free(key);
  return pem;
}

TEST(SigningKeyTest, PublicKeysOfAFile) {
  auto runtime = SimulatedRuntime::Make(1);
  const std::string rsa = MakeRsaKey().value(), ec = EcKey("P-256");
  PkiOptions options;
  options.server_dns_names = {"localhost"};
  const std::string certificate = LoadPki(*runtime, options).value().authority.certificate;
  const std::string junk = "-----BEGIN NOTHING-----\nAAAA\n-----END NOTHING-----\n";
  auto keys = SigningKey::LoadPublic("text before\n" + PublicPem(rsa) + junk + certificate + ec + PublicPem(EcKey("secp256k1")));
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 3u);
  auto signer = SigningKey::Load(rsa).value();
  const std::string signature = signer->Sign("text").value();
  EXPECT_EQ((*keys)[0]->key_id(), signer->key_id());
  EXPECT_TRUE((*keys)[0]->Verify("text", signature));
  EXPECT_FALSE((*keys)[0]->Sign("text"));
  EXPECT_FALSE((*keys)[2]->Verify("text", signature));
  EXPECT_EQ((*keys)[2]->algorithm(), "ES256");
  for (std::string_view none : {std::string_view(""), std::string_view("no key"), std::string_view(junk)}) EXPECT_FALSE(SigningKey::LoadPublic(none));
}

}  // namespace
}  // namespace homeostat::auth
