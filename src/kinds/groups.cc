#include "kinds/groups.h"

#include "kinds/apiregistration/apiregistration.h"
#include "kinds/apps/apps.h"
#include "kinds/autoscaling/autoscaling.h"
#include "kinds/batch/batch.h"
#include "kinds/coordination/coordination.h"
#include "kinds/discovery/discovery.h"
#include "kinds/events/events.h"
#include "kinds/networking/networking.h"
#include "kinds/node/node.h"
#include "kinds/policy/policy.h"
#include "kinds/rbac/rbac.h"
#include "kinds/scheduling/scheduling.h"
#include "kinds/storage/storage.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> GroupBehaviours() {
  static const Behaviour* const behaviours[] = {
      &kAPIService,
      &kControllerRevision, &kDaemonSet, &kDeployment, &kReplicaSet, &kStatefulSet,
      &kHorizontalPodAutoscaler,
      &kCronJob, &kJob,
      &kLease, &kLeaseCandidate,
      &kEndpointSlice,
      &kEvent,
      &kIngress, &kIngressClass, &kIPAddress, &kNetworkPolicy, &kServiceCIDR,
      &kRuntimeClass,
      &kPodDisruptionBudget,
      &kClusterRole, &kClusterRoleBinding, &kRole, &kRoleBinding,
      &kPriorityClass,
      &kCSIDriver, &kCSINode, &kCSIStorageCapacity, &kStorageClass, &kVolumeAttachment, &kVolumeAttributesClass,
  };
  return behaviours;
}

}  // namespace homeostat::kinds
