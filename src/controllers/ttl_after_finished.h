// TtlAfterFinishedController: removes Jobs some time after they have finished, where they say after how long.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class TtlAfterFinishedController {
 public:
  // All must outlive it. Loop only.
  TtlAfterFinishedController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& jobs_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
