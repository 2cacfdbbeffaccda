// Protection of volumes and claims: a finalizer that keeps a volume while it is bound, and a claim while a pod on a node uses it.
#pragma once

#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

inline constexpr std::string_view kVolumeProtection = "kubernetes.io/pv-protection", kClaimProtection = "kubernetes.io/pvc-protection";

// Whether the pod uses the claim of that name, itself or as one made for it. Only one on a node counts, as nothing starts a pod
// whose claim is going.
bool UsesClaim(const api::core::v1::Pod& pod, const api::core::v1::PersistentVolumeClaim& claim);

class VolumeProtection {
 public:
  // All must outlive it. Loop only.
  VolumeProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  sdk::Client client_;
  sdk::Informer& volumes_;
  sdk::Controller controller_;
};

class ClaimProtection {
 public:
  // All must outlive it. Loop only.
  ClaimProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // The informer says first; where it shows no pod, the server is asked, as it may be late.
  Task<Result<bool>> IsUsed(sdk::Object<api::core::v1::PersistentVolumeClaim> claim);
  sdk::Client client_;
  sdk::Informer& claims_;
  sdk::Informer& pods_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
