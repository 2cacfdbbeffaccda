// The pure rules of ReplicaSets: which pods go first, what the status says, what a pod of the template is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods.h"
#include "homeostat/api/apps/v1.h"

namespace homeostat::controllers {

int32_t SizeOf(const api::apps::v1::ReplicaSet& set);   // spec.replicas

// Sorts so that the pods to delete come first: unscheduled; pending before unknown before running; not ready; cheaper by
// annotation; with more related pods on their node; ready for less long and younger, as orders of magnitude (then by uid);
// restarted more often. `related`: pods of all sets with the same owner, to tell crowded nodes.
void SortForDeletion(std::vector<object::DocumentPtr>& pods, const std::vector<object::DocumentPtr>& related, WallTime now);

// The set with the status that its pods give it. `fault`: why pods could not be made or removed, if they could not.
object::DocumentPtr WithStatus(const object::DocumentPtr& set, const std::vector<object::DocumentPtr>& active, int32_t terminating,
                               const std::optional<Status>& fault, WallTime now);

// When the next of the ready pods becomes available; nullopt if none waits for that.
std::optional<Duration> NextAvailability(const std::vector<object::DocumentPtr>& pods, int32_t min_ready_seconds, WallTime now);

// A pod of the template, owned by the set.
object::DocumentPtr PodFromTemplate(const api::apps::v1::ReplicaSet& set);

}  // namespace homeostat::controllers
