// Questions about a pod's specification that several parts of the node agent ask. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "node/cri.h"

namespace homeostat::node {

namespace core = api::core::v1;

enum class ContainerKind : uint8_t { kInit, kRegular, kEphemeral };

// A container of a pod, of any kind. Ephemeral containers have the same fields as the others, of a type of their own.
struct ContainerSpec {
  ContainerKind kind = ContainerKind::kRegular;
  size_t index = 0;            // among those of its kind
  core::Container container;
  std::string_view target;     // ephemeral: the container whose processes it shares

  explicit operator bool() const { return static_cast<bool>(container); }
  // A sidecar: an init container that keeps running beside the others.
  bool restartable_init() const {
    return kind == ContainerKind::kInit && container.restart_policy() == core::kContainerRestartPolicyAlways;
  }
};

// In the order init, regular, ephemeral.
std::vector<ContainerSpec> AllContainers(core::PodSpec spec);
ContainerSpec FindContainer(core::PodSpec spec, std::string_view name);

// The rule that says what follows an exit with that code; absent if none matches.
core::ContainerRestartRule MatchingRestartRule(core::Container container, int32_t exit_code);
// Whether a container that exited with that code is started again, by its rules, its policy or the pod's.
bool RestartsAfterExit(core::Container container, core::PodSpec spec, int32_t exit_code);
// Whether a container that is still running is started again once it is killed (rules don't apply: there is no exit code).
bool RestartsAfterKill(core::Container container, core::PodSpec spec);

// Guaranteed, Burstable or BestEffort.
std::string_view QosClass(core::Pod pod);

// name_namespace(uid): how messages name a pod.
std::string PodShownName(core::Pod pod);

// What a container's identity is: a change of it means that the running container must be replaced.
uint64_t ContainerHash(core::Container container);

// The deletion's grace period if the pod is being deleted, else the specification's, in seconds.
int64_t GracePeriodSeconds(core::Pod pod);

bool IsTerminalPhase(std::string_view phase);

// Resources of the whole pod as the scheduler counts them, in thousandths of a unit; `limits` instead of requests.
// Sidecars count with the regular containers, other init containers as the largest that runs at a time.
int64_t PodResource(core::PodSpec spec, std::string_view resource, bool limits);
// Whether every container has a limit for that resource, so that the sum is a limit of the pod.
bool AllLimited(core::PodSpec spec, std::string_view resource);

// An IntOrString port, by number or by the name of one of the container's ports; nullopt if there is none.
std::optional<int32_t> ResolvePort(const object::Value& port, core::Container container);

}  // namespace homeostat::node
