// ServiceAccountTokenController: fills secrets of type kubernetes.io/service-account-token with a token, the cluster's certificate
// and the namespace, and removes them with their service account.
#pragma once

#include <functional>
#include <string>

#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

// A token without an end for the account, which holds as long as that secret keeps it. The key to sign it stays with whoever has it.
using MakeLegacyToken = std::function<Result<std::string>(std::string ns, std::string account, std::string account_uid, std::string secret)>;

class ServiceAccountTokenController {
 public:
  // All must outlive it. authority: PEM. Loop only.
  ServiceAccountTokenController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, std::string authority, MakeLegacyToken make_token);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> Remove(sdk::Object<api::core::v1::Secret> secret);

  sdk::Client client_;
  std::string authority_;
  MakeLegacyToken make_token_;
  sdk::Informer& secrets_;      // of that type alone
  sdk::Informer& accounts_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
