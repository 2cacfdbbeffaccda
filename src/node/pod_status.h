// The status of a pod as the API shows it, made from what the runtime has, what the probes found, and what the status
// was before. Pure.
//
// Source of the rules: the pod lifecycle documentation; reasons and messages are those that people know from upstream.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/pod_plan.h"
#include "node/pod_spec.h"
#include "node/runtime_pod.h"

namespace homeostat::node {

// Why a container is not running although it should: CrashLoopBackOff, ErrImagePull, CreateContainerConfigError ….
struct StartFailure {
  std::string reason, message;
  bool operator==(const StartFailure&) const = default;
};

struct StatusInput {
  core::Pod pod;                        // as the API has it now
  core::PodStatus old;                  // as this node last wrote it; the API's before that
  const RuntimePod* runtime = nullptr;
  const ProbeBook* probes = nullptr;
  std::map<std::string, StartFailure, std::less<>> failures;   // by container name
  bool terminal = false;                // no container will run again: it ends or has ended
  bool settled = false;                 // … and all of its containers are known to have stopped
  // Set when the node ends the pod for a reason of its own (deadline, no admission): phase Failed with these.
  std::optional<StartFailure> failure;
  bool refused = false;                 // … before it began here: nothing is said of its containers
  std::vector<std::string> host_ips;
  std::string runtime_name = "containerd";
  WallTime now;
};

// A core::PodStatus.
object::DocumentPtr MakePodStatus(const StatusInput& input);

// One container's part, between observation and API.
struct ContainerRecord {
  enum class State : uint8_t { kWaiting, kRunning, kTerminated };
  struct Termination {
    int32_t exit_code = 0;
    int32_t signal = 0;
    std::string reason, message, started_at, finished_at, container_id;
  };
  ContainerSpec spec;
  State state = State::kWaiting;
  std::string waiting_reason, waiting_message;
  std::string started_at;
  Termination terminated;               // with kTerminated
  std::optional<Termination> last;      // how the container before this one ended
  int32_t restart_count = 0;
  std::string image, image_id, container_id;
  std::optional<cri::ContainerStatus::User> user;
  bool ready = false, started = false;
  bool seen = false;                    // the runtime has, or had, a container
};

// In the order init, regular, ephemeral, and within these as in the specification.
std::vector<ContainerRecord> MakeContainerRecords(const StatusInput& input);

std::string_view MakePhase(core::PodSpec spec, const std::vector<ContainerRecord>& records, bool terminal, bool begun);

}  // namespace homeostat::node
