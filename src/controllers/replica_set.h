// ReplicaSetController: keeps the wanted number of pods of each ReplicaSet: makes and removes them, adopts pods that fit
// and have no owner, lets go of those that no longer fit.
//
// Expectations: after creating or deleting, a ReplicaSet is not looked at again before the informer has shown the outcome
// (or five minutes have passed), so that a late watch never leads to too many pods.
#pragma once

#include <map>
#include <set>

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

// What is still to be seen of a ReplicaSet's own writes. Pure.
class Expectations {
 public:
  void ExpectCreations(const std::string& key, int count, MonotonicTime now);
  void ExpectDeletions(const std::string& key, std::set<std::string> uids, MonotonicTime now);
  void CreationSeen(const std::string& key);
  void DeletionSeen(const std::string& key, const std::string& uid);
  // Nothing is awaited any more, or it has been for too long.
  bool Satisfied(const std::string& key, MonotonicTime now) const;
  void Forget(const std::string& key) { entries_.erase(key); }

 private:
  struct Entry {
    int creations = 0;
    std::set<std::string> deletions;
    MonotonicTime since;
  };
  std::map<std::string, Entry> entries_;
};

class ReplicaSetController {
 public:
  ReplicaSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  // The pods of the set: owned, or adopted now.
  Task<Result<std::vector<object::DocumentPtr>>> ClaimPods(object::DocumentPtr set);
  Task<Result<void>> CreatePods(object::DocumentPtr set, std::string key, int count);
  Task<Result<void>> DeletePods(object::DocumentPtr set, std::string key, std::vector<object::DocumentPtr> pods, int count);
  Task<Result<sdk::ReconcileOutcome>> WriteStatus(object::DocumentPtr set, std::vector<object::DocumentPtr> pods, std::string fault);
  void PodChanged(const sdk::Change& change);
  std::vector<std::string> SetsOf(const sdk::Change& change) const;

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& sets_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  Expectations expectations_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
