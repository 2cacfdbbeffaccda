// Sums over the containers of a pod, as the scheduler, quotas and defaults count them.
// Source of the rules: component-helpers/resource: containers and sidecars run together; each ordinary init container runs
// beside the sidecars started before it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "homeostat/object/quantity.h"
#include "homeostat/object/value.h"

namespace homeostat::kinds {

using ResourceAmounts = std::map<std::string, object::Quantity, std::less<>>;

// A map of quantities, such as resources.limits. What is no quantity counts nothing.
ResourceAmounts ParseResources(const object::Value& list);
object::Value ToValue(object::Arena& arena, const ResourceAmounts& amounts);

// What the containers of a pod's spec need at once; which: "requests" or "limits". Pod-level resources and overhead don't count.
ResourceAmounts AggregateContainers(const object::Value& pod_spec, std::string_view which);

// Resources that may stand at the level of the whole pod: cpu, memory, huge pages.
inline bool IsHugePages(std::string_view resource) { return resource.starts_with("hugepages-"); }
inline bool IsPodLevelResource(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || IsHugePages(resource);
}

// Guaranteed, Burstable or BestEffort: of a pod, from its spec alone.
std::string_view ComputeQosClass(const object::Value& pod_spec);

}  // namespace homeostat::kinds
