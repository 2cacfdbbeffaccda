// RuntimePod: what the container runtime has of one pod, and how the pod can be told from the labels it carries there.
//
// This is an observation: it was so when the runtime was asked. After a restart of the node agent it is all there is to
// know of containers that run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/cri.h"
#include "node/pod_spec.h"

namespace homeostat::node {

// Keys of labels and annotations on sandboxes and containers; upstream's, so that other tools understand them.
inline constexpr std::string_view kPodNameLabel = "io.kubernetes.pod.name";
inline constexpr std::string_view kPodNamespaceLabel = "io.kubernetes.pod.namespace";
inline constexpr std::string_view kPodUidLabel = "io.kubernetes.pod.uid";
inline constexpr std::string_view kContainerNameLabel = "io.kubernetes.container.name";
inline constexpr std::string_view kHashAnnotation = "io.kubernetes.container.hash";
inline constexpr std::string_view kRestartCountAnnotation = "io.kubernetes.container.restartCount";
inline constexpr std::string_view kMessagePathAnnotation = "io.kubernetes.container.terminationMessagePath";
inline constexpr std::string_view kMessagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy";
inline constexpr std::string_view kGracePeriodAnnotation = "io.kubernetes.pod.terminationGracePeriod";
// Ours: which node agent a pod belongs to; others may use the same runtime.
inline constexpr std::string_view kOwnerLabel = "homeostat.dev/owner";
// Ours: where on the node the container's termination message is, as older runtimes don't tell mounts.
inline constexpr std::string_view kMessageFileAnnotation = "homeostat.dev/termination-message-file";

struct RuntimeContainer {
  cri::ContainerStatus status;      // message: the termination message where there is one
  std::string name;                 // in the pod's specification
  int32_t restart_count = 0;
  std::optional<uint64_t> hash;     // of the specification it was made from
  bool running() const { return status.state == cri::ContainerState::kRunning; }
  bool exited() const { return status.state == cri::ContainerState::kExited; }
};

struct RuntimePod {
  std::string uid, name, ns;
  std::vector<cri::SandboxStatus> sandboxes;   // newest first
  std::vector<RuntimeContainer> containers;    // newest first

  // The newest container of that name, of any sandbox; null if there is none.
  const RuntimeContainer* Latest(std::string_view name) const;
  // The same, of the newest sandbox only.
  const RuntimeContainer* LatestInSandbox(std::string_view name) const;
  const RuntimeContainer* ById(std::string_view id) const;
  bool AnyRunning() const;
  // The pod's addresses: of the newest sandbox while it is ready.
  std::vector<std::string> Ips() const;
  void Sort();
};

// What can be removed while the pod lives: containers that ended, but for the newest two of each name (the newest tells how
// it is, the one before how it was before that), and sandboxes that are neither the newest nor have containers.
struct Superfluous {
  std::vector<std::pair<std::string, std::string>> containers;   // id, log
  std::vector<std::string> sandboxes;
};
Superfluous FindSuperfluous(const RuntimePod& pod);

// What the labels say; nullopt for a container that is none of ours.
std::optional<RuntimeContainer> ReadContainer(cri::ContainerStatus status);

// "containerd://ID", as the API shows it.
std::string ShownContainerId(std::string_view runtime_name, std::string_view id);

}  // namespace homeostat::node
