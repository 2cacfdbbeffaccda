// Sums over the containers of a pod as the kinds' rules see them; the sums themselves are quota's.
#pragma once

#include <string_view>

#include "quota/pod_resources.h"

namespace homeostat::kinds {

using ResourceAmounts = quota::Amounts;

// A map of quantities, such as resources.limits. What is no quantity counts nothing.
inline ResourceAmounts ParseResources(const object::Value& list) { return quota::ParseAmounts(list); }
inline object::Value ToValue(object::Arena& arena, const ResourceAmounts& amounts) { return quota::ToValue(arena, amounts); }

// What the containers of a pod's spec need at once; which: "requests" or "limits". Pod-level resources and overhead don't count.
inline ResourceAmounts AggregateContainers(const object::Value& pod_spec, std::string_view which) { return quota::SumOfContainers(pod_spec, which); }

// Resources that may stand at the level of the whole pod: cpu, memory, huge pages.
inline bool IsHugePages(std::string_view resource) { return resource.starts_with("hugepages-"); }
inline bool IsPodLevelResource(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || IsHugePages(resource);
}

// Guaranteed, Burstable or BestEffort: of a pod, from its spec alone.
inline std::string_view ComputeQosClass(const object::Value& pod_spec) { return quota::QosClassOfSpec(pod_spec); }

}  // namespace homeostat::kinds
