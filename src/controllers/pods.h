// What a pod's state means to those who own it, and the indexes by which pods are found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/informer.h"

namespace homeostat::controllers {

bool IsPodReady(const api::core::v1::Pod& pod);
// When it became ready; nullopt if it is not, or does not say.
std::optional<WallTime> ReadySince(const api::core::v1::Pod& pod);
// Ready for at least that long.
bool IsPodAvailable(const api::core::v1::Pod& pod, int32_t min_ready_seconds, WallTime now);
// How long until a ready pod becomes available; nullopt if it is, or is not ready.
std::optional<Duration> TimeUntilAvailable(const api::core::v1::Pod& pod, int32_t min_ready_seconds, WallTime now);
// Succeeded or Failed.
bool IsPodTerminal(const api::core::v1::Pod& pod);
// Neither ended nor being deleted.
bool IsPodActive(const api::core::v1::Pod& pod);
// Being deleted, and not ended yet.
bool IsPodTerminating(const api::core::v1::Pod& pod);

// A strategic merge patch of a pod's status: its phase ("": as it is), and DisruptionTarget with that reason and message (an
// empty reason: none).
Bytes PodStatusPatch(const api::core::v1::Pod& pod, std::string_view phase, std::string_view reason, std::string_view message, WallTime now);

// Pods by spec.nodeName.
inline constexpr std::string_view kNodeIndex = "node";
void AddNodeIndex(sdk::Informer& pods);

}  // namespace homeostat::controllers
