// Who owns the claims of a StatefulSet's pods, so that they go with their owner: persistentVolumeClaimRetentionPolicy. Pure.
//
//   whenScaled | whenDeleted | owner of the claim
//   Retain     | Retain      | none
//   Retain     | Delete      | the set
//   Delete     | Retain      | the pod, once it is beyond the size
//   Delete     | Delete      | the pod, once it is beyond the size; else the set
#pragma once

#include "homeostat/api/apps/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

// The claim with the owners that the policy calls for; the same document if they are right, or not ours to change.
object::DocumentPtr ClaimWithOwners(const object::DocumentPtr& claim, const api::apps::v1::StatefulSet& set, const api::core::v1::Pod& pod);
// Another controller manages the claim, which the policy then leaves alone.
bool HasOtherController(const api::core::v1::PersistentVolumeClaim& claim, const api::apps::v1::StatefulSet& set, const api::core::v1::Pod& pod);
// The claim belongs to an earlier pod of the name: it is going, and the pod has to wait for that.
bool IsClaimOfEarlierPod(const api::core::v1::PersistentVolumeClaim& claim, const api::apps::v1::StatefulSet& set, const api::core::v1::Pod& pod);

}  // namespace homeostat::controllers
