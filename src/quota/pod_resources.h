// What a pod requests and is limited to, all in all.
// Source of the rules: component-helpers/resource. Containers and sidecars run together; each other init container runs beside
// the sidecars started before it; amounts of the whole pod replace the sums; overhead comes on top.
#pragma once

#include "quota/amounts.h"

namespace homeostat::quota {

struct PodResourceOptions {
  // Of a pod being resized, the greater of what is asked for and what it has.
  bool use_status = false;
  bool overhead = true;
};

Amounts PodRequests(const Value& pod, PodResourceOptions options = {});
Amounts PodLimits(const Value& pod, PodResourceOptions options = {});
// Sums over the containers alone, from the spec; which: "requests" or "limits".
Amounts SumOfContainers(const Value& pod_spec, std::string_view which);

// Whether it names amounts for the whole pod.
bool HasPodLevelResources(const Value& pod);
// Guaranteed, Burstable or BestEffort: as the pod's status says, or else as its spec means.
std::string_view QosClass(const Value& pod);
std::string_view QosClassOfSpec(const Value& pod_spec);

}  // namespace homeostat::quota
