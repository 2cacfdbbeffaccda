// ServiceAccountController: every namespace has a service account named default.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class ServiceAccountController {
 public:
  ServiceAccountController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string ns);

  sdk::Client client_;
  sdk::Informer& namespaces_;
  sdk::Informer& accounts_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
