// EndpointSliceMirroringController: keeps EndpointSlices like the Endpoints of Services without a selector, which somebody keeps
// by hand.
#pragma once

#include "controllers/kept_slices.h"
#include "controllers/mirror_plan.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class EndpointSliceMirroringController {
 public:
  // All must outlive it. Loop only.
  EndpointSliceMirroringController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);

  sdk::Client client_;
  sdk::Informer& endpoints_;
  sdk::Informer& services_;
  sdk::EventRecorder events_;
  KeptSlices slices_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
