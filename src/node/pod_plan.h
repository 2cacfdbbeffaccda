// The plan of a running pod: which steps lead from what the runtime has to what the specification wants. Pure.
//
// The plan is level-triggered: it is made anew after every change and names every step that is due now, whether or not
// it has been begun. Who carries it out (pod_worker.h) skips what is under way or must wait.
//
// Rules, in this order:
//  1. Without a usable sandbox everything is stopped and a new sandbox is made, unless nothing would run in it.
//  2. Ephemeral containers that never ran are started.
//  3. Init containers run one after the other; a sidecar counts as done once it has started (its startup probe
//     succeeded) and is kept running from then on. A failed one that may not be restarted ends the pod.
//  4. Regular containers run once all init containers are done; each is restarted by its restart policy, or replaced
//     when its specification changed or its liveness or startup probe failed.
//  5. When nothing is left to run or to start, the pod is over: everything is stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/pod_spec.h"
#include "node/runtime_pod.h"

namespace homeostat::node {

enum class ProbeKind : uint8_t { kStartup, kLiveness, kReadiness };
enum class ProbeOutcome : uint8_t { kUnknown, kSuccess, kFailure };

// Settled outcomes (thresholds applied) of one container's probes. A probe that doesn't exist stays unknown.
struct ProbeOutcomes {
  ProbeOutcome startup = ProbeOutcome::kUnknown, liveness = ProbeOutcome::kUnknown, readiness = ProbeOutcome::kUnknown;
  ProbeOutcome& Of(ProbeKind kind) {
    return kind == ProbeKind::kStartup ? startup : kind == ProbeKind::kLiveness ? liveness : readiness;
  }
};
// By container id.
using ProbeBook = std::map<std::string, ProbeOutcomes, std::less<>>;

// Why a container is killed; decides which grace period holds.
enum class KillReason : uint8_t { kPodEnds, kChanged, kLivenessProbe, kStartupProbe, kUnknownState, kPostStartHook };

struct KillStep {
  std::string id, name;
  KillReason reason = KillReason::kPodEnds;
  std::string message;          // of the Killing event; empty: "Stopping container NAME"
};

struct PodPlan {
  bool kill_pod = false;        // stop all containers and the sandbox
  bool create_sandbox = false;  // then make one
  uint32_t attempt = 0;
  bool sandbox_changed = false; // there was one before: told by an event
  std::vector<KillStep> kills;
  std::vector<ContainerSpec> starts;   // in the order in which they are to be started
  bool over = false;            // nothing runs and nothing is to be started, ever
};

PodPlan MakePodPlan(core::Pod pod, const RuntimePod& runtime, const ProbeBook& probes);

// Whether a new sandbox is needed, and the number of its attempt.
std::optional<uint32_t> NeedsSandbox(core::Pod pod, const RuntimePod& runtime);

// Whether a container that is not running should be, by its restart policy and how it ended.
bool ShouldBeRunning(const ContainerSpec& spec, core::Pod pod, const RuntimePod& runtime);

}  // namespace homeostat::node
