#include "controllers/owner_graph.h"

#include <algorithm>
#include <new>
#include <span>

#include "controllers/finalizers.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/sdk/object.h"
#include "sdk/packed_uid.h"

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

// Behind the node lie its packed uid and its name.
class OwnerGraph::Node {
 public:
  static NodePtr Make(const GraphNode& object, std::string_view packed_uid, const Namespace& ns, std::vector<ReferencePtr> owners) {
    void* place = ::operator new(sizeof(Node) + packed_uid.size() + object.name.size());
    NodePtr node(new (place) Node(object, packed_uid.size(), ns, std::move(owners)));
    char* text = const_cast<char*>(node->texts());
    for (std::string_view part : {packed_uid, std::string_view(object.name)}) text = std::copy(part.begin(), part.end(), text);
    return node;
  }
  // Not by the size, which the type does not tell.
  static void operator delete(void* place) { ::operator delete(place); }

  const schema::Kind& kind() const { return kind_; }
  const std::string& ns() const { return ns_.first; }
  std::string_view packed_uid() const { return {texts(), uid_size_}; }
  std::string_view name() const { return {texts() + uid_size_, name_size_}; }
  std::string uid() const { return sdk::UnpackUid(packed_uid()); }
  std::span<const ReferencePtr> owners() const {
    return owners_ ? std::span<const ReferencePtr>(*owners_) : std::span<const ReferencePtr>();
  }
  bool deleting() const { return deleting_; }
  bool WaitsForDependents() const { return deleting_ && foreground_; }
  bool WaitsForOrphaning() const { return deleting_ && orphan_; }

  GraphNode Show() const {
    GraphNode node{.kind = &kind_, .ns = ns(), .name = std::string(name()), .uid = uid()};
    for (const ReferencePtr& owner : owners()) node.owners.push_back(*owner);
    node.deleting = deleting_;
    node.foreground = foreground_;
    node.orphan = orphan_;
    return node;
  }

 private:
  Node(const GraphNode& object, size_t uid_size, const Namespace& ns, std::vector<ReferencePtr> owners)
      : kind_(*object.kind), ns_(ns), uid_size_(static_cast<uint16_t>(uid_size)), name_size_(static_cast<uint16_t>(object.name.size())),
        deleting_(object.deleting), foreground_(object.foreground), orphan_(object.orphan) {
    if (!owners.empty()) owners_ = std::make_unique<const std::vector<ReferencePtr>>(std::move(owners));
  }
  const char* texts() const { return reinterpret_cast<const char*>(this + 1); }

  const schema::Kind& kind_;
  const Namespace& ns_;
  std::unique_ptr<const std::vector<ReferencePtr>> owners_;  // null: none
  uint16_t uid_size_, name_size_;
  bool deleting_, foreground_, orphan_;
};

size_t OwnerGraph::NodeHash::operator()(const NodePtr& node) const { return (*this)(node->packed_uid()); }
bool OwnerGraph::NodeEqual::operator()(const NodePtr& a, const NodePtr& b) const { return a->packed_uid() == b->packed_uid(); }
bool OwnerGraph::NodeEqual::operator()(const NodePtr& a, std::string_view packed_uid) const { return a->packed_uid() == packed_uid; }

OwnerGraph::OwnerGraph() = default;
OwnerGraph::~OwnerGraph() = default;

OwnerGraph::ReferencePtr OwnerGraph::Share(const OwnerReference& reference) {
  std::vector<ReferencePtr>& known = dependents_[sdk::PackUid(reference.uid)].references;
  for (const ReferencePtr& same : known) {
    if (*same == reference) return same;
  }
  return known.emplace_back(std::make_shared<const OwnerReference>(reference));
}

OwnerGraph::NodePtr OwnerGraph::MakeNode(const GraphNode& object) {
  std::vector<ReferencePtr> owners;
  owners.reserve(object.owners.size());
  for (const OwnerReference& owner : object.owners) owners.push_back(Share(owner));
  Namespace& ns = *namespaces_.try_emplace(object.ns, 0).first;
  ++ns.second;
  return Node::Make(object, sdk::PackUid(object.uid), ns, std::move(owners));
}

const OwnerGraph::Node* OwnerGraph::FindNode(std::string_view uid) const {
  auto found = nodes_.find(std::string_view(sdk::PackUid(uid)));
  return found == nodes_.end() ? nullptr : found->get();
}

const OwnerGraph::Dependents* OwnerGraph::FindDependents(std::string_view uid) const {
  auto found = dependents_.find(sdk::PackUid(uid));
  return found == dependents_.end() ? nullptr : &found->second;
}

void OwnerGraph::Link(const Node& node) {
  for (const ReferencePtr& owner : node.owners()) {
    dependents_[sdk::PackUid(owner->uid)].nodes.insert(&node);
    std::vector<const schema::Kind*>& kinds = dependent_kinds_[{std::string(owner->group()), owner->kind}];
    if (std::ranges::find(kinds, &node.kind()) == kinds.end()) kinds.push_back(&node.kind());
  }
}

std::vector<const schema::Kind*> OwnerGraph::DependentKinds(std::string_view group, std::string_view kind) const {
  auto found = dependent_kinds_.find({std::string(group), std::string(kind)});
  return found == dependent_kinds_.end() ? std::vector<const schema::Kind*>() : found->second;
}

void OwnerGraph::Unlink(const Node& node) {
  for (const ReferencePtr& owner : node.owners()) {
    auto found = dependents_.find(sdk::PackUid(owner->uid));
    if (found == dependents_.end()) continue;
    Dependents& dependents = found->second;
    dependents.nodes.erase(&node);
    // Those that only this node and the list still hold.
    std::erase_if(dependents.references, [&](const ReferencePtr& known) {
      const auto mine = std::ranges::count(node.owners(), known);
      return mine != 0 && known.use_count() == mine + 1;
    });
    if (dependents.nodes.empty() && dependents.references.empty()) dependents_.erase(found);
  }
}

void OwnerGraph::Drop(const Node& node) {
  Unlink(node);
  auto ns = namespaces_.find(node.ns());
  nodes_.erase(nodes_.find(node.packed_uid()));
  if (--ns->second == 0) namespaces_.erase(ns);
}

bool OwnerGraph::WaitsForDependents(std::string_view uid) const {
  const Node* node = FindNode(uid);
  return node != nullptr && node->WaitsForDependents();
}

bool OwnerGraph::Knows(const OwnerReference& owner, std::string_view dependent_namespace) const {
  const Node* node = FindNode(owner.uid);
  if (node == nullptr || node->name() != owner.name || node->kind().gvk.kind != owner.kind || node->kind().gvk.group != owner.group()) {
    return false;
  }
  return node->ns().empty() || node->ns() == dependent_namespace;
}

bool OwnerGraph::NeedsLook(const Node& node) const {
  if (node.WaitsForDependents() || node.WaitsForOrphaning()) return true;
  if (node.deleting()) return false;
  return std::ranges::any_of(node.owners(), [&](const ReferencePtr& owner) {
    return !Knows(*owner, node.ns()) || WaitsForDependents(owner->uid);
  });
}

std::vector<std::string> OwnerGraph::Observe(const schema::Kind& kind, const Value& object) {
  const GraphNode now = NodeOf(kind, object);
  std::vector<std::string> affected;
  NodePtr next = MakeNode(now);
  auto known = nodes_.find(next->packed_uid());
  const bool is_new = known == nodes_.end();
  const bool starts_going = now.deleting && (is_new || !(*known)->deleting());
  const bool starts_waiting = now.WaitsForDependents() && (is_new || !(*known)->WaitsForDependents());
  const Node* kept = next.get();
  if (is_new) {
    nodes_.insert(std::move(next));
  } else {
    // An owner that it no longer has, or no longer blocks, may have waited for it.
    for (const ReferencePtr& owner : (*known)->owners()) {
      bool still = std::ranges::find(now.owners, *owner) != now.owners.end();
      if (!still && WaitsForDependents(owner->uid)) affected.push_back(owner->uid);
    }
    Drop(**known);
    nodes_.insert(std::move(next));
  }
  Link(*kept);
  if (NeedsLook(*kept)) affected.push_back(now.uid);
  if (starts_waiting) std::ranges::copy(DependentsOf(now.uid), std::back_inserter(affected));
  if (starts_going || is_new) {
    for (const OwnerReference& owner : now.owners) {
      if (WaitsForDependents(owner.uid)) affected.push_back(owner.uid);
    }
  }
  return affected;
}

std::vector<std::string> OwnerGraph::Forget(std::string_view uid) {
  auto known = nodes_.find(std::string_view(sdk::PackUid(uid)));
  if (known == nodes_.end()) return {};
  std::vector<std::string> affected = DependentsOf(uid);
  for (const ReferencePtr& owner : (*known)->owners()) {
    if (WaitsForDependents(owner->uid)) affected.push_back(owner->uid);
  }
  Drop(**known);
  return affected;
}

std::optional<GraphNode> OwnerGraph::Find(std::string_view uid) const {
  const Node* node = FindNode(uid);
  return node == nullptr ? std::nullopt : std::optional(node->Show());
}

std::vector<std::string> OwnerGraph::DependentsOf(std::string_view uid) const {
  std::vector<std::string> list;
  if (const Dependents* dependents = FindDependents(uid)) {
    for (const Node* node : dependents->nodes) list.push_back(node->uid());
  }
  std::ranges::sort(list);
  return list;
}

std::vector<std::string> OwnerGraph::BlockingDependentsOf(std::string_view uid) const {
  std::vector<std::string> blocking;
  if (const Dependents* dependents = FindDependents(uid)) {
    for (const Node* node : dependents->nodes) {
      bool blocks = std::ranges::any_of(node->owners(), [&](const ReferencePtr& owner) { return owner->uid == uid && owner->blocks; });
      if (blocks) blocking.push_back(node->uid());
    }
  }
  std::ranges::sort(blocking);
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
