// Endpoints: paths that are no resources: metrics, OpenAPI, and what others need to check service account tokens.
#pragma once

#include "auth/service_account_tokens.h"
#include "cache/cache.h"
#include "server/api_server.h"
#include "server/health.h"

namespace homeostat::server {

struct EndpointParts {
  auth::ServiceAccountTokens& tokens;
  cache::Cache& cache;
  VersionInfo version;
};

void ServeEndpoints(ApiServer& server, EndpointParts parts);

// /.well-known/openid-configuration and /openid/v1/jwks (OpenID Connect Discovery 1.0, RFC 7517).
void ServeOpenIdDocuments(ApiServer& server, auth::ServiceAccountTokens& tokens);

}  // namespace homeostat::server
