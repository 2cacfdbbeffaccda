// EndpointsController: the pods behind each Service with a selector, as the Endpoints object that older readers know: one of
// the Service's name, a thousand addresses at most.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controllers/expectations.h"
#include "controllers/trigger_times.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct EndpointsOptions {
  int workers = 5;
};

class EndpointsController {
 public:
  // All must outlive it. Loop only.
  EndpointsController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, EndpointsOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // The Service is gone: what was made for it has no owner to go with.
  Task<Result<sdk::ReconcileOutcome>> Remove(std::string key);
  // `pods`: those that the Service selects. `changed`: see TriggerTimes.
  object::DocumentPtr Wanted(const api::core::v1::Service& service, const std::vector<object::DocumentPtr>& pods,
                             const object::DocumentPtr& current, std::string_view changed) const;

  sdk::Client client_;
  sdk::Informer& services_;
  sdk::Informer& pods_;
  sdk::Informer& endpoints_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;
  TriggerTimes trigger_times_;
  std::set<std::string> without_service_;   // Services that went; whose Endpoints may still have to
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
