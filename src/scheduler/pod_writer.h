// PodWriter: what the scheduler writes about pods through the API: bindings, conditions, removals, volumes' nodes.
#pragma once

#include <string>

#include "homeostat/base/runtime.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/controller.h"
#include "scheduler/decision.h"

namespace homeostat::scheduler {

// What a pod's status says while it has no node.
struct Unscheduled {
  std::string reason;  // Unschedulable, SchedulerError
  std::string message;
  // Where it will go once its victims are gone. nullopt: stays as it is; empty: is cleared.
  std::optional<std::string> nominated_node;
};

class PodWriter {
 public:
  PodWriter(Runtime& runtime, sdk::Client client, std::string scheduler_name)
      : runtime_(runtime), client_(std::move(client)), scheduler_name_(std::move(scheduler_name)) {}

  Task<Result<void>> Bind(PodInfoPtr pod, std::string node) const;
  // Sets PodScheduled to False; nothing is written if the status says so already.
  Task<Result<void>> MarkUnscheduled(PodInfoPtr pod, Unscheduled unscheduled) const;
  // Says in the victim's status why it goes, then deletes it.
  Task<Result<void>> Evict(PodInfoPtr victim) const;
  // Reserves volumes for the pod's claims and tells provisioners the node.
  Task<Result<void>> PrepareVolumes(VolumePlan plan, std::string node, const VolumeTable& volumes) const;

 private:
  std::string Now() const;
  Task<Result<void>> PatchPodStatus(PodInfoPtr pod, std::string body) const;

  Runtime& runtime_;
  sdk::Client client_;
  std::string scheduler_name_;
};

}  // namespace homeostat::scheduler
