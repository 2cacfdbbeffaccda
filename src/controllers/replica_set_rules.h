// The pure rules of ReplicaSets: which pods count, which go first, what the status says.
#pragma once

#include <vector>

#include "homeostat/api/apps/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

bool IsPodReady(const api::core::v1::Pod& pod);
// Ready for at least that long.
bool IsPodAvailable(const api::core::v1::Pod& pod, int32_t min_ready_seconds, WallTime now);
// Neither ended nor being deleted.
bool IsPodActive(const api::core::v1::Pod& pod);

// Sorts so that the pods to delete come first: unscheduled, pending, not ready, cheaper by annotation, on crowded nodes,
// ready for less long, restarted more often, younger. `related`: pods of sets with the same owner, to tell crowded nodes.
void SortForDeletion(std::vector<object::DocumentPtr>& pods, const std::vector<object::DocumentPtr>& related);

// The set with the status that its pods give it; fault: why pods could not be made or removed ("" for none).
object::Value ReplicaSetStatus(object::Arena& arena, const api::apps::v1::ReplicaSet& set,
                               const std::vector<object::DocumentPtr>& pods, std::string_view fault_reason,
                               std::string_view fault, WallTime now);

// A pod of the template, owned by the set.
object::DocumentPtr PodFromTemplate(const api::apps::v1::ReplicaSet& set);

}  // namespace homeostat::controllers
