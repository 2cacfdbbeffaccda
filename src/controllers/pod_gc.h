// PodGarbageCollector: removes pods that nobody else will: of nodes that are gone, unscheduled ones that are being
// deleted, and the oldest of too many that have ended.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct PodGcOptions {
  size_t terminated_threshold = 12500;       // ended pods beyond this many go; 0: none do
  Duration period = std::chrono::seconds(20);
  Duration quarantine = std::chrono::seconds(40);  // how long a node must be gone before its pods are
};

class PodGarbageCollector {
 public:
  PodGarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, PodGcOptions options = {});
  void Start();

 private:
  Task<void> Run();
  Task<void> Collect();
  Task<void> RemoveOrphans();
  // Marks the pod failed where it had not ended, then deletes it without grace.
  Task<void> Remove(object::DocumentPtr pod, std::string message);

  Runtime& runtime_;
  sdk::Client client_;
  PodGcOptions options_;
  sdk::Informer& pods_;
  sdk::Informer& nodes_;
  std::unordered_map<std::string, MonotonicTime> missing_since_;  // nodes named by pods that do not exist
  TaskGroup group_;
};

}  // namespace homeostat::controllers
