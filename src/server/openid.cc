#include "server/openid.h"

#include <set>

#include "homeostat/object/json.h"
#include "server/encode.h"
#include "server/routes.h"

namespace homeostat::server {
namespace {

http::Response Configuration(const auth::ServiceAccountTokens& tokens) {
  const std::string& issuer = tokens.options().issuer;
  std::string json = R"({"issuer":)";
  object::AppendJsonString(json, issuer);
  json += R"(,"jwks_uri":)";
  const std::string& given = tokens.options().jwks_uri;
  object::AppendJsonString(json, given.empty() ? issuer + "/openid/v1/jwks" : given);
  json += R"(,"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":[)";
  std::set<std::string_view> algorithms;
  for (const auth::SigningKey* key : tokens.checking_keys()) algorithms.insert(key->algorithm());
  if (algorithms.empty()) algorithms.insert("RS256");  // of the key that is still being made
  for (std::string_view algorithm : algorithms) {
    if (algorithm != *algorithms.begin()) json += ',';
    object::AppendJsonString(json, algorithm);
  }
  json += "]}";
  http::Response response = BytesResponse(200, Bytes(std::move(json)), "application/json");
  response.headers.Set("Cache-Control", "public, max-age=3600");
  return response;
}

// A key is made while the server already serves. A set without it must not be given out: it may be cached for an hour.
Task<http::Response> Keys(Runtime& runtime, const auth::ServiceAccountTokens& tokens) {
  constexpr std::chrono::milliseconds kPause(20);
  for (Duration waited(0); tokens.checking_keys().empty(); waited += kPause) {
    if (waited > std::chrono::seconds(30)) {
      co_return EncodeStatus(ServiceUnavailableError("the key of service account tokens is not ready yet"), MediaTypeOptions{});
    }
    auto pause = Sleep(runtime, kPause);
    co_await std::move(pause);
  }
  std::string json = R"({"keys":[)";
  for (const auth::SigningKey* key : tokens.checking_keys()) {
    if (!json.ends_with('[')) json += ',';
    json += key->public_jwk();
  }
  json += "]}";
  http::Response response = BytesResponse(200, Bytes(std::move(json)), "application/jwk-set+json");
  response.headers.Set("Cache-Control", "public, max-age=3600");
  co_return response;
}

}  // namespace

void ServeOpenIdDocuments(ApiServer& server, auth::ServiceAccountTokens& tokens) {
  server.HandlePath("/.well-known/openid-configuration",
                    OnlyGet([&tokens](const PathRequest&) { return AnswerNow(Configuration(tokens)); }));
  Runtime& runtime = server.parts().runtime;
  server.HandlePath("/openid/v1/jwks", OnlyGet([&runtime, &tokens](const PathRequest&) { return Keys(runtime, tokens); }));
}

}  // namespace homeostat::server
