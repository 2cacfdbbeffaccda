#include "controllers/garbage_collector.h"

#include <algorithm>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {
namespace {

using object::Value;

// Every kind whose objects may own or be owned, in one version each.
std::vector<const schema::Kind*> CollectableKinds() {
  std::vector<const schema::Kind*> kinds;
  for (const schema::Kind* kind : api::AllKinds()) {
    bool wanted = !kind->virtual_kind && kind->served_by_default && kind->feature_gate.empty() && kind->Allows(schema::kDelete) &&
                  kind->Allows(schema::kList) && kind->Allows(schema::kWatch);
    // Events come and go too fast, own nothing, and are owned by nobody.
    if (!wanted || kind->storage_prefix == "events") continue;
    bool seen = std::ranges::any_of(kinds, [&](const schema::Kind* other) { return other->storage_prefix == kind->storage_prefix; });
    if (!seen) kinds.push_back(kind);
  }
  return kinds;
}

const schema::Kind* KindOf(const OwnerReference& owner) {
  size_t slash = owner.api_version.find('/');
  std::string_view text = owner.api_version;
  std::string_view group = slash == text.npos ? std::string_view() : text.substr(0, slash);
  std::string_view version = slash == text.npos ? text : text.substr(slash + 1);
  return api::FindKind(group, version, owner.kind);
}

std::vector<std::string> UidsOf(const std::vector<OwnerReference>& owners) {
  std::vector<std::string> uids;
  for (const OwnerReference& owner : owners) uids.push_back(owner.uid);
  return uids;
}

bool HasFinalizer(const Value& object, std::string_view name) {
  return std::ranges::any_of(object.Path({"metadata", "finalizers"}).items(), [&](const Value& f) { return f.AsString() == name; });
}

}  // namespace

GarbageCollector::GarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      controller_(runtime, {.name = "garbage-collector", .workers = 20}, [this](std::string uid) { return Reconcile(std::move(uid)); }) {
  for (const schema::Kind* kind : CollectableKinds()) {
    informers.For(*kind).AddHandler([this, kind](const sdk::Change& change) {
      if (change.current) Enqueue(graph_.Observe(*kind, change.current->root()));
      else Enqueue(graph_.Forget(sdk::meta::Uid(change.previous->root())));
    });
  }
}

void GarbageCollector::Enqueue(std::vector<std::string> uids) {
  for (std::string& uid : uids) controller_.Enqueue(std::move(uid));
}

Task<Result<sdk::ReconcileOutcome>> GarbageCollector::Reconcile(std::string uid) {
  const GraphNode* found = graph_.Find(uid);
  if (found == nullptr) co_return sdk::ReconcileOutcome();
  GraphNode node = *found;
  if (node.deleting && node.orphan) {
    auto orphan = Orphan(node);
    CO_TRY(co_await std::move(orphan));
  } else if (node.WaitsForDependents()) {
    auto finish = FinishForeground(node);
    CO_TRY(co_await std::move(finish));
  } else if (!node.deleting && !node.owners.empty()) {
    auto collect = Collect(node);
    CO_TRY(co_await std::move(collect));
  }
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> GarbageCollector::FinishForeground(GraphNode node) {
  std::vector<std::string> blocking = graph_.BlockingDependentsOf(node.uid);
  if (blocking.empty()) {
    auto remove = RemoveFinalizer(node, std::string(kForegroundFinalizer));
    co_return co_await std::move(remove);
  }
  for (const std::string& dependent : blocking) {
    const GraphNode* other = graph_.Find(dependent);
    if (other != nullptr && !other->deleting) controller_.Enqueue(dependent);
  }
  co_return Done();
}

Task<Result<void>> GarbageCollector::Orphan(GraphNode node) {
  for (const std::string& dependent : graph_.DependentsOf(node.uid)) {
    const GraphNode* other = graph_.Find(dependent);
    if (other == nullptr) continue;
    auto release = RemoveReferences(*other, {node.uid});
    CO_TRY(co_await std::move(release));
  }
  auto remove = RemoveFinalizer(node, std::string(kOrphanFinalizer));
  co_return co_await std::move(remove);
}

Task<Result<object::DocumentPtr>> GarbageCollector::LookUp(OwnerReference owner, std::string ns) {
  const schema::Kind* kind = KindOf(owner);
  if (kind == nullptr) co_return Fail(InternalError("no kind " + owner.kind + " in " + owner.api_version));
  if (kind->namespaced && ns.empty()) {
    // A cluster-scoped object can't be owned from within a namespace: nobody can say which one is meant.
    co_return Fail(InternalError("cluster-scoped object names the namespaced owner " + owner.kind + " " + owner.name));
  }
  auto get = client_.Get(*kind, kind->namespaced ? ns : std::string(), owner.name);
  auto got = co_await std::move(get);
  if (!got && got.error().IsNotFound()) co_return object::DocumentPtr();
  if (!got) co_return Fail(got.error());
  if (sdk::meta::Uid((*got)->root()) != owner.uid) co_return object::DocumentPtr();
  co_return *got;
}

Task<Result<GarbageCollector::Owners>> GarbageCollector::Classify(GraphNode node) {
  Owners owners;
  for (const OwnerReference& owner : node.owners) {
    auto look = LookUp(owner, node.ns);
    auto found = co_await std::move(look);
    if (!found) {
      // Who can't be looked up is taken to exist: nothing is deleted on a guess.
      owners.solid.push_back(owner);
    } else if (!*found) {
      owners.dangling.push_back(owner);
    } else if (sdk::meta::IsDeleting((*found)->root()) && HasFinalizer((*found)->root(), kForegroundFinalizer)) {
      owners.waiting.push_back(owner);
    } else {
      owners.solid.push_back(owner);
    }
  }
  co_return owners;
}

Task<Result<void>> GarbageCollector::Collect(GraphNode node) {
  auto classify = Classify(node);
  CO_TRY_ASSIGN(Owners owners, co_await std::move(classify));
  if (!owners.solid.empty()) {
    std::vector<std::string> stale = UidsOf(owners.dangling);
    for (std::string& uid : UidsOf(owners.waiting)) stale.push_back(std::move(uid));
    if (stale.empty()) co_return Done();
    auto release = RemoveReferences(node, std::move(stale));
    co_return co_await std::move(release);
  }
  bool in_foreground = !owners.waiting.empty() && !graph_.DependentsOf(node.uid).empty();
  std::string policy = in_foreground ? "Foreground" : node.orphan ? "Orphan" : node.foreground ? "Foreground" : "Background";
  auto deletion = Delete(node, std::move(policy));
  co_return co_await std::move(deletion);
}

Task<Result<void>> GarbageCollector::RemoveReferences(GraphNode node, std::vector<std::string> uids) {
  std::string body = R"({"metadata":{"uid":")" + node.uid + R"(","ownerReferences":[)";
  for (size_t i = 0; i < uids.size(); ++i) body += std::string(i > 0 ? "," : "") + R"({"$patch":"delete","uid":")" + uids[i] + "\"}";
  body += "]}}";
  auto patch = client_.Patch(*node.kind, node.ns, node.name, sdk::PatchType::kStrategicMerge, Bytes(std::move(body)), "", {});
  auto patched = co_await std::move(patch);
  // Gone, or another object of that name: nothing is left to release.
  if (!patched && !patched.error().IsNotFound() && patched.error().reason() != "Invalid") co_return Fail(patched.error());
  co_return Done();
}

Task<Result<void>> GarbageCollector::RemoveFinalizer(GraphNode node, std::string finalizer) {
  auto get = client_.Get(*node.kind, node.ns, node.name);
  auto got = co_await std::move(get);
  if (!got && got.error().IsNotFound()) co_return Done();
  if (!got) co_return Fail(got.error());
  const Value& object = (*got)->root();
  if (sdk::meta::Uid(object) != node.uid || !HasFinalizer(object, finalizer)) co_return Done();
  std::string body = R"({"metadata":{"resourceVersion":")" + std::string(sdk::meta::ResourceVersion(object)) + R"(","finalizers":[)";
  bool first = true;
  for (const Value& item : object.Path({"metadata", "finalizers"}).items()) {
    if (item.AsString() == finalizer) continue;
    if (!first) body += ',';
    first = false;
    object::AppendJsonString(body, item.AsString());
  }
  body += "]}}";
  auto patch = client_.Patch(*node.kind, node.ns, node.name, sdk::PatchType::kMerge, Bytes(std::move(body)), "", {});
  auto patched = co_await std::move(patch);
  if (!patched && !patched.error().IsNotFound()) co_return Fail(patched.error());
  co_return Done();
}

Task<Result<void>> GarbageCollector::Delete(GraphNode node, std::string policy) {
  sdk::DeleteOptions options;
  options.propagation_policy = std::move(policy);
  options.precondition_uid = node.uid;
  auto deletion = client_.Delete(*node.kind, node.ns, node.name, options);
  auto deleted = co_await std::move(deletion);
  if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return Fail(deleted.error());
  co_return Done();
}

}  // namespace homeostat::controllers
