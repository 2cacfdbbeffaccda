// DaemonSetController: a pod of each DaemonSet on every node that shall have one, and none elsewhere; rolls them from one
// template to the next, and keeps the former templates as ControllerRevisions.
//
// A look, in order: the revisions are brought up to date; pods that are missing are made and those that are too many removed;
// when nothing of that is still to be seen, the update takes its next step; old revisions go; the status is written.
#pragma once

#include "controllers/backoff.h"
#include "controllers/daemon_plan.h"
#include "controllers/pod_control.h"
#include "controllers/revisions.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct DaemonSetOptions {
  int workers = 2;
  size_t burst = 250;     // pods made, and pods removed, in one go
};

class DaemonSetController {
 public:
  // All must outlive it. Loop only.
  DaemonSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, DaemonSetOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using DaemonSet = api::apps::v1::DaemonSet;
  using Set = sdk::Object<DaemonSet>;
  using Documents = std::vector<object::DocumentPtr>;
  struct History {
    Revision current;
    std::vector<Revision> old;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<Documents>> Claim(Set set, sdk::Informer* informer);
  Task<Result<History>> BringHistoryUpToDate(Set set, std::string key, Documents pods);
  Task<Result<Revision>> CreateRevision(Set set, std::string key, int64_t number);
  Task<Result<Revision>> HandleNameTaken(Set set, std::string key, std::string name, Status refusal);
  // Several revisions of the same template: the newest stays, and pods come to it.
  Task<Result<Revision>> Merge(Set set, std::string key, std::vector<Revision> same, Documents pods);
  Task<Result<Revision>> UpdateRevision(std::string key, object::DocumentPtr next);
  Task<Result<void>> CleanUpHistory(Set set, std::vector<Revision> old, Documents pods);
  // Makes and removes what the plan says, and says whether that was anything. again: when failed pods are to be looked at, where
  // that is later.
  Task<Result<bool>> Apply(const DaemonView& view, std::string key, DaemonChanges changes, std::optional<Duration>& again);
  Task<Result<void>> Act(const DaemonView& view, std::string key, std::optional<Duration>& again);
  Task<Result<sdk::ReconcileOutcome>> WriteStatus(DaemonView view, std::string key, bool observed);
  std::vector<std::string> SetsConcerned(const sdk::Change& change) const;

  Runtime& runtime_;
  sdk::Client client_;
  DaemonSetOptions options_;
  sdk::Informer& sets_;
  sdk::Informer& revisions_;
  sdk::Informer& pods_;
  sdk::Informer& nodes_;
  sdk::EventRecorder events_;
  PodControl pod_control_;
  Backoff failed_pods_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
