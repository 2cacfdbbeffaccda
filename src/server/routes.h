// Routes: which URLs and methods there are, before anything is asked of what they name. Upstream's router (go-restful) refuses
// the rest in its own words and in this order: no such URL, no such method there, a body of a type that it does not take.
#pragma once

#include <optional>
#include <string_view>

#include "homeostat/base/status.h"
#include "server/api_server.h"
#include "server/request_info.h"
#include "server/resources.h"

namespace homeostat::server {

// Why a request for a built-in resource is refused; nullopt if it has a route. Custom resources are served without a router.
// content_type: the request's header.
std::optional<Status> RefusedByRouter(const RequestInfo& info, std::string_view method, std::string_view content_type, const Resource& resource);

// Whether the kind has the verb where the request asks for it: on one object, on all of a namespace, on all there are.
bool HasVerbThere(const RequestInfo& info, const schema::Kind& kind, uint32_t verbs);

// Whether tables are made of what is asked for: no kind without objects has any, and few subresources.
bool HasTables(const RequestInfo& info, const Resource& resource);

// Whether a group has resources of Kubernetes' own, whose URLs the router serves.
bool IsBuiltInGroup(const Resources& resources, std::string_view group);

// A document that the router serves, and so for GET alone.
PathHandler OnlyGet(PathHandler handler);

}  // namespace homeostat::server
