// Kinds of the group storage.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kStorageClass, kVolumeAttributesClass, kVolumeAttachment, kCSINode, kCSIDriver, kCSIStorageCapacity;

}  // namespace homeostat::kinds
