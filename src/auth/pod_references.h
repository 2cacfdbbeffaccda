// What pods and volumes refer to by name: the objects that the node of a pod must be able to read. Pure.
// Source: pkg/api/v1/pod and pkg/api/v1/persistentvolume, the functions that visit secrets and config maps.
#pragma once

#include <functional>
#include <string_view>

#include "homeostat/object/value.h"

namespace homeostat::auth {

// Secrets and ConfigMaps a pod refers to: by its environment, its volumes, its pull secrets. Visits until false; says whether
// all were visited. Names may come more than once.
using NameVisitor = std::function<bool(std::string_view name)>;
bool VisitPodSecrets(const object::Value& pod, const NameVisitor& visit);
bool VisitPodConfigMaps(const object::Value& pod, const NameVisitor& visit);
// Claims of its volumes, ephemeral ones by the name they are given.
bool VisitPodVolumeClaims(const object::Value& pod, const NameVisitor& visit);
// ResourceClaims, named or made for it.
bool VisitPodResourceClaims(const object::Value& pod, const NameVisitor& visit);

// Secrets of a PersistentVolume that the node needs itself (not those of controllers).
bool VisitVolumeNodeSecrets(const object::Value& volume, const std::function<bool(std::string_view ns, std::string_view name)>& visit);

}  // namespace homeostat::auth
