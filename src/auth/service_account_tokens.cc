#include "auth/service_account_tokens.h"

#include <algorithm>

#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"

namespace homeostat::auth {
namespace {

using object::Value;

// How far clocks may be apart.
constexpr Duration kLeeway = std::chrono::minutes(1);
constexpr std::string_view kLegacyIssuer = "kubernetes/serviceaccount";
constexpr std::string_view kLegacyNamespace = "kubernetes.io/serviceaccount/namespace", kLegacySecret = "kubernetes.io/serviceaccount/secret.name";
constexpr std::string_view kLegacyAccount = "kubernetes.io/serviceaccount/service-account.name";
constexpr std::string_view kLegacyUid = "kubernetes.io/serviceaccount/service-account.uid";
constexpr std::string_view kWebSocketBearer = "base64url.bearer.authorization.k8s.io.";

int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}
WallTime FromSeconds(int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

void AppendString(std::string& out, std::string_view name, std::string_view value, bool first = false) {
  if (!first) out += ',';
  object::AppendJsonString(out, name);
  out += ':';
  object::AppendJsonString(out, value);
}

void AppendReference(std::string& out, std::string_view name, std::string_view object_name, std::string_view uid) {
  out += ',';
  object::AppendJsonString(out, name);
  out += ":{";
  AppendString(out, "name", object_name, true);
  AppendString(out, "uid", uid);
  out += '}';
}

std::string ClaimsText(const TokenClaims& claims, const std::string& issuer) {
  std::string out = R"({"aud":[)";
  for (size_t i = 0; i < claims.audiences.size(); ++i) {
    if (i > 0) out += ',';
    object::AppendJsonString(out, claims.audiences[i]);
  }
  out += "],\"exp\":" + std::to_string(Seconds(claims.expires)) + ",\"iat\":" + std::to_string(Seconds(claims.issued));
  AppendString(out, "iss", issuer);
  AppendString(out, "jti", claims.id);
  out += R"(,"kubernetes.io":{)";
  AppendString(out, "namespace", claims.ns, true);
  if (!claims.node_name.empty() && claims.bound.kind != "Node") AppendReference(out, "node", claims.node_name, claims.node_uid);
  if (!claims.bound.kind.empty()) AppendReference(out, LowerCase(claims.bound.kind), claims.bound.name, claims.bound.uid);
  AppendReference(out, "serviceaccount", claims.service_account, claims.service_account_uid);
  if (claims.warn_after) out += ",\"warnafter\":" + std::to_string(Seconds(*claims.warn_after));
  out += "},\"nbf\":" + std::to_string(Seconds(claims.issued));
  AppendString(out, "sub", "system:serviceaccount:" + claims.ns + ":" + claims.service_account);
  return out + "}";
}

// Upstream's words, as TokenReview passes them on: what is no token of ours, and what is but is not good.
std::unexpected<Status> NoToken() { return Fail(UnauthorizedError("invalid bearer token")); }
std::unexpected<Status> Refused(std::string_view why) { return Fail(UnauthorizedError("[invalid bearer token, " + std::string(why) + "]")); }

// ["a" "b"]
std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : " ") + GoQuote(text);
  return "[" + list + "]";
}

std::vector<std::string> Intersection(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> both;
  for (const std::string& text : a) if (std::ranges::find(b, text) != b.end()) both.push_back(text);
  return both;
}

BoundObject ReadBound(const Value& claims) {
  for (std::string_view kind : {"Pod", "Secret", "Node"}) {
    Value reference = claims.Get(LowerCase(kind));
    if (!reference) continue;
    return {std::string(kind), std::string(reference.Get("name").AsString()), std::string(reference.Get("uid").AsString())};
  }
  return {};
}

User UserOf(const TokenClaims& claims) {
  User user;
  user.name = "system:serviceaccount:" + claims.ns + ":" + claims.service_account;
  user.uid = claims.service_account_uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims.ns};
  if (!claims.id.empty()) user.extra.push_back({"authentication.kubernetes.io/credential-id", {"JTI=" + claims.id}});
  if (!claims.node_name.empty()) {
    user.extra.push_back({"authentication.kubernetes.io/node-name", {claims.node_name}});
    if (!claims.node_uid.empty()) user.extra.push_back({"authentication.kubernetes.io/node-uid", {claims.node_uid}});
  }
  if (claims.bound.kind == "Pod") {
    user.extra.push_back({"authentication.kubernetes.io/pod-name", {claims.bound.name}});
    user.extra.push_back({"authentication.kubernetes.io/pod-uid", {claims.bound.uid}});
  }
  return user;
}

}  // namespace

ServiceAccountTokens::ServiceAccountTokens(Runtime& runtime, const kinds::ObjectReader& objects, TokenOptions options)
    : runtime_(runtime), objects_(objects), options_(std::move(options)) {}

Result<std::string> ServiceAccountTokens::Issue(const TokenClaims& claims) const {
  return Encode(ClaimsText(claims, options_.issuer));
}

Result<std::string> ServiceAccountTokens::IssueLegacy(const LegacyTokenClaims& claims) const {
  std::string text = "{";
  AppendString(text, "iss", kLegacyIssuer, true);
  AppendString(text, kLegacyNamespace, claims.ns);
  AppendString(text, kLegacySecret, claims.secret);
  AppendString(text, kLegacyAccount, claims.service_account);
  AppendString(text, kLegacyUid, claims.service_account_uid);
  AppendString(text, "sub", "system:serviceaccount:" + claims.ns + ":" + claims.service_account);
  return Encode(text + "}");
}

Result<std::string> ServiceAccountTokens::Encode(const std::string& claims) const {
  if (!key_) return Fail(TooManyRequestsError("the key for service account tokens is still being made; try again", 1));
  std::string header = R"({"alg":")" + std::string(key_->algorithm()) + R"(","kid":")" + key_->key_id() + "\"}";
  std::string text = Base64UrlEncode(header) + "." + Base64UrlEncode(claims);
  TRY_ASSIGN(std::string signature, key_->Sign(text));
  return text + "." + Base64UrlEncode(signature);
}

Result<TokenClaims> ServiceAccountTokens::ReadLegacyClaims(const Value& body, std::string_view token) const {
  TokenClaims claims;
  claims.ns = body.Get(kLegacyNamespace).AsString();
  claims.service_account = body.Get(kLegacyAccount).AsString();
  claims.service_account_uid = body.Get(kLegacyUid).AsString();
  std::string secret_name(body.Get(kLegacySecret).AsString());
  object::DocumentPtr secret = objects_.Get("", "secrets", claims.ns, secret_name);
  if (!secret || secret->root().Path({"metadata", "deletionTimestamp"})) return Refused("the secret " + secret_name + " that keeps it is gone");
  if (secret->root().Path({"data", "token"}).AsString() != token) return Refused("the secret " + secret_name + " keeps another");
  claims.audiences = options_.api_audiences;
  claims.expires = WallTime::max();  // it ends with its secret
  return claims;
}

bool ServiceAccountTokens::IsIssuer(std::string_view issuer) const {
  return issuer == options_.issuer || std::ranges::find(options_.other_issuers, issuer) != options_.other_issuers.end();
}

std::vector<const SigningKey*> ServiceAccountTokens::checking_keys() const {
  std::vector<const SigningKey*> keys;
  for (const auto& key : checking_keys_) keys.push_back(key.get());
  if (keys.empty() && key_) keys.push_back(key_.get());
  return keys;
}

Result<void> ServiceAccountTokens::CheckSignature(const Value& header, std::string_view text, std::string_view signature) const {
  const std::string_view key_id = header.Get("kid").AsString();
  bool found = false;
  for (const SigningKey* key : checking_keys()) {
    if (!key_id.empty() && key_id != key->key_id()) continue;
    found = true;
    // The algorithm is ours, never the token's to choose.
    if (header.Get("alg").AsString() == key->algorithm() && key->Verify(text, signature)) return {};
  }
  return found ? Refused("go-jose/go-jose: error in cryptographic primitive") : Refused("invalid signature, no keys found");
}

Result<TokenClaims> ServiceAccountTokens::ReadClaims(std::string_view token) const {
  size_t first = token.find('.'), last = token.rfind('.');
  if (first == token.npos || first == last) return NoToken();
  auto header_text = Base64UrlDecode(token.substr(0, first));
  auto claims_text = Base64UrlDecode(token.substr(first + 1, last - first - 1));
  auto signature = Base64UrlDecode(token.substr(last + 1));
  if (!header_text || !claims_text || !signature) return NoToken();
  object::Arena arena;
  auto header = object::ParseJson(arena, *header_text), body = object::ParseJson(arena, *claims_text);
  if (!header || !body) return NoToken();
  std::string_view issuer = body->Get("iss").AsString();
  if (!IsIssuer(issuer) && issuer != kLegacyIssuer) return NoToken();
  TRY(CheckSignature(*header, token.substr(0, last), *signature));
  if (issuer == kLegacyIssuer) return ReadLegacyClaims(*body, token);

  TokenClaims claims;
  Value own = body->Get("kubernetes.io");
  claims.ns = own.Get("namespace").AsString();
  claims.service_account = own.Path({"serviceaccount", "name"}).AsString();
  claims.service_account_uid = own.Path({"serviceaccount", "uid"}).AsString();
  claims.bound = ReadBound(own);
  claims.node_name = own.Path({"node", "name"}).AsString();
  claims.node_uid = own.Path({"node", "uid"}).AsString();
  Value audience = body->Get("aud");
  if (audience.IsString()) claims.audiences.emplace_back(audience.AsString());
  for (const Value& item : audience.items()) claims.audiences.emplace_back(item.AsString());
  claims.issued = FromSeconds(body->Get("iat").AsInt());
  claims.expires = FromSeconds(body->Get("exp").AsInt());
  claims.not_before = FromSeconds(body->Get("nbf").AsInt());
  claims.id = body->Get("jti").AsString();
  return claims;
}

Result<void> ServiceAccountTokens::CheckTimes(const TokenClaims& claims) const {
  WallTime now = runtime_.WallNow();
  if (now + kLeeway < claims.not_before) return Refused("service account token is not valid yet");
  if (now - kLeeway > claims.expires) return Refused("service account token has expired");
  if (now + kLeeway < claims.issued) return Refused("service account token is issued in the future");
  return {};
}

// Gone for a while already, though something still holds the object.
bool ServiceAccountTokens::IsGone(const Value& object) const {
  auto deleted = object::ParseTime(object.Path({"metadata", "deletionTimestamp"}).AsString());
  return deleted && deleted->ToClock() < runtime_.WallNow() - kLeeway;
}

Result<void> ServiceAccountTokens::CheckAlive(const TokenClaims& claims) const {
  object::DocumentPtr account = objects_.Get("", "serviceaccounts", claims.ns, claims.service_account);
  if (!account) return Refused(NotFoundError("", "serviceaccounts", claims.service_account).message());
  auto uid_of = [](const object::DocumentPtr& object) { return object->root().Path({"metadata", "uid"}).AsString(); };
  if (uid_of(account) != claims.service_account_uid) {
    return Refused("service account UID (" + std::string(uid_of(account)) + ") does not match claim (" + claims.service_account_uid + ")");
  }
  if (IsGone(account->root())) return Refused("service account " + claims.ns + "/" + claims.service_account + " has been deleted");
  const std::string& kind = claims.bound.kind;
  if (kind.empty()) return {};
  std::string what = LowerCase(kind);
  object::DocumentPtr bound =
      objects_.Get("", what + "s", kind == "Node" ? std::string_view() : std::string_view(claims.ns), claims.bound.name);
  if (!bound) return Refused("service account token has been invalidated");
  if (uid_of(bound) != claims.bound.uid) {
    return Refused(what + " UID (" + std::string(uid_of(bound)) + ") does not match service account " + what + " ref claim (" + claims.bound.uid + ")");
  }
  if (IsGone(bound->root())) return Refused("service account token has been invalidated");
  return {};
}

Result<ServiceAccountTokens::Verified> ServiceAccountTokens::Verify(std::string_view token,
                                                                    const std::vector<std::string>& audiences) const {
  TRY_ASSIGN(TokenClaims claims, ReadClaims(token));
  std::vector<std::string> fitting = Intersection(claims.audiences, audiences);
  if (fitting.empty()) {
    return Refused("token audiences " + QuotedList(claims.audiences) + " is invalid for the target audiences " + QuotedList(audiences));
  }
  TRY(CheckTimes(claims));
  TRY(CheckAlive(claims));
  return Verified{UserOf(claims), std::move(fitting)};
}

Result<std::optional<User>> ServiceAccountTokens::Authenticate(const http::Request& request) {
  std::string token = BearerToken(request);
  if (token.empty()) return std::optional<User>();
  TRY_ASSIGN(Verified verified, Verify(token, options_.api_audiences));
  return std::optional<User>(std::move(verified.user));
}

bool IsTokenSubprotocol(std::string_view name) { return name.starts_with(kWebSocketBearer); }

std::string BearerToken(const http::Request& request) {
  std::string_view header = request.headers.Get("Authorization");
  if (header.size() > 7 && LowerCase(header.substr(0, 7)) == "bearer ") {
    std::string_view token = header.substr(7);
    while (token.starts_with(' ')) token.remove_prefix(1);
    return std::string(token);
  }
  // Browsers can't set headers on a WebSocket; they send the token as one of the subprotocols.
  std::string_view protocols = request.headers.Get("Sec-WebSocket-Protocol");
  while (!protocols.empty()) {
    size_t comma = protocols.find(',');
    std::string_view protocol = protocols.substr(0, comma);
    while (protocol.starts_with(' ')) protocol.remove_prefix(1);
    if (IsTokenSubprotocol(protocol)) {
      if (auto token = Base64UrlDecode(protocol.substr(kWebSocketBearer.size()))) return *token;
    }
    protocols = comma == protocols.npos ? std::string_view() : protocols.substr(comma + 1);
  }
  return "";
}

Result<std::optional<User>> CertificateAuthenticator::Authenticate(const http::Request& request) {
  const auto& certificate = request.peer_certificate;
  if (!certificate || certificate->common_name.empty()) return std::optional<User>();
  // A connection outlives its handshake: the certificate's time is looked at for every request.
  WallTime now = runtime_.WallNow();
  if (!certificate->verified || now < certificate->not_before || now > certificate->not_after) return Fail(UnauthorizedError());
  User user;
  user.name = certificate->common_name;
  user.groups = certificate->organizations;
  user.extra.push_back({"authentication.kubernetes.io/credential-id", {"X509SHA256=" + certificate->sha256}});
  return std::optional<User>(std::move(user));
}

}  // namespace homeostat::auth
