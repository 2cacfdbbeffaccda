// NodeLifecycleController: notices nodes that no longer report, says so in their conditions and in those of their pods, and
// taints them: at once against new pods, and at a measured pace (node_health.h) to drive away those that run there.
#pragma once

#include <set>

#include "controllers/node_health.h"
#include "controllers/taints.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct NodeLifecycleOptions {
  int workers = 5;
  Duration monitor_period = std::chrono::seconds(5);
  Duration grace_period = std::chrono::seconds(50);          // without a sign of life a node's state is unknown
  Duration startup_grace_period = std::chrono::seconds(60);  // the same for one that has never reported
  EvictionPace pace;
};

class NodeLifecycleController {
 public:
  // All must outlive it. Loop only.
  NodeLifecycleController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, NodeLifecycleOptions options = {});
  void Start();
  bool idle() const { return controller_.idle(); }

 private:
  using NodeObject = sdk::Object<api::core::v1::Node>;

  // Taints that follow from what the node says, as soon as it says so.
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  Task<Result<NodeObject>> ChangeTaints(NodeObject node, TaintChange change);
  Task<void> Run();
  Task<void> MonitorAll();
  // Completes with the node as it is afterwards.
  Task<Result<NodeObject>> Monitor(NodeObject node);
  Task<Result<NodeObject>> MarkUnknown(NodeObject node);
  Task<Result<void>> MarkPodsNotReady(std::string node);
  void NoticeNewAndGone(const std::vector<NodeObject>& nodes);
  NodeSigns SignsOf(const NodeObject& node) const;

  Runtime& runtime_;
  sdk::Client client_;
  NodeLifecycleOptions options_;
  sdk::Informer& nodes_;
  sdk::Informer& leases_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  NodeHealth health_;
  EvictionPacer pacer_;
  std::map<std::string, NodeObject> known_;
  std::set<std::string> pods_to_mark_;      // nodes whose pods could not all be marked
  sdk::Controller controller_;
  TaskGroup group_;
};

}  // namespace homeostat::controllers
