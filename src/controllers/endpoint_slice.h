// EndpointSliceController: the pods behind each Service with a selector, as EndpointSlices.
#pragma once

#include "controllers/endpoint_plan.h"
#include "controllers/kept_slices.h"
#include "controllers/trigger_times.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

// Services by namespace that select what changed: for controllers that follow the pods behind Services. Both documents of
// the change are looked at, so that a Service hears of a pod that it no longer selects, too.
std::vector<std::string> ServicesSelecting(const sdk::Informer& services, const sdk::Change& change);
// The pods that the Service selects.
std::vector<object::DocumentPtr> PodsSelected(const sdk::Informer& pods, const api::core::v1::Service& service);

struct EndpointSliceOptions {
  int workers = 5;
};

class EndpointSliceController {
 public:
  // All must outlive it. Loop only.
  EndpointSliceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, EndpointSliceOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // What the Service's slices shall hold, of the pods that it selects. `skipped` tells of pods whose node is not known, so that
  // their zone isn't either.
  WantedEndpoints Wanted(const api::core::v1::Service& service, const std::vector<object::DocumentPtr>& pods,
                         std::vector<std::string>& skipped) const;

  sdk::Client client_;
  sdk::Informer& services_;
  sdk::Informer& pods_;
  sdk::Informer& nodes_;
  sdk::EventRecorder events_;
  KeptSlices slices_;
  TriggerTimes trigger_times_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
