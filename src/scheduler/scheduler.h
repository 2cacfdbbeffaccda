// Scheduler: gives every pod that asks for it (spec.schedulerName) a node. The shell around the pure core: informers
// fill the tables and the queue; one loop takes pod after pod and decides; bindings are written in the background, and
// until the informer shows them the pod counts as placed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/informer.h"
#include "scheduler/decision.h"
#include "scheduler/pod_writer.h"
#include "scheduler/queue.h"
#include "scheduler/selectors.h"

namespace homeostat::scheduler {

struct SchedulerOptions {
  std::string scheduler_name = "default-scheduler";
  // Bindings being written at a time; more pods wait until one is through.
  size_t max_bindings = 256;
  // How long a pod's volumes may take to be bound.
  Duration volume_timeout = std::chrono::minutes(10);
};

// Loop only. The runtime and the factory must outlive it. Make it before the factory is started.
class Scheduler {
 public:
  Scheduler(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, SchedulerOptions options = {});
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  // Runs until destroyed; begins once the informers have synced.
  void Start();
  // Nothing to place now, and nothing being written.
  bool idle() const { return queue_.active() == 0 && bindings_ == 0; }
  const SchedulingQueue& queue() const { return queue_; }

 private:
  void Watch(sdk::Informer& informer, void (Scheduler::*handler)(const sdk::Change&));
  void PodChanged(const sdk::Change& change);
  void PodGone(const PodInfo& pod);
  void PodPlaced(PodInfoPtr pod, const object::DocumentPtr& previous);
  void PodWaiting(PodInfoPtr pod);
  void NodeChanged(const sdk::Change& change);
  void NamespaceChanged(const sdk::Change& change);
  void ClaimChanged(const sdk::Change& change);
  void VolumeChanged(const sdk::Change& change);
  void ClassChanged(const sdk::Change& change);
  void ServiceChanged(const sdk::Change& change) { selectors_.ServiceChanged(change); }
  void Wake() { wake_.Notify(); }
  void NotifyAboutNode(ClusterEvent event, std::string_view node);

  Task<void> Run();
  void ScheduleOne(PodInfoPtr pod);
  void FailedToPlace(PodInfoPtr pod, Failure failure);
  std::vector<DisruptionBudget> Budgets() const;
  Task<void> Bind(PodInfoPtr pod, std::string node, VolumePlan plan);
  Task<Result<void>> BindWithVolumes(PodInfoPtr pod, std::string node, VolumePlan plan);
  Task<Result<void>> WaitForVolumes(VolumePlan plan);
  void BindingFailed(const PodInfoPtr& pod, const std::string& node, const Status& error);
  Task<void> WriteFailure(PodInfoPtr pod, Unscheduled unscheduled);
  Task<void> Preempt(PodInfoPtr pod, Preemption preemption);

  Runtime& runtime_;
  SchedulerOptions options_;
  Logger log_;
  PodWriter writer_;
  sdk::EventRecorder events_;
  sdk::Informer& budgets_;
  WorkloadSelectors selectors_;
  std::vector<sdk::Informer*> watched_;
  NodeTable table_;
  VolumeTable volumes_;
  SchedulingQueue queue_;
  Decider decider_;
  Signal wake_, volumes_changed_;
  size_t bindings_ = 0;
  std::shared_ptr<Scheduler*> self_;  // handlers outlive the scheduler: they find out by this
  TaskGroup group_;                   // last: its tasks use all the others
};

}  // namespace homeostat::scheduler
