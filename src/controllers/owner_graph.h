// OwnerGraph: who owns whom, by uid, as the informers have shown it. The pure core of the garbage collector.
//
// Invariant: an object's uid is among the dependents of each uid its owner references name, also of uids that no informer
// has shown (an owner that is gone, or not seen yet).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"

namespace homeostat::controllers {

inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool blocks = false;    // blockOwnerDeletion
  bool operator==(const OwnerReference&) const = default;
};

struct GraphNode {
  const schema::Kind* kind = nullptr;
  std::string ns, name, uid;
  std::vector<OwnerReference> owners;
  bool deleting = false, foreground = false, orphan = false;   // deletionTimestamp, and the collector's finalizers
  // It waits, being deleted in the foreground, for its dependents to go first.
  bool WaitsForDependents() const { return deleting && foreground; }
};

class OwnerGraph {
 public:
  // Takes in an object as it is now; gives the uids that are to be looked at because of it.
  std::vector<std::string> Observe(const schema::Kind& kind, const object::Value& object);
  // The object is gone: its dependents, and the owners that waited for it, are to be looked at.
  std::vector<std::string> Forget(std::string_view uid);

  const GraphNode* Find(std::string_view uid) const;
  // Uids of what names this uid as an owner.
  std::vector<std::string> DependentsOf(std::string_view uid) const;
  // Those that hold up its deletion in the foreground.
  std::vector<std::string> BlockingDependentsOf(std::string_view uid) const;
  size_t size() const { return nodes_.size(); }

 private:
  void Link(const GraphNode& node);
  void Unlink(const GraphNode& node);

  std::unordered_map<std::string, GraphNode> nodes_;
  std::unordered_map<std::string, std::unordered_set<std::string>> dependents_;  // by owner's uid
};

}  // namespace homeostat::controllers
