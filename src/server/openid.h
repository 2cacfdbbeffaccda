// What others need to check service account tokens: OpenID Connect Discovery 1.0 and RFC 7517.
#pragma once

#include "auth/service_account_tokens.h"
#include "server/api_server.h"

namespace homeostat::server {

// Registers /.well-known/openid-configuration and /openid/v1/jwks.
void ServeOpenIdDocuments(ApiServer& server, auth::ServiceAccountTokens& tokens);

}  // namespace homeostat::server
