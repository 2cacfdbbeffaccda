#include "controllers/owner_graph.h"

#include <algorithm>

#include "controllers/finalizers.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using object::Value;

constexpr size_t kAbsentRemembered = 500;

}  // namespace

GraphNode NodeOf(const schema::Kind& kind, const Value& object) {
  GraphNode node;
  node.kind = &kind;
  node.ns = sdk::meta::Namespace(object);
  node.name = sdk::meta::Name(object);
  node.uid = sdk::meta::Uid(object);
  node.owners = OwnersOf(object);
  node.deleting = sdk::meta::IsDeleting(object);
  node.foreground = HasFinalizer(object, kForegroundFinalizer);
  node.orphan = HasFinalizer(object, kOrphanFinalizer);
  return node;
}

std::string_view OwnerReference::group() const { return schema::ParseApiVersion(api_version).group; }

std::vector<OwnerReference> OwnersOf(const Value& object) {
  std::vector<OwnerReference> owners;
  for (const Value& owner : object.Path({"metadata", "ownerReferences"}).items()) {
    auto text = [&](std::string_view name) { return std::string(owner.Get(name).AsString()); };
    owners.push_back({text("apiVersion"), text("kind"), text("name"), text("uid"), owner.Get("blockOwnerDeletion").AsBool()});
  }
  return owners;
}

void OwnerGraph::Link(const GraphNode& node) {
  for (const OwnerReference& owner : node.owners) {
    dependents_[owner.uid].insert(node.uid);
    std::vector<const schema::Kind*>& kinds = dependent_kinds_[{std::string(owner.group()), owner.kind}];
    if (std::ranges::find(kinds, node.kind) == kinds.end()) kinds.push_back(node.kind);
  }
}

std::vector<const schema::Kind*> OwnerGraph::DependentKinds(std::string_view group, std::string_view kind) const {
  auto found = dependent_kinds_.find({std::string(group), std::string(kind)});
  return found == dependent_kinds_.end() ? std::vector<const schema::Kind*>() : found->second;
}

void OwnerGraph::Unlink(const GraphNode& node) {
  for (const OwnerReference& owner : node.owners) {
    auto found = dependents_.find(owner.uid);
    if (found == dependents_.end()) continue;
    found->second.erase(node.uid);
    if (found->second.empty()) dependents_.erase(found);
  }
}

bool OwnerGraph::WaitsForDependents(std::string_view uid) const {
  const GraphNode* node = Find(uid);
  return node != nullptr && node->WaitsForDependents();
}

bool OwnerGraph::Knows(const OwnerReference& owner, std::string_view dependent_namespace) const {
  const GraphNode* node = Find(owner.uid);
  if (node == nullptr || node->name != owner.name || node->kind->gvk.kind != owner.kind || node->kind->gvk.group != owner.group()) {
    return false;
  }
  return node->ns.empty() || node->ns == dependent_namespace;
}

bool OwnerGraph::NeedsLook(const GraphNode& node) const {
  if (node.WaitsForDependents() || node.WaitsForOrphaning()) return true;
  if (node.deleting) return false;
  return std::ranges::any_of(node.owners, [&](const OwnerReference& owner) {
    return !Knows(owner, node.ns) || WaitsForDependents(owner.uid);
  });
}

std::vector<std::string> OwnerGraph::Observe(const schema::Kind& kind, const Value& object) {
  GraphNode node = NodeOf(kind, object);
  std::vector<std::string> affected;
  auto known = nodes_.find(node.uid);
  bool is_new = known == nodes_.end();
  if (!is_new) {
    // An owner that it no longer has, or no longer blocks, may have waited for it.
    for (const OwnerReference& owner : known->second.owners) {
      bool kept = std::ranges::find(node.owners, owner) != node.owners.end();
      if (!kept && WaitsForDependents(owner.uid)) affected.push_back(owner.uid);
    }
    Unlink(known->second);
  }
  bool starts_going = node.deleting && (is_new || !known->second.deleting);
  bool starts_waiting = node.WaitsForDependents() && (is_new || !known->second.WaitsForDependents());
  Link(node);
  std::string uid = node.uid;
  GraphNode& kept = nodes_[uid] = std::move(node);
  if (NeedsLook(kept)) affected.push_back(uid);
  if (starts_waiting) std::ranges::copy(DependentsOf(uid), std::back_inserter(affected));
  if (starts_going || is_new) {
    for (const OwnerReference& owner : kept.owners) {
      if (WaitsForDependents(owner.uid)) affected.push_back(owner.uid);
    }
  }
  return affected;
}

std::vector<std::string> OwnerGraph::Forget(std::string_view uid) {
  auto known = nodes_.find(std::string(uid));
  if (known == nodes_.end()) return {};
  std::vector<std::string> affected = DependentsOf(uid);
  for (const OwnerReference& owner : known->second.owners) {
    if (WaitsForDependents(owner.uid)) affected.push_back(owner.uid);
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

void AbsentOwners::Add(std::string_view uid, std::string_view ns) {
  std::string key = Key(uid, ns);
  if (!known_.insert(key).second) return;
  order_.push_back(std::move(key));
  if (order_.size() <= kAbsentRemembered) return;
  known_.erase(order_.front());
  order_.pop_front();
}

}  // namespace homeostat::controllers
