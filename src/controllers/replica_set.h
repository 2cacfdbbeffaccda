// ReplicaController: keeps the wanted number of pods of each ReplicaSet or ReplicationController: makes and removes them, adopts
// pods that fit and have no owner, lets go of those that no longer fit.
//
// It acts on what informers show, which may be late; expectations.h has how it never makes too many pods for that.
#pragma once

#include <optional>

#include "controllers/pod_control.h"
#include "controllers/replica_set_rules.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct ReplicaSetOptions {
  int workers = 5;
  int burst = 500;    // pods made or removed in one go
  // Acts on whatever the informers show, however old. Wrong on purpose: for the test that must find out.
  bool careless = false;
};

// Kind: one that has ReplicaTraits.
template <class Kind>
class ReplicaController {
 public:
  // All must outlive it. Loop only.
  ReplicaController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ReplicaSetOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using Set = sdk::Object<Kind>;
  using Traits = ReplicaTraits<Kind>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // What to make or remove for the wanted number.
  PodChanges ChangesFor(const Set& set, const std::string& key, std::vector<object::DocumentPtr> active) const;
  // Completes with the set as it is afterwards.
  Task<Result<Set>> WriteStatus(Set set, object::DocumentPtr next, std::string key);
  std::vector<object::DocumentPtr> RelatedPods(const Set& set) const;

  Runtime& runtime_;
  sdk::Client client_;
  ReplicaSetOptions options_;
  sdk::Informer& sets_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  PodControl pod_control_;
  sdk::Controller controller_;
};

using ReplicaSetController = ReplicaController<api::apps::v1::ReplicaSet>;
using ReplicationManager = ReplicaController<api::core::v1::ReplicationController>;

}  // namespace homeostat::controllers
