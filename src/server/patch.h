// Patch: a PATCH request read, and applied to an object; for the verb itself and for subresources that are objects of
// another kind (scale).
#pragma once

#include <string>
#include <vector>

#include "server/context.h"
#include "server/options.h"

namespace homeostat::server {

enum class PatchKind : uint8_t { kJson, kMerge, kStrategicMerge, kApply };

struct PatchRequest {
  PatchKind kind = PatchKind::kMerge;
  WriteQuery query;
  std::string manager;
  Value patch;                          // parsed; for apply the configuration
  std::vector<std::string> duplicates;  // fields that stand twice in the patch; of a configuration to apply, problems as YAML tells them
};

// Reads media type, options and body: 415 for a type that is no patch, 400 for one that can't be read.
Result<PatchRequest> ReadPatch(RequestContext& context);

struct PatchedObject {
  Value object;                         // typed, defaulted, of `kind`'s version
  bool resets_managed_fields = false;   // the patch asks to drop what was recorded
};

// Any patch but apply, on a typed tree of `kind`.
Result<PatchedObject> ApplyPatch(RequestContext& context, const PatchRequest& patch, const schema::Kind& kind, const Value& live);

}  // namespace homeostat::server
