// The pure rules of PodDisruptionBudgets: how many pods are healthy, how many must be, how many may be disturbed.
// Source: upstream's disruption controller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/policy/v1_builders.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

// How many pods there are to be, by which the shares of a budget are reckoned.
struct ExpectedPods {
  int32_t expected = 0, desired_healthy = 0;
};
// Whether that takes the sizes of the pods' owners: where the budget says maxUnavailable, or a share.
bool NeedsOwners(const api::policy::v1::PodDisruptionBudget& budget);
// pods: how many it selects. owners: the sizes of their owners together.
ExpectedPods ExpectedOf(const api::policy::v1::PodDisruptionBudget& budget, size_t pods, int64_t owners);

struct BudgetStatus {
  object::DocumentPtr budget;                        // the same document if its status is right
  std::optional<Duration> again;                     // when a pod that was told to go is given up on
  std::vector<object::DocumentPtr> not_deleted;      // pods that were told to go and did not
};
BudgetStatus JudgeBudget(const object::DocumentPtr& budget, const std::vector<object::DocumentPtr>& pods, const ExpectedPods& expected, WallTime now);
// Nothing may be disturbed, because of that fault.
object::DocumentPtr WithSyncFailure(const object::DocumentPtr& budget, std::string_view message, WallTime now);

// How long until the pod's DisruptionTarget condition is stale: it was to go, and does not. nullopt if it has none to go stale.
std::optional<Duration> UntilStale(const api::core::v1::Pod& pod, WallTime now);
object::DocumentPtr WithoutDisruptionTarget(const object::DocumentPtr& pod, WallTime now);

}  // namespace homeostat::controllers
