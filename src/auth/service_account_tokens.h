// Service account tokens: signed statements of who a pod is, for whom it may say so, and what it is bound to.
// Source: RFC 7519 and 7515 (RS256, ES256 …), KEP-1205 (bound tokens); claims as upstream's serviceaccount package writes them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/authenticator.h"
#include "homeostat/base/runtime.h"
#include "kinds/behaviour.h"

namespace homeostat::auth {

// A key of RSA or ECDSA that signs and whose public half anybody may have. Immutable.
class SigningKey {
 public:
  static Result<std::shared_ptr<const SigningKey>> Load(std::string_view private_key_pem);
  // The keys of a PEM text to check tokens with: public ones, those of certificates and those of private keys, in order. They
  // don't sign. What else the text has is passed over; an error if there is none.
  static Result<std::vector<std::shared_ptr<const SigningKey>>> LoadPublic(std::string_view pem);
  virtual ~SigningKey() = default;
  virtual Result<std::string> Sign(std::string_view text) const = 0;
  virtual bool Verify(std::string_view text, std::string_view signature) const = 0;
  // As tokens name it: RS256, ES256, ES384 or ES512.
  virtual std::string_view algorithm() const = 0;
  // Unpadded base64url of the SHA-256 of the public key.
  virtual const std::string& key_id() const = 0;
  // The public half as a JSON Web Key (RFC 7517), in the order that upstream writes it.
  virtual const std::string& public_jwk() const = 0;
};

// What a token is tied to: it ends with it.
struct BoundObject {
  std::string kind;                     // Pod, Node or Secret; empty: only the service account itself
  std::string name, uid;
};

struct TokenClaims {
  std::string ns, service_account, service_account_uid;
  BoundObject bound;
  std::string node_name, node_uid;      // of a bound pod
  std::vector<std::string> audiences;
  WallTime issued{}, expires{}, not_before{};
  std::string id;                       // jti
  // Set when the client asked for the usual hour: it really lasts a year, and warns after this (upstream's extension).
  std::optional<WallTime> warn_after;
};

// A token without an end, kept in a secret: it holds as long as the secret keeps it and the account is there.
struct LegacyTokenClaims {
  std::string ns, service_account, service_account_uid, secret;
};

struct TokenOptions {
  std::string issuer = "https://kubernetes.default.svc";
  std::vector<std::string> other_issuers;  // whose tokens are good, too
  std::string jwks_uri;                    // where the public keys are; empty: below the issuer
  std::vector<std::string> api_audiences = {"https://kubernetes.default.svc"};
};

// Issues and reads tokens. Loop only.
class ServiceAccountTokens : public Authenticator {
 public:
  ServiceAccountTokens(Runtime& runtime, const kinds::ObjectReader& objects, TokenOptions options);

  // The key may come some time after the start; until then no token is valid and Issue says to try again.
  void SetKey(std::shared_ptr<const SigningKey> key) { key_ = std::move(key); }
  const SigningKey* key() const { return key_.get(); }
  // The keys that tokens are checked with. Without any it is the one that signs; with some it must be among them.
  void SetCheckingKeys(std::vector<std::shared_ptr<const SigningKey>> keys) { checking_keys_ = std::move(keys); }
  std::vector<const SigningKey*> checking_keys() const;
  const TokenOptions& options() const { return options_; }

  Result<std::string> Issue(const TokenClaims& claims) const;
  Result<std::string> IssueLegacy(const LegacyTokenClaims& claims) const;
  // The user of a token that is good for one of the audiences: signature, times, the service account and the bound
  // object must be as they were. Gives the audiences that fit.
  struct Verified {
    User user;
    std::vector<std::string> audiences;
  };
  Result<Verified> Verify(std::string_view token, const std::vector<std::string>& audiences) const;

  // `Authorization: Bearer …`, and the WebSocket subprotocol that carries one.
  Result<std::optional<User>> Authenticate(const http::Request& request) override;

 private:
  Result<std::string> Encode(const std::string& claims) const;
  Result<TokenClaims> ReadClaims(std::string_view token) const;
  Result<void> CheckSignature(const object::Value& header, std::string_view text, std::string_view signature) const;
  bool IsIssuer(std::string_view issuer) const;
  Result<void> CheckTimes(const TokenClaims& claims) const;
  // Of a token without an end, which the secret it names must still keep.
  Result<TokenClaims> ReadLegacyClaims(const object::Value& body, std::string_view token) const;
  Result<void> CheckAlive(const TokenClaims& claims) const;
  bool IsGone(const object::Value& object) const;

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  TokenOptions options_;
  std::shared_ptr<const SigningKey> key_;
  std::vector<std::shared_ptr<const SigningKey>> checking_keys_;
};

// True of the WebSocket subprotocol that carries a token and is none that is spoken.
bool IsTokenSubprotocol(std::string_view name);

// The bearer token of a request; empty if there is none.
std::string BearerToken(const http::Request& request);

// A verified client certificate's common name and organizations, and the certificate's digest as the user's credential id.
class CertificateAuthenticator : public Authenticator {
 public:
  explicit CertificateAuthenticator(Runtime& runtime) : runtime_(runtime) {}
  Result<std::optional<User>> Authenticate(const http::Request& request) override;

 private:
  Runtime& runtime_;
};

}  // namespace homeostat::auth
