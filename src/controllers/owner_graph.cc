#include "controllers/owner_graph.h"

#include <algorithm>

#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using object::Value;

bool HasFinalizer(const Value& object, std::string_view name) {
  return std::ranges::any_of(object.Path({"metadata", "finalizers"}).items(), [&](const Value& f) { return f.AsString() == name; });
}

GraphNode NodeOf(const schema::Kind& kind, const Value& object) {
  GraphNode node;
  node.kind = &kind;
  node.ns = sdk::meta::Namespace(object);
  node.name = sdk::meta::Name(object);
  node.uid = sdk::meta::Uid(object);
  for (const Value& owner : object.Path({"metadata", "ownerReferences"}).items()) {
    node.owners.push_back({std::string(owner.Get("apiVersion").AsString()), std::string(owner.Get("kind").AsString()),
                           std::string(owner.Get("name").AsString()), std::string(owner.Get("uid").AsString()),
                           owner.Get("blockOwnerDeletion").AsBool()});
  }
  node.deleting = sdk::meta::IsDeleting(object);
  node.foreground = HasFinalizer(object, kForegroundFinalizer);
  node.orphan = HasFinalizer(object, kOrphanFinalizer);
  return node;
}

void Append(std::vector<std::string>& to, std::vector<std::string> from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

void OwnerGraph::Link(const GraphNode& node) {
  for (const OwnerReference& owner : node.owners) dependents_[owner.uid].insert(node.uid);
}

void OwnerGraph::Unlink(const GraphNode& node) {
  for (const OwnerReference& owner : node.owners) {
    auto found = dependents_.find(owner.uid);
    if (found == dependents_.end()) continue;
    found->second.erase(node.uid);
    if (found->second.empty()) dependents_.erase(found);
  }
}

std::vector<std::string> OwnerGraph::Observe(const schema::Kind& kind, const Value& object) {
  GraphNode node = NodeOf(kind, object);
  std::vector<std::string> affected;
  auto known = nodes_.find(node.uid);
  bool is_new = known == nodes_.end();
  if (!is_new) {
    // An owner that no longer is one may have waited for this object.
    for (const OwnerReference& owner : known->second.owners) {
      bool kept = std::ranges::any_of(node.owners, [&](const OwnerReference& o) { return o == owner; });
      const GraphNode* waiting = Find(owner.uid);
      if (!kept && waiting != nullptr && waiting->WaitsForDependents()) affected.push_back(owner.uid);
    }
    Unlink(known->second);
  }
  bool owners_changed = is_new || known->second.owners != node.owners;
  bool starts_waiting = node.WaitsForDependents() && (is_new || !known->second.WaitsForDependents());
  bool starts_orphaning = node.deleting && node.orphan && (is_new || !(known->second.deleting && known->second.orphan));
  bool starts_going = node.deleting && (is_new || !known->second.deleting);
  Link(node);
  std::string uid = node.uid;
  std::vector<OwnerReference> owners = node.owners;
  nodes_[uid] = std::move(node);
  if ((owners_changed && !owners.empty()) || starts_waiting || starts_orphaning) affected.push_back(uid);
  if (starts_waiting) Append(affected, DependentsOf(uid));
  if (starts_going) {
    for (const OwnerReference& owner : owners) {
      const GraphNode* waiting = Find(owner.uid);
      if (waiting != nullptr && waiting->WaitsForDependents()) affected.push_back(owner.uid);
    }
  }
  return affected;
}

std::vector<std::string> OwnerGraph::Forget(std::string_view uid) {
  auto known = nodes_.find(std::string(uid));
  if (known == nodes_.end()) return {};
  std::vector<std::string> affected = DependentsOf(uid);
  for (const OwnerReference& owner : known->second.owners) {
    const GraphNode* node = Find(owner.uid);
    if (node != nullptr && node->WaitsForDependents()) affected.push_back(owner.uid);
  }
  Unlink(known->second);
  nodes_.erase(known);
  return affected;
}

const GraphNode* OwnerGraph::Find(std::string_view uid) const {
  auto found = nodes_.find(std::string(uid));
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<std::string> OwnerGraph::DependentsOf(std::string_view uid) const {
  auto found = dependents_.find(std::string(uid));
  if (found == dependents_.end()) return {};
  std::vector<std::string> list(found->second.begin(), found->second.end());
  std::ranges::sort(list);
  return list;
}

std::vector<std::string> OwnerGraph::BlockingDependentsOf(std::string_view uid) const {
  std::vector<std::string> blocking;
  for (std::string& dependent : DependentsOf(uid)) {
    const GraphNode* node = Find(dependent);
    bool blocks = node != nullptr && std::ranges::any_of(node->owners, [&](const OwnerReference& o) { return o.uid == uid && o.blocks; });
    if (blocks) blocking.push_back(std::move(dependent));
  }
  return blocking;
}

}  // namespace homeostat::controllers
