#include "server/endpoints.h"

namespace homeostat::server {

void ServeEndpoints(ApiServer& server, EndpointParts parts) { ServeOpenIdDocuments(server, parts.tokens); }

}  // namespace homeostat::server
