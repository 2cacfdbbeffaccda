// VolumeBinder: binds claims to volumes that are there, keeps the phases of both, and lets go of volumes whose claims are gone.
// Claims whose class waits for a pod are bound when the scheduler has chosen a node (the selected-node annotation, or a volume
// it has already named the claim in). Making, recycling and deleting storage is for provisioners outside of it.
#pragma once

#include "controllers/expectations.h"
#include "controllers/volume_plan.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class VolumeBinder {
 public:
  // All must outlive it. Loop only.
  VolumeBinder(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start();
  bool idle() const { return claim_controller_.idle() && volume_controller_.idle(); }

 private:
  using Claim = sdk::Object<api::core::v1::PersistentVolumeClaim>;
  using Volume = sdk::Object<api::core::v1::PersistentVolume>;
  using Outcome = Task<Result<sdk::ReconcileOutcome>>;
  using Step = Task<Result<void>>;

  Outcome ReconcileClaim(std::string key);
  Step SyncUnbound(Claim claim);
  Step SyncBound(Claim claim);
  // There is no volume for the claim: says so, and whom it waits for.
  Step WithoutVolume(Claim claim, bool waits);
  Step Provision(Claim claim, sdk::Object<api::storage::v1::StorageClass> storage_class);
  Step Bind(Volume volume, Claim claim);
  Step Lose(Claim claim, std::string reason, std::string message);
  Step SetPhase(Claim claim, std::string phase, Volume volume);

  Outcome ReconcileVolume(std::string name);
  Step Release(Volume volume);
  Step SetPhase(Volume volume, std::string phase, std::string message);
  Step WriteVolume(Volume volume, object::DocumentPtr next);

  // The claim's class waits for a pod, and none has been placed yet.
  bool Waits(const Claim& claim) const;
  sdk::Object<api::storage::v1::StorageClass> ClassNamed(std::string_view name) const;
  std::string ConsumersText(const Claim& claim) const;
  void Tell(const Claim& claim, std::string_view type, std::string_view reason, std::string message);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& claims_;
  sdk::Informer& volumes_;
  sdk::Informer& classes_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;                   // by "claim:KEY" and "volume:NAME"
  sdk::Controller claim_controller_;
  sdk::Controller volume_controller_;
};

}  // namespace homeostat::controllers
