// OpenAPI: the documents that kubectl explain, apply and validation read. Made on first demand, kept until the served
// kinds change.
#pragma once

#include "server/api_server.h"

namespace homeostat::server {

// Registers /openapi/v2, /openapi/v3 and what lies below it.
void ServeOpenApi(ApiServer& server, std::string git_version);

}  // namespace homeostat::server
