// Volumes as a container sees them: mounted, or as devices.
#pragma once

#include "kinds/core/volumes.h"

namespace homeostat::kinds {

void CheckVolumeMounts(const Value& container, const Volumes& volumes, const FieldPath& path, FieldErrors& errors);
void CheckVolumeDevices(const Value& container, const Volumes& volumes, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
