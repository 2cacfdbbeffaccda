// A simulated pod: what its kubelet would write about it, and when. Pure.
//
//   stage     written status                                   goes on
//   new       -                                                at once → creating, or finished if it can't be admitted
//   creating  Pending, containers waiting: ContainerCreating   after start_delay → running, or no image
//   no image  Pending, containers waiting: ImagePullBackOff    when the pod names images that are there → running
//   running   Running, containers ready                        at exit-after → crashed, finished, or running again
//   crashed   Running, containers waiting: CrashLoopBackOff    after the back-off → running, restart count raised
//   finished  Succeeded or Failed                              never
//   stopping  (deletionTimestamp) containers terminated        → deleted from the API
//
// From every stage but the first and the last a pod that has used up its activeDeadlineSeconds is finished.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::node::sim {

// How long a pod's containers run: "5s", or "5s,3" to end with exit code 3.
inline constexpr std::string_view kExitAfterAnnotation = "sim.homeostat.dev/exit-after";

struct ExitPlan {
  Duration after{0};
  int32_t code = 0;
};
// nullopt if the annotation is absent or malformed.
std::optional<ExitPlan> ReadExitPlan(const api::core::v1::Pod& pod);

enum class SimStage : uint8_t { kNew, kCreating, kNoImage, kRunning, kCrashed, kFinished };

// Where a pod stands that another process has left: by its status.
SimStage StageOf(const api::core::v1::Pod& pod);

// Why a pod as a whole has failed, in the words of the kubelet.
struct SimFailure {
  std::string reason, message;
};

// What the node knows of a pod besides the object.
struct SimPodFacts {
  std::string pod_ip, host_ip;
  std::string now;         // RFC 3339
  std::string started_at;  // of the containers, as above
  int32_t restarts = 0;
  std::string exit_time;  // of the last run that ended, if any
  int32_t exit_code = 0;
  std::optional<SimFailure> failure;
  // Of the images the pod names, by their full names; empty: all are there.
  std::function<bool(std::string_view image)> has_image;
  std::function<std::string(std::string_view container)> container_id;
};

// The pod with the status of that stage; what others wrote into the status stays.
object::DocumentPtr WithStage(object::DocumentPtr pod, SimStage stage, const SimPodFacts& facts);
// With every container terminated, as the last word before the pod is deleted.
object::DocumentPtr WithStopped(object::DocumentPtr pod, const SimPodFacts& facts);

// Failed, without ever having had a container.
object::DocumentPtr WithRefusal(object::DocumentPtr pod, const SimPodFacts& facts);

// Whether the pod's host ports are free beside those of the others; else why it is refused.
std::optional<SimFailure> RefuseHostPorts(const api::core::v1::Pod& pod, const std::vector<api::core::v1::Pod>& others);
// The first of the pod's images that isn't there, as the pod names it.
std::optional<std::string> MissingImage(const api::core::v1::Pod& pod, const SimPodFacts& facts);
// How much of its activeDeadlineSeconds is left, at least 0; nullopt for a pod that has none, or has not begun.
std::optional<Duration> LeftOfDeadline(const api::core::v1::Pod& pod, WallTime now);

// After the containers have ended: whether they run again, by the restart policy.
bool Restarts(const api::core::v1::Pod& pod, int32_t exit_code);
// 10 s, doubled for each restart after the first, five minutes at most; the first restart is at once.
Duration CrashBackoff(int32_t restarts);

// docker.io/library/nginx:latest for nginx, as a container runtime names images.
std::string FullImageName(std::string_view image);
std::string ImageId(std::string_view image);

}  // namespace homeostat::node::sim
