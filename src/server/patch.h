// Patch: a PATCH request read, and applied to an object; for the verb itself and for subresources that are objects of
// another kind (scale).
#pragma once

#include <optional>
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
  std::optional<Status> fault;          // why it can't be parsed: told once there is an object to patch
  std::vector<std::string> duplicates;  // fields that stand twice in the patch; of a configuration to apply, problems as YAML tells them
};

// Of a Content-Type; nullopt for what is no patch.
std::optional<PatchKind> PatchKindOf(std::string_view content_type);
// As the router refuses such a body: 415.
Status UnsupportedPatchType();

// Reads media type, options and body: 415 for a type that is no patch.
Result<PatchRequest> ReadPatch(RequestContext& context);

struct PatchedObject {
  Value object;                         // typed, defaulted, of `kind`'s version
  bool resets_managed_fields = false;   // the patch asks to drop what was recorded
};

// Any patch but apply, on a typed tree of `kind`.
Result<PatchedObject> ApplyPatch(RequestContext& context, const PatchRequest& patch, const schema::Kind& kind, const Value& live);

}  // namespace homeostat::server
