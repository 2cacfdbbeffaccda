// ResourceClaimController: pods whose claims come from templates get them, claims forget pods that are done, and go when the pod they
// were made for needs them no more. Source of the rules: pkg/controller/resourceclaim, but for pod groups, which are alpha.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/expectations.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/resource/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
inline constexpr std::string_view kPodClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

// The beginning of a claim's name, POD-CLAIM-, both shortened alike where it leaves no room for what makes it unique.
std::string ClaimNameBase(std::string_view pod, std::string_view claim);

class ResourceClaimController {
 public:
  // All must outlive it. Loop only.
  ResourceClaimController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using Pod = api::core::v1::Pod;
  using Claim = api::resource::v1::ResourceClaim;

  // Keys are pod:NAMESPACE/NAME and claim:NAMESPACE/NAME.
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<sdk::ReconcileOutcome>> ReconcilePod(std::string key);
  Task<Result<void>> ReconcileClaim(std::string key);
  // The claim that was made for an entry of the pod's spec, now or before; "": it needs none that is made.
  struct MadeClaim {
    std::string entry, name;
    bool is_new = false;  // the pod's status does not name it
  };
  Task<Result<MadeClaim>> MakeClaim(std::string key, sdk::Object<Pod> pod, size_t index);
  // Names all of them: what is left out of an apply is taken away.
  Task<Result<void>> NoteClaims(std::string key, sdk::Object<Pod> pod, std::vector<MadeClaim> made);
  Task<Result<void>> Reserve(sdk::Object<Pod> pod);
  // Whether the consumer may still use the claim; asks the server about pods that are not known.
  Task<Result<bool>> IsInUse(std::string ns, object::Value consumer);
  Task<Result<void>> Release(sdk::Object<Claim> claim, std::vector<object::Value> remaining);
  Task<Result<void>> DropFinalizer(sdk::Object<Claim> claim);
  Task<Result<void>> DeleteUnused(sdk::Object<Claim> claim);
  std::vector<std::string> KeysOfPod(const sdk::Change& change) const;
  std::vector<std::string> KeysOfClaim(const sdk::Change& change) const;

  sdk::Client client_;
  sdk::Informer& pods_;
  sdk::Informer& claims_;
  sdk::Informer& templates_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;   // by pod
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
