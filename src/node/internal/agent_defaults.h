// What follows from an agent's options; shared by the agent and its removal.
#pragma once

#include "node/agent.h"
#include "node/image_archive.h"
#include "node/pause_image.h"

namespace homeostat::node::internal {

inline ContainerdOptions RuntimeOptions(const AgentOptions& options) {
  ContainerdOptions containerd;
  containerd.directory = options.directory + "/containerd";
  containerd.sandbox_image = kPauseImage;
  return containerd;
}

// What tells this agent's pods from those of others.
inline std::string OwnerMark(const AgentOptions& options) { return Sha256(options.directory).substr(0, 8); }

// Names that differ from one cluster on a machine to the next, and stay the same for each.
inline void FillNames(AgentOptions& options) {
  std::string mark = OwnerMark(options);
  if (options.network.name.empty()) options.network.name = "homeostat-" + mark;
  if (options.network.bridge.empty()) options.network.bridge = "hs-" + mark;
  if (options.node_name.empty()) options.node_name = DefaultNodeName();
}

}  // namespace homeostat::node::internal
