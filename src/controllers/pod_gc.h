// PodGarbageCollector: removes pods that nobody else will: of nodes that are gone or out of service, unscheduled ones that
// are being deleted, and the oldest of too many that have ended.
#pragma once

#include <functional>
#include <unordered_map>

#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct PodGcOptions {
  size_t terminated_threshold = 12500;             // ended pods beyond this many go; 0: none do
  Duration period = std::chrono::seconds(20);
  Duration quarantine = std::chrono::seconds(40);  // how long a node must be gone before its pods are
};

class PodGarbageCollector {
 public:
  // All must outlive it. Loop only.
  PodGarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, PodGcOptions options = {});
  void Start();

 private:
  using Pods = std::vector<sdk::Object<api::core::v1::Pod>>;

  Task<void> Run();
  Task<void> Collect();
  // Those to remove, for each of the reasons.
  Pods Surplus(const Pods& pods) const;
  Pods OutOfService(const Pods& pods) const;
  Pods UnscheduledTerminating(const Pods& pods) const;
  // Nodes that pods name and that have been gone for long enough, asked for once more.
  Task<std::vector<std::string>> GoneNodes(const Pods& pods);
  // Says that the pod has failed where it had not ended, then deletes it without grace. `message`: why, if the pod is to say.
  Task<Result<void>> Remove(sdk::Object<api::core::v1::Pod> pod, std::string message);
  Task<void> RemoveAll(Pods pods, std::string message);

  Runtime& runtime_;
  sdk::Client client_;
  PodGcOptions options_;
  sdk::Informer& pods_;
  sdk::Informer& nodes_;
  std::unordered_map<std::string, MonotonicTime> missing_since_;  // nodes that pods name and that aren't there
  TaskGroup group_;
};

}  // namespace homeostat::controllers
