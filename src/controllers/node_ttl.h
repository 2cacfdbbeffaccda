// NodeTtlController: tells nodes by annotation how long they may trust their copies of secrets and config maps: the longer the
// more nodes there are.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

// Seconds, for that many nodes. before: what holds now; the steps overlap, so that it does not swing at their borders.
int NodeTtl(size_t nodes, int before);

class NodeTtlController {
 public:
  // All must outlive it. Loop only.
  NodeTtlController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);

  sdk::Client client_;
  sdk::Informer& nodes_;
  int seconds_ = 0;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
