// NodeReporter: registers the node, says regularly that it lives (a Lease) and how it is (its status). Loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "homeostat/base/log.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/controller.h"
#include "node/node_status.h"

namespace homeostat::node {

class NodeReporter {
 public:
  // Events about the node go through the recorder. All must outlive the reporter.
  NodeReporter(Runtime& runtime, sdk::Client client, Logger log, cri::Cri& cri, sdk::EventRecorder& recorder,
               NodeDescription description);

  // Creates the Node, or takes over the one that is there; tries until it succeeds or the task is destroyed.
  Task<object::DocumentPtr> Register();
  // Reports from then on until destroyed.
  void Start();
  // Reports the status now, as after the runtime's network became ready.
  void ReportNow() { now_.Notify(); }

  bool ready() const { return ready_; }
  const NodeDescription& description() const { return description_; }

 private:
  Task<void> ReportStatus();
  Task<Result<void>> ReportOnce();
  Task<void> RenewLease();
  Task<Result<void>> RenewOnce();
  Task<NodeCondition> Look(std::vector<cri::Image>* images);
  void TellChange(core::Node node, const NodeCondition& condition);

  Runtime& runtime_;
  sdk::Client client_;
  Logger log_;
  cri::Cri& cri_;
  sdk::EventRecorder& recorder_;
  NodeDescription description_;
  object::DocumentPtr node_;
  std::string node_uid_;
  bool ready_ = false, told_ = false;
  std::optional<WallTime> last_report_;
  Signal now_;
  TaskGroup group_;
};

}  // namespace homeostat::node
