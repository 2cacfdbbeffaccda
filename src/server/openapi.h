// OpenAPI: the documents that kubectl explain, apply and validation read. Made on first demand, kept until the served
// kinds change; those of extension servers are theirs.
#pragma once

#include "server/aggregation/aggregator.h"
#include "server/api_server.h"

namespace homeostat::server {

// Registers /openapi/v2, /openapi/v3 and what lies below it.
void ServeOpenApi(ApiServer& server, Aggregator& aggregator, std::string git_version);

}  // namespace homeostat::server
