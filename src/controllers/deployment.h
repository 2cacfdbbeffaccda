// DeploymentController: rolls pods from one template to the next through ReplicaSets, as fast as availability allows.
#pragma once

#include "controllers/deployment_rules.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class DeploymentController {
 public:
  DeploymentController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  // One Deployment with its sets while it is looked at. Documents keep the views alive.
  struct Rollout {
    sdk::Object<Deployment> deployment;
    std::vector<sdk::Object<ReplicaSet>> old_sets;   // oldest first
    sdk::Object<ReplicaSet> new_set;                 // null until there is one
    std::vector<ReplicaSet> OldViews() const;
    std::vector<ReplicaSet> AllViews() const;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> Claim(Rollout& rollout);
  Task<Result<void>> Roll(Rollout& rollout);
  Task<Result<void>> RollByRecreate(Rollout& rollout);
  Task<Result<void>> Rescale(Rollout& rollout);
  // Finds the set of the current template and brings its annotations up to date; makes one if asked to.
  Task<Result<void>> EnsureNewSet(Rollout& rollout, bool create);
  Task<Result<void>> CreateNewSet(Rollout& rollout, int64_t revision);
  Task<Result<void>> MarkRevision(Rollout& rollout, std::string revision);
  Task<Result<void>> Scale(Rollout& rollout, sdk::Object<ReplicaSet>& set, int32_t size);
  Task<Result<void>> ScaleOld(Rollout& rollout, std::vector<int32_t> sizes);
  Task<Result<void>> CleanUp(Rollout& rollout);
  Task<Result<sdk::ReconcileOutcome>> WriteStatus(Rollout& rollout);
  bool HasRunningPods(const std::vector<sdk::Object<ReplicaSet>>& sets) const;
  std::vector<std::string> DeploymentsOf(const sdk::Change& change) const;

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& deployments_;
  sdk::Informer& sets_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
