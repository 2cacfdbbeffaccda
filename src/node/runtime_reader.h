// Asks the container runtime what it has of a pod. Loop only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/runtime_pod.h"

namespace homeostat::node {

// Remembers containers that have exited: nothing of them changes any more.
class RuntimeReader {
 public:
  RuntimeReader(Runtime& runtime, cri::Cri& cri) : runtime_(runtime), cri_(cri) {}
  Task<Result<RuntimePod>> Read(std::string uid);

 private:
  Task<Result<RuntimeContainer>> ReadContainerStatus(cri::Container item);

  Runtime& runtime_;
  cri::Cri& cri_;
  std::map<std::string, RuntimeContainer> exited_;
};

// The state of all the owner's pods' sandboxes and containers in short: uid to a text that changes when anything does.
Task<Result<std::map<std::string, std::string>>> SummarizePods(cri::Cri& cri, std::string owner);

// How a container ended, in its own words: from its message file, or from its log if it failed and the policy allows.
// Blocking.
std::string ReadTerminationMessage(const RuntimeContainer& container);

}  // namespace homeostat::node
