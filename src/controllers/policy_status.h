// ValidatingAdmissionPolicyStatusController: writes into the status of admission policies which of their expressions don't fit the
// kinds they are for. Nothing but that note depends on it.
#pragma once

#include <map>
#include <vector>

#include "controllers/policy_types.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class ValidatingAdmissionPolicyStatusController {
 public:
  // All must outlive it. Loop only.
  ValidatingAdmissionPolicyStatusController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  // A document that the server publishes; null if it does not.
  Task<Result<object::DocumentPtr>> Fetch(std::string path, std::string accept);
  Task<Result<TypedKind>> FindType(KindName kind, std::map<std::string, object::DocumentPtr>* documents);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& policies_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
