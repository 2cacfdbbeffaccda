// RootCaPublisher: every namespace has the ConfigMap kube-root-ca.crt, by which pods check the API server's certificate.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class RootCaPublisher {
 public:
  // authority: PEM.
  RootCaPublisher(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, std::string authority);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string ns);
  object::DocumentPtr Wanted(const std::string& ns, const object::DocumentPtr& current) const;

  sdk::Client client_;
  std::string authority_;
  sdk::Informer& namespaces_;
  sdk::Informer& maps_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
