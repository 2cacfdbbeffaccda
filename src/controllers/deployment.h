// DeploymentController: rolls pods from one template to the next through ReplicaSets, as fast as availability allows.
//
// A rollout, in the order the steps are looked for; each look does one that is due and writes the status:
//
//   paused, or scaled in the middle   → only sizes change, in proportion
//   RollingUpdate                     → the new set grows while there is room for surge, else old sets shrink while enough
//                                       pods are available
//   Recreate                          → old sets shrink to nothing; once their pods are gone the new set grows
//   complete                          → sets beyond the history limit are removed
#pragma once

#include "controllers/deployment_rules.h"
#include "controllers/expectations.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct DeploymentOptions {
  int workers = 5;
};

class DeploymentController {
 public:
  // All must outlive it. Loop only.
  DeploymentController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, DeploymentOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using DeploymentObject = sdk::Object<api::apps::v1::Deployment>;
  using Set = sdk::Object<api::apps::v1::ReplicaSet>;
  // One Deployment with its sets while it is looked at. What is written is taken over as the server answers it.
  struct Rollout {
    std::string key;
    DeploymentObject deployment;
    std::vector<Set> old_sets;                       // oldest first
    Set new_set;                                     // null until there is one
    ReplicaSets OldViews() const;
    ReplicaSets AllViews() const;                    // the new one last
  };
  using Step = Task<Result<void>>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Step RefuseSelectingAll(Rollout& rollout);
  Step Claim(Rollout& rollout);
  Step NotePause(Rollout& rollout);
  Step Advance(Rollout& rollout, bool& scaled_only);
  Step Roll(Rollout& rollout);
  Step Recreate(Rollout& rollout);
  Step Rescale(Rollout& rollout);
  // Brings the set of the current template up to date; makes one if there is none and `create` is set.
  Step EnsureNewSet(Rollout& rollout, bool create);
  Step CreateNewSet(Rollout& rollout, int64_t revision);
  Step HandleNameTaken(Rollout& rollout, std::string name, Status refusal);
  Step HandleCreateFailure(Rollout& rollout, std::string name, Status refusal);
  // Writes the revision and, if given, the Progressing condition.
  Step MarkRevision(Rollout& rollout, std::string revision, std::optional<Condition> progressing);
  Step Scale(Rollout& rollout, Set& set, int32_t size);
  Step ScaleOld(Rollout& rollout, std::vector<int32_t> sizes);
  Step CleanUp(Rollout& rollout);
  Step WriteDeployment(Rollout& rollout, object::DocumentPtr next);
  Task<Result<sdk::ReconcileOutcome>> WriteStatus(Rollout& rollout, bool scaled_only);
  bool HasRunningPods(const std::vector<Set>& sets) const;
  std::vector<std::string> RecreatedAfter(const sdk::Change& change) const;

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& deployments_;
  sdk::Informer& sets_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
