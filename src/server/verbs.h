// The verbs, each for every kind.
#pragma once

#include "homeostat/base/http.h"
#include "server/context.h"
#include "server/encode.h"
#include "server/options.h"
#include "server/selection.h"

namespace homeostat::server {

Task<Result<http::Response>> GetObject(RequestContext& context);
Task<Result<http::Response>> ListObjects(RequestContext& context);
// The entries that a list shows, in the request's version, and what it says of itself.
struct ListPage {
  std::vector<cache::EntryPtr> entries;
  ListMeta meta;
};
// One page of the request's collection: of the size, from the place and at the version that the query names.
Task<Result<ListPage>> ReadPage(RequestContext& context, ListQuery query, Selection selection);

Task<Result<http::Response>> WatchObjects(RequestContext& context);
Task<Result<http::Response>> CreateObject(RequestContext& context);
Task<Result<http::Response>> UpdateObject(RequestContext& context);
Task<Result<http::Response>> PatchObject(RequestContext& context);
Task<Result<http::Response>> DeleteObject(RequestContext& context);
Task<Result<http::Response>> DeleteCollection(RequestContext& context);

}  // namespace homeostat::server
