// WorkloadSelectors: which pods belong together by default, from Services and controllers: what the spread that holds
// without being asked for goes by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "homeostat/sdk/informer.h"
#include "scheduler/pod_info.h"

namespace homeostat::scheduler {

class WorkloadSelectors {
 public:
  // Asks the factory for Services, ReplicationControllers, ReplicaSets and StatefulSets.
  explicit WorkloadSelectors(sdk::InformerFactory& informers);
  // The selectors of all Services that select the pod and of its controller, together; nullopt if there are none.
  std::optional<object::LabelSelector> SelectorOf(const PodInfo& pod) const;
  void ServiceChanged(const sdk::Change& change);
  sdk::Informer& services() { return services_; }
  std::vector<sdk::Informer*> informers() {
    return {&services_, &replication_controllers_, &replica_sets_, &stateful_sets_};
  }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  void AddController(const PodInfo& pod, std::vector<object::LabelRequirement>& requirements) const;

  sdk::Informer& services_;
  sdk::Informer& replication_controllers_;
  sdk::Informer& replica_sets_;
  sdk::Informer& stateful_sets_;
  std::map<std::string, std::map<std::string, Labels>> by_namespace_;
};

}  // namespace homeostat::scheduler
