// Views: stored objects as the version of a request shows them, where only a webhook can tell. For every other resource these
// are the entries themselves, and what is in the stored version is brought to the request's where it is encoded.
#pragma once

#include <vector>

#include "server/context.h"

namespace homeostat::server {

// Null stays null. The error is the webhook's fault, worded for the client. resource: kept alive by whoever asks.
Task<Result<cache::EntryPtr>> ViewOf(Parts& parts, const Resource& resource, cache::EntryPtr entry);
Task<Result<std::vector<cache::EntryPtr>>> ViewsOf(Parts& parts, const Resource& resource, std::vector<cache::EntryPtr> entries);

// The kind in whose version objects of the resource are stored.
const schema::Kind& StoredKind(const Resource& resource);
// An object in the version in which writes are checked, as it is stored. Lives in the request's arena.
Task<Result<Value>> ToStoredForm(RequestContext& context, Value object);

}  // namespace homeostat::server
