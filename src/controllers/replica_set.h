// ReplicaSetController: keeps the wanted number of pods of each ReplicaSet: makes and removes them, adopts pods that fit
// and have no owner, lets go of those that no longer fit.
//
// It acts on what informers show, which may be late; expectations.h has how it never makes too many pods for that.
#pragma once

#include <optional>
#include <unordered_set>

#include "controllers/expectations.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct ReplicaSetOptions {
  int workers = 5;
  int burst = 500;    // pods made or removed in one go
  // Acts on whatever the informers show, however old. Wrong on purpose: for the test that must find out.
  bool careless = false;
};

class ReplicaSetController {
 public:
  // All must outlive it. Loop only.
  ReplicaSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ReplicaSetOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using Set = sdk::Object<api::apps::v1::ReplicaSet>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // Whether the informers show all that was done for the key; asks the server where that is in doubt.
  Task<Result<bool>> IsUpToDate(std::string key);
  Task<Result<void>> Manage(Set set, std::string key, std::vector<object::DocumentPtr> active);
  Task<Result<void>> CreatePods(Set set, std::string key, int count);
  Task<Result<void>> CreatePod(Set set, std::string key);
  Task<Result<void>> DeletePods(Set set, std::string key, std::vector<object::DocumentPtr> pods, int count);
  Task<Result<void>> DeletePod(Set set, std::string key, object::DocumentPtr pod);
  // Completes with the set as it is afterwards.
  Task<Result<Set>> WriteStatus(Set set, object::DocumentPtr next, std::string key);
  std::vector<object::DocumentPtr> RelatedPods(const Set& set) const;
  void PodChanged(const sdk::Change& change);
  std::vector<std::string> SetsOf(const sdk::Change& change) const;

  Runtime& runtime_;
  sdk::Client client_;
  ReplicaSetOptions options_;
  sdk::Informer& sets_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  Expectations expectations_;
  OwnWrites own_writes_;
  std::unordered_set<std::string> in_doubt_;   // keys with writes that had no answer
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
