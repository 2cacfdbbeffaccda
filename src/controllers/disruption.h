// DisruptionController: keeps the status of PodDisruptionBudgets, which evictions go by; and takes back the DisruptionTarget
// condition of pods that were to go and did not.
#pragma once

#include "controllers/disruption_plan.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class DisruptionController {
 public:
  // All must outlive it. Loop only.
  DisruptionController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start();
  bool idle() const { return controller_.idle() && stale_.idle(); }

 private:
  using Budget = sdk::Object<api::policy::v1::PodDisruptionBudget>;
  using Documents = std::vector<object::DocumentPtr>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<ExpectedPods>> Expect(Budget budget, Documents pods);
  // The owner's uid and size: of a ReplicaSet's Deployment in place of the ReplicaSet itself; of other kinds by their scale
  // subresource.
  using Sized = std::pair<std::string, int64_t>;
  Task<Result<Sized>> SizeOfOwner(object::DocumentPtr pod);
  Task<Result<sdk::ReconcileOutcome>> ReconcileStale(std::string key);
  Task<Result<void>> Write(Budget before, object::DocumentPtr next);
  std::vector<std::string> BudgetsOf(const sdk::Change& change);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& budgets_;
  sdk::Informer& pods_;
  sdk::Informer& replica_sets_;
  sdk::Informer& replication_controllers_;
  sdk::Informer& deployments_;
  sdk::Informer& stateful_sets_;
  sdk::EventRecorder events_;
  sdk::Controller controller_;
  sdk::Controller stale_;      // pods
};

}  // namespace homeostat::controllers
