// GarbageCollector: deletes what is owned by nobody any more; finishes deletions in the foreground and orphaning ones.
//
// The graph is what informers have shown, which may be late: before anything is deleted, its owners are looked up for real.
#pragma once

#include <list>
#include <unordered_set>

#include "controllers/owner_graph.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class GarbageCollector {
 public:
  GarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  // An object's owners, looked up.
  struct Owners {
    std::vector<OwnerReference> solid, dangling, waiting;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string uid);
  Task<Result<void>> FinishForeground(GraphNode node);
  Task<Result<void>> Orphan(GraphNode node);
  Task<Result<void>> Collect(GraphNode node);
  Task<Result<Owners>> Classify(GraphNode node);
  // The owner as it is on the server; null if it does not exist, or under that name with another uid.
  Task<Result<object::DocumentPtr>> LookUp(OwnerReference owner, std::string ns);
  Task<Result<void>> RemoveReferences(GraphNode node, std::vector<std::string> uids);
  Task<Result<void>> RemoveFinalizer(GraphNode node, std::string finalizer);
  Task<Result<void>> Delete(GraphNode node, std::string policy);
  void Enqueue(std::vector<std::string> uids);

  sdk::Client client_;
  OwnerGraph graph_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
