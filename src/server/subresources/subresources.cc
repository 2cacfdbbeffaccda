#include "server/subresources/subresources.h"

namespace homeostat::server {

void ServeSubresources(ApiServer& server, SubresourceParts parts) {
  ServeScale(server);
  ServeBinding(server);
  ServeEviction(server);
  ServeProxies(server, nullptr);
  ServeTokenRequest(server, parts);
  ServeAccessReviews(server, parts);
  ServeIdentityReviews(server, parts);
  ServeComponentStatuses(server, parts.store_health);
}

}  // namespace homeostat::server
