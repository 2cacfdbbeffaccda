#include "homeostat/object/json.h"
#include "server/encode.h"
#include "server/openid.h"

namespace homeostat::server {
namespace {

http::Response Configuration(const auth::ServiceAccountTokens& tokens) {
  const std::string& issuer = tokens.options().issuer;
  std::string json = R"({"issuer":)";
  object::AppendJsonString(json, issuer);
  json += R"(,"jwks_uri":)";
  object::AppendJsonString(json, issuer + "/openid/v1/jwks");
  json += R"(,"response_types_supported":["id_token"],"subject_types_supported":["public"],)"
          R"("id_token_signing_alg_values_supported":["RS256"]})";
  http::Response response = BytesResponse(200, Bytes(std::move(json)), "application/json");
  response.headers.Set("Cache-Control", "public, max-age=3600");
  return response;
}

http::Response Keys(const auth::ServiceAccountTokens& tokens) {
  std::string json = R"({"keys":[)";
  if (tokens.key() != nullptr) json += tokens.key()->public_jwk();
  json += "]}";
  http::Response response = BytesResponse(200, Bytes(std::move(json)), "application/jwk-set+json");
  response.headers.Set("Cache-Control", "public, max-age=3600");
  return response;
}

}  // namespace

void ServeOpenIdDocuments(ApiServer& server, auth::ServiceAccountTokens& tokens) {
  server.HandlePath("/.well-known/openid-configuration",
                    [&tokens](const PathRequest&) { return AnswerNow(Configuration(tokens)); });
  server.HandlePath("/openid/v1/jwks", [&tokens](const PathRequest&) { return AnswerNow(Keys(tokens)); });
}

}  // namespace homeostat::server
