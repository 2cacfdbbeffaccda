// EphemeralVolumeController: makes the claims of pods' generic ephemeral volumes, which go with their pods.
#pragma once

#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class EphemeralVolumeController {
 public:
  // All must outlive it. Loop only.
  EphemeralVolumeController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> MakeClaim(sdk::Object<api::core::v1::Pod> pod, size_t volume);

  sdk::Client client_;
  sdk::Informer& pods_;
  sdk::Informer& claims_;
  sdk::EventRecorder events_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
