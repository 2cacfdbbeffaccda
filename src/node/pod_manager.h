// PodManager: the pods of this node. Follows the API and the container runtime, has a PodRunner for each pod, refuses pods
// that don't fit, and takes away what belongs to none. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "homeostat/sdk/informer.h"
#include "node/log_rotation.h"
#include "node/pod_runner.h"

namespace homeostat::node {

class PodManager {
 public:
  // `pods`: an informer for the pods bound to this node; not started yet. `node`: the Node object as last known. All must
  // outlive the manager.
  PodManager(NodeContext& context, sdk::Informer& pods, std::function<object::DocumentPtr()> node);
  ~PodManager();
  PodManager(const PodManager&) = delete;

  // Begins once the informer has its first list.
  void Start();

  // Null if there is none.
  PodRunner* Find(std::string_view ns, std::string_view name) const;
  PodRunner* FindByUid(const std::string& uid) const;
  std::vector<PodRunner*> All() const;
  // Something that the pod's volumes show has changed.
  void ReferenceChanged(const std::string& uid);
  void Wake(const std::string& uid);

 private:
  void Changed(const sdk::Change& change);
  void Add(object::DocumentPtr pod);
  void Admit(PodRunner& runner);
  Task<void> FollowRuntime();
  void CheckOrphans(const std::map<std::string, std::string>& summary);
  Task<void> RemoveOrphan(std::string uid);
  Task<void> RemoveOldFolders();
  Task<void> RotateLogs();

  NodeContext& context_;
  sdk::Informer& pods_;
  std::function<object::DocumentPtr()> node_;
  std::map<std::string, std::unique_ptr<PodRunner>> runners_;    // by uid
  std::map<std::string, std::string> summary_;
  std::set<std::string> suspects_, being_removed_;               // uids of containers without a pod
  std::shared_ptr<PodManager*> self_;                            // null once this is destroyed
  TaskGroup group_;
};

}  // namespace homeostat::node
