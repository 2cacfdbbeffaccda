// Discovery: which groups, versions and resources are served, in the old form (a document a group version) and in the
// aggregated one that clients ask for first. All made from the index of resources.
#pragma once

#include "server/api_server.h"

namespace homeostat::server {

// Registers /api, /apis, /apis/GROUP and the documents of each group version.
void ServeDiscovery(ApiServer& server);

}  // namespace homeostat::server
