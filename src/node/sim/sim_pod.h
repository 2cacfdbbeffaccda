// A simulated pod: what its kubelet would write about it, and when. Pure.
//
//   stage        written status                                      goes on
//   new          -                                                   at once → creating
//   creating     Pending, containers waiting: ContainerCreating      after start_delay → running
//   running      Running, containers ready                           at exit-after → crashed, finished, or running
//   again crashed      Running, containers waiting: CrashLoopBackOff       after the back-off → running, restart count
//   raised finished     Succeeded or Failed                                 never stopping     (deletionTimestamp)
//   containers terminated           → deleted from the API
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

enum class SimStage : uint8_t { kNew, kCreating, kRunning, kCrashed, kFinished };

// Where a pod stands that another process has left: by its status.
SimStage StageOf(const api::core::v1::Pod& pod);

// What the node knows of a pod besides the object.
struct SimPodFacts {
  std::string pod_ip, host_ip;
  std::string now;         // RFC 3339
  std::string started_at;  // of the containers, as above
  int32_t restarts = 0;
  std::string exit_time;  // of the last run that ended, if any
  int32_t exit_code = 0;
  std::function<std::string(std::string_view container)> container_id;
};

// The pod with the status of that stage; what others wrote into the status stays.
object::DocumentPtr WithStage(object::DocumentPtr pod, SimStage stage, const SimPodFacts& facts);
// With every container terminated, as the last word before the pod is deleted.
object::DocumentPtr WithStopped(object::DocumentPtr pod, const SimPodFacts& facts);

// After the containers have ended: whether they run again, by the restart policy.
bool Restarts(const api::core::v1::Pod& pod, int32_t exit_code);
// 10 s, doubled for each restart after the first, five minutes at most; the first restart is at once.
Duration CrashBackoff(int32_t restarts);

// docker.io/library/nginx:latest for nginx, as a container runtime names images.
std::string FullImageName(std::string_view image);
std::string ImageId(std::string_view image);

}  // namespace homeostat::node::sim
