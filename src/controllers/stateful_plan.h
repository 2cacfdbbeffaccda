// The pure rules of StatefulSets: which pod is made, replaced or removed next, in which order, what each pod and claim looks like,
// what the status says. Source: upstream's stateful set control.
//
// OrderedReady: replicas are looked at from the lowest ordinal up, and the first that is not running and available ends the look;
// then those beyond the size go, from the highest ordinal down, one at a time. Parallel: nobody waits for anybody. When all of
// that is as it shall be, a rolling update replaces the highest ordinal that is not of the update revision, one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods.h"
#include "controllers/revisions.h"
#include "homeostat/api/apps/v1_builders.h"

namespace homeostat::controllers {

// Number at the end of a pod's name, and what stands before it; -1 and "" if the name is of another form.
struct StatefulName {
  std::string_view set;
  int32_t ordinal = -1;
};
StatefulName ParseStatefulName(std::string_view pod);
int32_t StatefulReplicas(const api::apps::v1::StatefulSet& set);
std::string ClaimName(std::string_view claim_template, std::string_view set, int32_t ordinal);

// A revision of the set with what it stands for.
struct StatefulRevision {
  std::string name;                                   // as pods carry it
  object::OwnedValue tmpl;                            // a PodTemplateSpec
};

struct StatefulView {
  object::DocumentPtr set;
  StatefulRevision current, update;
  std::vector<object::DocumentPtr> pods;              // of the set, whatever their ordinals
  WallTime now;
  api::apps::v1::StatefulSet Set() const { return api::apps::v1::StatefulSet(set->root()); }
};

// What to do, in this order. With the pods of the set as they were: `pod` of kCreate is the one to make.
struct StatefulStep {
  enum class Kind {
    kCreate,           // its claims first
    kMakeClaims,       // that a pending pod still lacks
    kAlign,            // identity, storage and owners of claims, where they differ
    kAlignClaims,      // of a pod that is beyond the size
    kDelete,
  };
  Kind kind;
  object::DocumentPtr pod;
  bool operator==(const StatefulStep&) const = default;
};
struct StatefulCounts {
  int32_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
  bool operator==(const StatefulCounts&) const = default;
};
struct StatefulPlan {
  std::vector<StatefulStep> steps;
  StatefulCounts counts;                              // once the steps are done
};
StatefulPlan PlanStatefulSet(const StatefulView& view);
// What the pods add up to now.
StatefulCounts CountStateful(const StatefulView& view);

// The pod of that ordinal as it has to be made.
object::DocumentPtr StatefulPod(const StatefulView& view, int32_t ordinal);
// The pod with its identity and storage put right; the same document if they are.
object::DocumentPtr AlignedPod(const api::apps::v1::StatefulSet& set, const object::DocumentPtr& pod);
// The claims of the pod with that ordinal.
std::vector<object::DocumentPtr> StatefulClaims(const api::apps::v1::StatefulSet& set, int32_t ordinal);

// The set with that status; the same document if it has it.
object::DocumentPtr WithStatefulStatus(const StatefulView& view, StatefulCounts counts, int32_t collisions);

}  // namespace homeostat::controllers
