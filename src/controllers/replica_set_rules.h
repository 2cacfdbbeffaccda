// The pure rules of ReplicaSets and ReplicationControllers: which pods go first, what the status says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods.h"
#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

// spec.replicas
int32_t SizeOf(const api::apps::v1::ReplicaSet& set);
int32_t SizeOf(const api::core::v1::ReplicationController& controller);

// What differs between the kinds that keep a number of pods.
template <class Kind>
struct ReplicaTraits;
template <>
struct ReplicaTraits<api::apps::v1::ReplicaSet> {
  using Builder = api::apps::v1::ReplicaSetBuilder;
  static constexpr std::string_view kName = "replicaset", kComponent = "replicaset-controller";
  static Result<object::LabelSelector> Selector(const api::apps::v1::ReplicaSet& set);
};
template <>
struct ReplicaTraits<api::core::v1::ReplicationController> {
  using Builder = api::core::v1::ReplicationControllerBuilder;
  static constexpr std::string_view kName = "replicationmanager", kComponent = "replication-controller";
  static Result<object::LabelSelector> Selector(const api::core::v1::ReplicationController& controller);
};

// Sorts so that the pods to delete come first: unscheduled; pending before unknown before running; not ready; cheaper by
// annotation; with more related pods on their node; ready for less long and younger, as orders of magnitude (then by uid);
// restarted more often. `related`: pods of all sets with the same owner, to tell crowded nodes.
void SortForDeletion(std::vector<object::DocumentPtr>& pods, const std::vector<object::DocumentPtr>& related, WallTime now);

// The set with the status that its pods give it. `fault`: why pods could not be made or removed, if they could not.
template <class Kind = api::apps::v1::ReplicaSet>
object::DocumentPtr WithStatus(const object::DocumentPtr& set, const std::vector<object::DocumentPtr>& active, int32_t terminating,
                               const std::optional<Status>& fault, WallTime now);

// When the next of the ready pods becomes available; nullopt if none waits for that.
std::optional<Duration> NextAvailability(const std::vector<object::DocumentPtr>& pods, int32_t min_ready_seconds, WallTime now);

}  // namespace homeostat::controllers
