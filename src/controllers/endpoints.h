// EndpointsController: the pods behind each Service with a selector, as the Endpoints object that older readers know: one of
// the Service's name, a thousand addresses at most.
#pragma once

#include "controllers/expectations.h"
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
  object::DocumentPtr Wanted(const api::core::v1::Service& service, const object::DocumentPtr& current) const;

  sdk::Client client_;
  sdk::Informer& services_;
  sdk::Informer& pods_;
  sdk::Informer& endpoints_;
  OwnWrites own_writes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
