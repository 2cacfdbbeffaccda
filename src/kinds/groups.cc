#include "kinds/groups.h"

#include "kinds/admissionregistration/admissionregistration.h"
#include "kinds/apiextensions/apiextensions.h"
#include "kinds/apiregistration/apiregistration.h"
#include "kinds/apps/apps.h"
#include "kinds/autoscaling/autoscaling.h"
#include "kinds/batch/batch.h"
#include "kinds/certificates/certificates.h"
#include "kinds/coordination/coordination.h"
#include "kinds/discovery/discovery.h"
#include "kinds/events/events.h"
#include "kinds/flowcontrol/flowcontrol.h"
#include "kinds/networking/networking.h"
#include "kinds/node/node.h"
#include "kinds/policy/policy.h"
#include "kinds/rbac/rbac.h"
#include "kinds/resource/resource.h"
#include "kinds/scheduling/scheduling.h"
#include "kinds/storage/storage.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> GroupBehaviours() {
  static const Behaviour* const behaviours[] = {
      &kMutatingAdmissionPolicy, &kMutatingAdmissionPolicyBinding, &kMutatingWebhookConfiguration, &kValidatingAdmissionPolicy,
      &kValidatingAdmissionPolicyBinding, &kValidatingWebhookConfiguration,
      &kCustomResourceDefinition,
      &kAPIService,
      &kControllerRevision, &kDaemonSet, &kDeployment, &kReplicaSet, &kStatefulSet,
      &kHorizontalPodAutoscaler,
      &kCronJob, &kJob,
      &kCertificateSigningRequest,
      &kLease, &kLeaseCandidate,
      &kEndpointSlice,
      &kEvent,
      &kFlowSchema, &kPriorityLevelConfiguration,
      &kIngress, &kIngressClass, &kIPAddress, &kNetworkPolicy, &kServiceCIDR,
      &kRuntimeClass,
      &kPodDisruptionBudget,
      &kClusterRole, &kClusterRoleBinding, &kRole, &kRoleBinding,
      &kDeviceClass, &kResourceClaim, &kResourceClaimTemplate, &kResourceSlice,
      &kPriorityClass,
      &kCSIDriver, &kCSINode, &kCSIStorageCapacity, &kStorageClass, &kVolumeAttachment, &kVolumeAttributesClass,
  };
  return behaviours;
}

}  // namespace homeostat::kinds
