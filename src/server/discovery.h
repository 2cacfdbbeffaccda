// Discovery: which groups, versions and resources are served, in the old form (a document a group version) and in the
// aggregated one that clients ask for first. Made from the index of resources, and from what extension servers say of theirs.
#pragma once

#include "server/aggregation/aggregator.h"
#include "server/api_server.h"

namespace homeostat::server {

// Registers /api, /apis, /apis/GROUP and the documents of each group version.
void ServeDiscovery(ApiServer& server, const Aggregator& aggregator);

}  // namespace homeostat::server
