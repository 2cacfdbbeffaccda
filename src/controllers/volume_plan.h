// The pure rules of binding claims to volumes that are there already. Source: upstream's persistent volume controller. Volumes are
// made and unmade by provisioners outside of it.
//
// A claim:  Pending → (bound both ways) Bound → (its volume is gone, or another's) Lost
// A volume: Available → Bound → (its claim is gone) Released → (its policy could not be followed) Failed
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/storage/v1.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";

// The class by annotation (as it once was) or field.
std::string_view ClassOf(const api::core::v1::PersistentVolumeClaim& claim);
std::string_view ClassOf(const api::core::v1::PersistentVolume& volume);
bool IsBindingCompleted(const api::core::v1::PersistentVolumeClaim& claim);
// The volume names this claim as its own, by uid or, until it has been bound, by name alone.
bool IsMeantFor(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);

// Why a claim can't have a volume that it names; nullopt if it can.
std::optional<std::string> MismatchOf(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
// The volume that is meant for the claim, else the smallest that satisfies it; null if there is none. waits: only one that is
// meant for it, as the claim waits for a pod.
object::DocumentPtr FindVolume(const api::core::v1::PersistentVolumeClaim& claim, const std::vector<object::DocumentPtr>& volumes, bool waits);

// The class to give a claim that names none: the newest that is the default; null if there is none.
object::DocumentPtr DefaultClass(const std::vector<object::DocumentPtr>& classes);

// The same documents where nothing is to be changed:
object::DocumentPtr VolumeBoundTo(const object::DocumentPtr& volume, const api::core::v1::PersistentVolumeClaim& claim);
object::DocumentPtr VolumeUnbound(const object::DocumentPtr& volume);
object::DocumentPtr VolumeInPhase(const object::DocumentPtr& volume, std::string_view phase, std::string_view message, std::string_view now);
object::DocumentPtr ClaimBoundTo(const object::DocumentPtr& claim, const api::core::v1::PersistentVolume& volume);
// volume: whose size and modes a bound claim shows; absent for the others.
object::DocumentPtr ClaimInPhase(const object::DocumentPtr& claim, std::string_view phase, const api::core::v1::PersistentVolume& volume);

}  // namespace homeostat::controllers
