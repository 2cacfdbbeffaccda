// The pure rules of Deployments: how many pods of which ReplicaSet there shall be next, and what the status says.
// Source: upstream's deployment controller; numbers and words are those that kubectl and people read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/conditions.h"
#include "controllers/replica_set_rules.h"
#include "homeostat/api/apps/v1_builders.h"

namespace homeostat::controllers {

inline constexpr std::string_view kRevisionAnnotation = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

using ReplicaSets = std::vector<api::apps::v1::ReplicaSet>;

int32_t WantedReplicas(const api::apps::v1::Deployment& deployment);
bool IsRollingUpdate(const api::apps::v1::Deployment& deployment);
bool HasProgressDeadline(const api::apps::v1::Deployment& deployment);
// spec.replicas of all of them together.
int32_t TotalSize(const ReplicaSets& sets);

// maxSurge and maxUnavailable as numbers: percentages rounded up and down; if both are 0, one pod may be unavailable. Both
// are 0 unless the strategy is RollingUpdate.
struct Fenceposts {
  int32_t surge = 0, unavailable = 0;
};
Fenceposts FencepostsOf(const api::apps::v1::Deployment& deployment);

// The short text that tells pods of one template from those of another: of the template and the number of collisions so far.
std::string TemplateHash(const api::apps::v1::Deployment& deployment);
bool SameTemplate(const api::apps::v1::Deployment& deployment, const api::apps::v1::ReplicaSet& set);

// --- Sizes.

// Of the new set, given the size of all together (the new one among them).
int32_t NewSetSize(const api::apps::v1::Deployment& deployment, int32_t new_set_size, int32_t total_size);
// That the old sets (oldest first) shall have next in a rolling update; same order. Unhealthy pods go first.
std::vector<int32_t> OldSetSizes(const api::apps::v1::Deployment& deployment, const api::apps::v1::ReplicaSet& new_set,
                                 const ReplicaSets& old_sets);
// That active sets shall have after the wanted number changed in the middle of a rollout: in proportion. Same order.
std::vector<int32_t> ProportionalSizes(const api::apps::v1::Deployment& deployment, const ReplicaSets& sets);
// Some active set still counts another wanted size: the Deployment was scaled since.
bool WasScaled(const api::apps::v1::Deployment& deployment, const ReplicaSets& sets);
// The new set is there in full and available, so that the old ones are not needed.
bool IsSaturated(const api::apps::v1::Deployment& deployment, const api::apps::v1::ReplicaSet& new_set);

// --- Annotations of sets.

int64_t RevisionOf(const object::Value& object);
// Copies the Deployment's own annotations and raises the revision, remembering the former ones.
void AnnotateSet(api::apps::v1::ReplicaSetBuilder& set, const api::apps::v1::Deployment& deployment, int64_t revision);
// Notes the sizes it is scaled for.
void AnnotateSizes(api::apps::v1::ReplicaSetBuilder& set, const api::apps::v1::Deployment& deployment);
bool SizesAreNoted(const api::apps::v1::ReplicaSet& set, const api::apps::v1::Deployment& deployment);
// The set that the Deployment's template calls for, of that size.
object::DocumentPtr NewReplicaSet(const api::apps::v1::Deployment& deployment, int64_t revision, int32_t size);

// --- Status.

struct DeploymentState {
  int64_t observed_generation = 0;
  int32_t replicas = 0, updated = 0, ready = 0, available = 0, unavailable = 0;
  std::optional<int32_t> terminating, collisions;
  Conditions conditions;
  bool operator==(const DeploymentState&) const = default;
};
DeploymentState ReadState(const api::apps::v1::DeploymentStatus& status);
object::DocumentPtr WithState(const object::DocumentPtr& deployment, const DeploymentState& state);

// What the sets add up to. new_set may be null; all: old ones and the new one.
DeploymentState CountReplicas(const api::apps::v1::Deployment& deployment, const ReplicaSets& all,
                              const api::apps::v1::ReplicaSet* new_set, WallTime now);
// The same after a step of a rollout: progress, completion, deadline and the failures of sets as well.
DeploymentState RolloutState(const api::apps::v1::Deployment& deployment, const ReplicaSets& all,
                             const api::apps::v1::ReplicaSet* new_set, WallTime now);
// Every pod is of the new template and available.
bool IsComplete(const api::apps::v1::Deployment& deployment, const DeploymentState& state);
// How long until the deadline is to be looked at; nullopt when none runs.
std::optional<Duration> TimeToDeadline(const api::apps::v1::Deployment& deployment, const DeploymentState& state, WallTime now);
Condition MakeCondition(std::string_view type, std::string_view status, std::string_view reason, std::string message, WallTime now);

}  // namespace homeostat::controllers
