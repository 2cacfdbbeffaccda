// The verbs, each for every kind.
#pragma once

#include "homeostat/base/http.h"
#include "server/context.h"

namespace homeostat::server {

Task<Result<http::Response>> GetObject(RequestContext& context);
Task<Result<http::Response>> ListObjects(RequestContext& context);
Task<Result<http::Response>> WatchObjects(RequestContext& context);
Task<Result<http::Response>> CreateObject(RequestContext& context);
Task<Result<http::Response>> UpdateObject(RequestContext& context);
Task<Result<http::Response>> PatchObject(RequestContext& context);
Task<Result<http::Response>> DeleteObject(RequestContext& context);
Task<Result<http::Response>> DeleteCollection(RequestContext& context);

}  // namespace homeostat::server
