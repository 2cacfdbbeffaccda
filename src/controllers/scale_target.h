// The scale subresource of any kind that an object names by apiVersion and kind: found through discovery, as custom kinds have it
// too.
#pragma once

#include <string>

#include "homeostat/object/value.h"
#include "homeostat/sdk/client.h"

namespace homeostat::controllers {

// Where a kind is served.
struct ResourcePlace {
  std::string base;               // "/apis/apps/v1"
  std::string group, plural;
  bool scales = false;            // it has the scale subresource
  std::string QualifiedName() const { return group.empty() ? plural : plural + "." + group; }
};
// The version asked for, or another one of its group where that is not served. SystemError in upstream's words if there is no such
// kind.
Task<Result<ResourcePlace>> FindResource(sdk::Client client, std::string api_version, std::string kind);

struct ScaleTarget {
  std::string path;               // of the scale subresource
  object::DocumentPtr scale;      // an autoscaling/v1 Scale, untyped
  int32_t replicas() const { return static_cast<int32_t>(scale->root().Path({"spec", "replicas"}).AsInt()); }
  int32_t current() const { return static_cast<int32_t>(scale->root().Path({"status", "replicas"}).AsInt()); }
  std::string_view selector() const { return scale->root().Path({"status", "selector"}).AsString(); }
};
// NotFound if there is no such object; SystemError in upstream's words if there is no such kind, or it does not scale.
Task<Result<ScaleTarget>> FindScale(sdk::Client client, std::string ns, std::string api_version, std::string kind, std::string name);
// Conflict if it has changed since it was found.
Task<Result<void>> WriteScale(sdk::Client client, ScaleTarget target, int32_t replicas);

// GET of a path that answers JSON; the server's Status as error.
Task<Result<object::DocumentPtr>> GetJson(sdk::Client client, std::string path, std::string query);

}  // namespace homeostat::controllers
