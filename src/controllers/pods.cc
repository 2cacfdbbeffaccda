#include "controllers/pods.h"

#include "controllers/conditions.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {

using api::core::v1::Pod;

bool IsPodReady(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

std::optional<WallTime> ReadySince(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() != "Ready" || condition.status() != "True") continue;
    auto time = object::ParseTime(condition.last_transition_time());
    return time ? std::optional(time->ToClock()) : std::nullopt;
  }
  return std::nullopt;
}

bool IsPodAvailable(const Pod& pod, int32_t min_ready_seconds, WallTime now) {
  if (!IsPodReady(pod)) return false;
  if (min_ready_seconds == 0) return true;
  std::optional<WallTime> since = ReadySince(pod);
  return since && *since + std::chrono::seconds(min_ready_seconds) <= now;
}

std::optional<Duration> TimeUntilAvailable(const Pod& pod, int32_t min_ready_seconds, WallTime now) {
  std::optional<WallTime> since = ReadySince(pod);
  if (!since || min_ready_seconds <= 0) return std::nullopt;
  Duration left = *since + std::chrono::seconds(min_ready_seconds) - now;
  return left > Duration(0) ? std::optional(left) : std::nullopt;
}

bool IsPodTerminal(const Pod& pod) { return pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed"; }
bool IsPodActive(const Pod& pod) { return !IsPodTerminal(pod) && !sdk::meta::IsDeleting(pod.Raw()); }
bool IsPodTerminating(const Pod& pod) { return !IsPodTerminal(pod) && sdk::meta::IsDeleting(pod.Raw()); }

Bytes PodStatusPatch(const Pod& pod, std::string_view phase, std::string_view reason, std::string_view message, WallTime now) {
  std::string patch = "{\"metadata\":{\"uid\":";
  object::AppendJsonString(patch, pod.metadata().uid());
  patch += "},\"status\":{";
  if (!phase.empty()) {
    patch += "\"phase\":";
    object::AppendJsonString(patch, phase);
  }
  if (!reason.empty()) {
    patch += phase.empty() ? "" : ",";
    patch += "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":";
    object::AppendJsonString(patch, reason);
    patch += ",\"message\":";
    object::AppendJsonString(patch, message);
    patch += ",\"lastTransitionTime\":";
    object::AppendJsonString(patch, TimeText(now));
    patch += "}]";
  }
  return Bytes(patch + "}}");
}

void AddNodeIndex(sdk::Informer& pods) {
  pods.AddIndex(std::string(kNodeIndex), [](const object::Value& pod, std::vector<std::string>& values) {
    std::string_view node = Pod(pod).spec().node_name();
    if (!node.empty()) values.emplace_back(node);
  });
}

}  // namespace homeostat::controllers
