// OwnerGraph: who owns whom, by uid, as the informers have shown it. The pure core of the garbage collector.
//
// Invariant: an object's uid is among the dependents of each uid that its owner references name, also of uids that no
// informer has shown (an owner that is gone, or not seen yet).
//
// What an object needs is told by its node:
//
//   deleting, with the orphan finalizer       → its dependents are released, then the finalizer goes
//   deleting, with the foreground finalizer   → its dependents go first, then the finalizer
//   deleting otherwise                        → nothing: it goes by itself
//   has owners, not all of them known here    → the owners are looked up; without a live one it is deleted
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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
  // The part of apiVersion before the slash; empty for the core group.
  std::string_view group() const;
};
std::vector<OwnerReference> OwnersOf(const object::Value& object);

// An object as the graph shows it.
struct GraphNode {
  const schema::Kind* kind = nullptr;
  std::string ns, name, uid;
  std::vector<OwnerReference> owners;
  bool deleting = false, foreground = false, orphan = false;   // deletionTimestamp, and the collector's finalizers
  // It waits, being deleted in the foreground, for its dependents to go first.
  bool WaitsForDependents() const { return deleting && foreground; }
  bool WaitsForOrphaning() const { return deleting && orphan; }
};

GraphNode NodeOf(const schema::Kind& kind, const object::Value& object);

class OwnerGraph {
 public:
  OwnerGraph();
  ~OwnerGraph();

  // Takes in an object as it is now; gives the uids that are to be looked at because of it.
  std::vector<std::string> Observe(const schema::Kind& kind, const object::Value& object);
  // The object is gone: its dependents, and the owners that waited for it, are to be looked at.
  std::vector<std::string> Forget(std::string_view uid);

  std::optional<GraphNode> Find(std::string_view uid) const;
  // Uids of what names this uid as an owner, sorted.
  std::vector<std::string> DependentsOf(std::string_view uid) const;
  // Those that hold up its deletion in the foreground.
  std::vector<std::string> BlockingDependentsOf(std::string_view uid) const;
  // The owner is here, and is what the reference says: of that group, kind and name, in the dependent's namespace or in none.
  bool Knows(const OwnerReference& owner, std::string_view dependent_namespace) const;
  // Kinds of which some object has ever named an owner of that group and kind.
  std::vector<const schema::Kind*> DependentKinds(std::string_view group, std::string_view kind) const;
  size_t size() const { return nodes_.size(); }

 private:
  // Every object of the cluster has one, so it is small: one block, with what many share outside of it. Uids are packed.
  class Node;
  using NodePtr = std::unique_ptr<Node>;
  using ReferencePtr = std::shared_ptr<const OwnerReference>;
  struct NodeHash {
    using is_transparent = void;
    size_t operator()(std::string_view packed_uid) const { return absl::Hash<std::string_view>()(packed_uid); }
    size_t operator()(const NodePtr& node) const;
  };
  struct NodeEqual {
    using is_transparent = void;
    bool operator()(const NodePtr& a, const NodePtr& b) const;
    bool operator()(const NodePtr& a, std::string_view packed_uid) const;
  };
  // Of one owner, which need not be here: what names it, and the references to it, which are the same for most of them.
  struct Dependents {
    absl::flat_hash_set<const Node*> nodes;
    std::vector<ReferencePtr> references;
  };

  using Namespace = std::pair<const std::string, size_t>;
  NodePtr MakeNode(const GraphNode& object);
  ReferencePtr Share(const OwnerReference& reference);
  const Node* FindNode(std::string_view uid) const;
  void Link(const Node& node);
  void Unlink(const Node& node);
  // Unlinks it and takes it out.
  void Drop(const Node& node);
  bool WaitsForDependents(std::string_view uid) const;
  bool NeedsLook(const Node& node) const;
  const Dependents* FindDependents(std::string_view uid) const;

  absl::flat_hash_map<std::string, Dependents> dependents_;  // by the owner's packed uid
  std::map<std::pair<std::string, std::string>, std::vector<const schema::Kind*>> dependent_kinds_;
  std::unordered_map<std::string, size_t> namespaces_;  // with how many nodes refer to them
  absl::flat_hash_set<NodePtr, NodeHash, NodeEqual> nodes_;
};

// Owners that are known not to exist, in a namespace. A uid never comes back, so that it need not be looked up for each of a
// thousand dependents. Keeps the newest few hundred.
class AbsentOwners {
 public:
  void Add(std::string_view uid, std::string_view ns);
  bool Has(std::string_view uid, std::string_view ns) const { return known_.contains(Key(uid, ns)); }

 private:
  static std::string Key(std::string_view uid, std::string_view ns) { return std::string(uid) + "/" + std::string(ns); }
  std::unordered_set<std::string> known_;
  std::deque<std::string> order_;
};

}  // namespace homeostat::controllers
