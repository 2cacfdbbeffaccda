// The pure rules of Deployments: how many pods of which ReplicaSet there shall be next, and what the status says.
// Source: upstream's deployment controller; numbers and words are those that kubectl and people read.
#pragma once

#include <string>
#include <vector>

#include "homeostat/api/apps/v1.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;

inline constexpr std::string_view kRevisionAnnotation = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

int32_t WantedReplicas(const Deployment& deployment);
int32_t SizeOf(const ReplicaSet& set);      // spec.replicas
bool IsRollingUpdate(const Deployment& deployment);

// maxSurge and maxUnavailable as numbers: percentages rounded up and down; if both are 0, one pod may be unavailable.
struct Fenceposts {
  int32_t surge = 0, unavailable = 0;
};
Fenceposts FencepostsOf(const Deployment& deployment);
// How many pods there may be at most during a rolling update.
int32_t MostReplicas(const Deployment& deployment);

// The short text that tells pods of one template from those of another.
std::string TemplateHash(const Deployment& deployment);
bool SameTemplate(const Deployment& deployment, const ReplicaSet& set);

// Size of the new set in a rolling update, given all sets (the new one among them).
int32_t NewSetSize(const Deployment& deployment, const ReplicaSet& new_set, int32_t all_replicas);

// Sizes that the old sets shall have next in a rolling update; same order as given. Unhealthy pods go first.
std::vector<int32_t> OldSetSizes(const Deployment& deployment, const ReplicaSet* new_set, const std::vector<ReplicaSet>& old_sets);

// Sizes that all sets shall have after the wanted number changed in the middle of a rollout: in proportion. Same order.
std::vector<int32_t> ProportionalSizes(const Deployment& deployment, const std::vector<ReplicaSet>& sets);

int64_t RevisionOf(const object::Value& object);
// Every pod is of the new template and available.
bool IsComplete(const Deployment& deployment, const api::apps::v1::DeploymentStatus& status);

// The Deployment with the status that its sets give it. new_set may be null.
object::Value DeploymentStatusOf(object::Arena& arena, const Deployment& deployment, const std::vector<ReplicaSet>& sets,
                                 const ReplicaSet* new_set, WallTime now);

// Sets a condition; its transition time changes only with its status.
object::Value WithCondition(object::Arena& arena, const Deployment& deployment, std::string_view type, std::string_view status,
                            std::string_view reason, const std::string& message, WallTime now);
// The status after a rollout step: progress, completion, deadline, failures of sets.
object::Value WithProgress(object::Arena& arena, const Deployment& before, const Deployment& after,
                           const std::vector<ReplicaSet>& sets, const ReplicaSet* new_set, WallTime now);
// When the progress deadline will be over; nullopt when none runs.
std::optional<WallTime> ProgressDeadline(const Deployment& deployment);

}  // namespace homeostat::controllers
