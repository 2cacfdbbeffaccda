// StatefulSetController: pods with names and claims of their own, made and replaced in order (stateful_plan.h says in which).
// Templates are kept as ControllerRevisions; a pod names the revision it is of.
#pragma once

#include "controllers/expectations.h"
#include "controllers/revisions.h"
#include "controllers/stateful_plan.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct StatefulSetOptions {
  int workers = 5;
};

class StatefulSetController {
 public:
  // All must outlive it. Loop only.
  StatefulSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, StatefulSetOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using StatefulSet = api::apps::v1::StatefulSet;
  using Claim = api::core::v1::PersistentVolumeClaim;
  using Set = sdk::Object<StatefulSet>;
  using Documents = std::vector<object::DocumentPtr>;
  struct History {
    std::vector<Revision> all;     // oldest first
    Revision current, update;
    int32_t collisions = 0;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<Documents>> ClaimPods(Set set);
  Task<Result<History>> BringHistoryUpToDate(Set set, std::string key);
  Task<Result<void>> CreateRevision(Set set, std::string key, History& history);
  Task<Result<void>> CleanUpHistory(Set set, History history, Documents pods);

  // Does the steps in order and completes with the first fault; where the set is Parallel, those after a fault all the same.
  Task<Result<void>> Do(const StatefulView& view, std::string key, std::vector<StatefulStep> steps);
  Task<Result<void>> DoOne(const StatefulView& view, std::string key, StatefulStep step);
  Task<Result<void>> CreatePod(Set set, std::string key, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<void>> DeletePod(Set set, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<void>> Align(Set set, std::string key, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<void>> MakeMissingClaims(Set set, std::string key, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<void>> MakeClaims(Set set, std::string key, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<void>> AlignClaims(Set set, std::string key, sdk::Object<api::core::v1::Pod> pod);
  Task<Result<sdk::ReconcileOutcome>> WriteStatus(StatefulView view, std::string key, StatefulCounts counts, int32_t collisions);
  // What was done to a pod; with an error, what could not be.
  void Tell(const Set& set, std::string_view verb, std::string_view what, const Status* error, std::string_view success = "successful");
  void TellOfClaim(const Set& set, const std::string& claim, std::string_view pod, const Status* error);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& sets_;
  sdk::Informer& revisions_;
  sdk::Informer& pods_;
  sdk::Informer& claims_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
