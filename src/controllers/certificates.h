// The controllers of CertificateSigningRequests: one approves what nodes ask for themselves, one signs what is approved, one
// removes what is old.
#pragma once

#include "controllers/certificate_rules.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

// Signs approved requests of the signers of kubernetes.io. Loop only; all must outlive it.
class CertificateSigner {
 public:
  CertificateSigner(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);

  Runtime& runtime_;
  sdk::Client client_;
  CertificateAuthority authority_;
  sdk::Informer& requests_;
  sdk::Controller controller_;
};

// Approves requests for a node's client certificate, if whoever asks may have that (subresources selfnodeclient and nodeclient).
class CertificateApprover {
 public:
  CertificateApprover(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // Whether the one who asks may create that subresource of requests.
  Task<Result<bool>> May(sdk::Object<api::certificates::v1::CertificateSigningRequest> request, std::string subresource);

  sdk::Client client_;
  CertificateAuthority authority_;
  sdk::Informer& requests_;
  sdk::Controller controller_;
};

class CertificateCleaner {
 public:
  CertificateCleaner(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority);
  void Start() { group_.Spawn(Run()); }

 private:
  Task<void> Run();
  Task<void> Clean();

  Runtime& runtime_;
  sdk::Client client_;
  CertificateAuthority authority_;
  sdk::Informer& requests_;
  TaskGroup group_;
};

}  // namespace homeostat::controllers
