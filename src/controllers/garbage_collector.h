// GarbageCollector: deletes what is owned by nobody any more; finishes deletions in the foreground and orphaning ones.
//
// The graph is what informers have shown, which may be late: before anything is deleted, the object and its owners are
// looked up for real, by name in the object's own namespace and by uid. An error in looking up deletes nothing; it is tried
// again. Owners that exist but that no informer has shown yet are looked up again, more and more seldom.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "controllers/owner_graph.h"
#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/custom_kinds.h"

namespace homeostat::controllers {

struct GarbageCollectorOptions {
  int workers = 20;
  // The kinds it looks after, one version each. Empty: every built-in stored kind that can be listed, watched and deleted,
  // without events.
  std::vector<const schema::Kind*> kinds;
  // Those of CustomResourceDefinitions, which come and go; may be null. Must outlive the collector.
  sdk::CustomKinds* custom_kinds = nullptr;
  // The kind that an owner reference names; null if there is none (yet). Null: the built-in ones.
  std::function<const schema::Kind*(std::string_view group, std::string_view version, std::string_view kind)> find_kind;
};

class GarbageCollector {
 public:
  // All must outlive it. Loop only. Sees to kinds for which nobody else needs whole objects by their metadata alone.
  GarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, GarbageCollectorOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  // An object's owners, looked up.
  struct Owners {
    std::vector<OwnerReference> solid, dangling, waiting;
    bool recheck = false;   // something was found that no informer has shown
  };
  using Step = Task<Result<void>>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string uid);
  // The object as it is on the server; null if it is gone, also from the graph then.
  Task<Result<object::DocumentPtr>> Refresh(GraphNode node);
  Step FinishForeground(GraphNode node, object::DocumentPtr latest);
  Step Orphan(GraphNode node, object::DocumentPtr latest);
  // The node's dependents as the server has them, of the kinds that such owners are known to have.
  Task<Result<std::vector<GraphNode>>> LiveDependents(GraphNode node);
  Task<Result<bool>> Collect(GraphNode node, object::DocumentPtr latest);
  Task<Result<Owners>> Classify(GraphNode node, std::vector<OwnerReference> references);
  Step ClassifyOne(GraphNode node, OwnerReference owner, Owners& owners);
  // Takes references to these owners out of the object.
  Step RemoveReferences(GraphNode node, std::vector<std::string> uids);
  Step Unblock(GraphNode node, std::vector<OwnerReference> references);
  Step PatchReferences(GraphNode node, std::string strategic, std::function<bool(OwnerReference&)> keep);
  Step RemoveFinalizer(GraphNode node, object::DocumentPtr latest, std::string_view finalizer);
  Step Delete(GraphNode node, object::DocumentPtr latest, std::string policy);
  const schema::Kind* KindOf(const OwnerReference& owner) const;
  void Observe(const schema::Kind& kind, const sdk::Change& change);
  // Begins or ends to look after a custom kind.
  void Follow(const schema::Kind& kind, bool served);
  void Enqueue(std::vector<std::string> uids);
  void Gone(const std::string& uid);

  Runtime& runtime_;
  sdk::Client client_;
  GarbageCollectorOptions options_;
  OwnerGraph graph_;
  AbsentOwners absent_;
  std::map<const schema::Kind*, std::unique_ptr<sdk::Informer>> custom_;
  std::unordered_map<std::string, int> rechecks_;   // how often, by uid
  sdk::EventRecorder events_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
