#include "controllers/garbage_collector.h"

#include <algorithm>
#include <utility>

#include "controllers/finalizers.h"
#include "controllers/parallel.h"
#include "homeostat/api/registry.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {

using object::Value;

namespace {

constexpr Duration kFirstRecheck = std::chrono::seconds(1);
constexpr int kRecheckDoublings = 9;

// Every stored kind that can be deleted and watched, in one version each; events come and go by themselves.
std::vector<const schema::Kind*> CollectableKinds() {
  std::vector<const schema::Kind*> kinds;
  for (const schema::Kind* kind : api::AllKinds()) {
    bool usable = kind->Allows(schema::kDelete) && kind->Allows(schema::kList) && kind->Allows(schema::kWatch);
    bool served = kind->served_by_default && kind->feature_gate.empty() && !kind->virtual_kind;
    if (!usable || !served || kind->storage_prefix == "events") continue;
    bool seen = std::ranges::any_of(kinds, [&](const schema::Kind* other) { return other->storage_prefix == kind->storage_prefix; });
    if (!seen) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string> UidsOf(const std::vector<OwnerReference>& owners) {
  std::vector<std::string> uids;
  for (const OwnerReference& owner : owners) uids.push_back(owner.uid);
  return uids;
}

// Gone, or another object of that name.
bool IsGone(const Status& status) { return status.IsNotFound() || status.reason() == "Invalid"; }

}  // namespace

GarbageCollector::GarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, GarbageCollectorOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(std::move(options)),
      events_(runtime, client_, "garbage-collector-controller"),
      controller_(runtime, {.name = "garbage-collector", .workers = options_.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string uid) { return Reconcile(std::move(uid)); }) {
  if (options_.kinds.empty()) options_.kinds = CollectableKinds();
  if (!options_.find_kind) options_.find_kind = &api::FindKind;
  for (const schema::Kind* kind : options_.kinds) {
    sdk::Informer& informer = informers.ForMetadata(*kind);
    controller_.WaitFor(informer);
    informer.AddHandler([this, kind](const sdk::Change& change) { Observe(*kind, change); });
  }
  if (options_.custom_kinds == nullptr) return;
  options_.custom_kinds->AddHandler([this](const schema::Kind& kind, bool served) { Follow(kind, served); });
}

void GarbageCollector::Observe(const schema::Kind& kind, const sdk::Change& change) {
  if (change.current) {
    Enqueue(graph_.Observe(kind, change.current->root()));
  } else {
    Gone(std::string(sdk::meta::Uid(change.previous->root())));
  }
}

void GarbageCollector::Follow(const schema::Kind& kind, bool served) {
  if (!served) {
    auto followed = custom_.find(&kind);
    if (followed == custom_.end()) return;
    // They are seen no more, which is not to say that they are gone: they may stand there in another version, or behind a server
    // that is not asked any longer. Those that name them as owners ask for them.
    for (const object::DocumentPtr& object : followed->second->List()) {
      std::string uid(sdk::meta::Uid(object->root()));
      rechecks_.erase(uid);
      Enqueue(graph_.Forget(uid));
    }
    custom_.erase(followed);
    return;
  }
  sdk::InformerOptions options;
  options.metadata_only = true;
  options.identities_only = true;  // the graph has what is needed of them
  auto informer = std::make_unique<sdk::Informer>(runtime_, client_, kind, std::move(options));
  informer->AddHandler([this, &kind](const sdk::Change& change) { Observe(kind, change); });
  informer->Start();
  custom_[&kind] = std::move(informer);
}

void GarbageCollector::Enqueue(std::vector<std::string> uids) {
  for (std::string& uid : uids) controller_.Enqueue(std::move(uid));
}

const schema::Kind* GarbageCollector::KindOf(const OwnerReference& owner) const {
  auto [group, version] = schema::ParseApiVersion(owner.api_version);
  const schema::Kind* kind = options_.find_kind(group, version, owner.kind);
  if (kind == nullptr && options_.custom_kinds != nullptr) kind = options_.custom_kinds->Find(group, version, owner.kind);
  return kind;
}

void GarbageCollector::Gone(const std::string& uid) {
  const std::optional<GraphNode> node = graph_.Find(uid);
  if (node && !graph_.DependentsOf(uid).empty()) absent_.Add(uid, node->ns);
  rechecks_.erase(uid);
  Enqueue(graph_.Forget(uid));
}

Task<Result<sdk::ReconcileOutcome>> GarbageCollector::Reconcile(std::string uid) {
  std::optional<GraphNode> found = graph_.Find(uid);
  if (!found) co_return sdk::ReconcileOutcome();
  GraphNode node = *std::move(found);
  bool waits = node.WaitsForDependents() || node.WaitsForOrphaning();
  if (!waits && (node.deleting || node.owners.empty())) co_return sdk::ReconcileOutcome();
  auto refresh = Refresh(node);
  CO_TRY_ASSIGN(object::DocumentPtr latest, co_await refresh);
  if (!latest) co_return sdk::ReconcileOutcome();
  if (waits) {
    Step finish = node.WaitsForOrphaning() ? Orphan(node, latest) : FinishForeground(node, latest);
    CO_TRY(co_await finish);
    co_return sdk::ReconcileOutcome();
  }
  auto collect = Collect(node, latest);
  CO_TRY_ASSIGN(bool recheck, co_await collect);
  if (!recheck) {
    rechecks_.erase(uid);
    co_return sdk::ReconcileOutcome();
  }
  int times = std::min(rechecks_[uid]++, kRecheckDoublings);
  co_return sdk::ReconcileOutcome{kFirstRecheck * (int64_t{1} << times)};
}

Task<Result<object::DocumentPtr>> GarbageCollector::Refresh(GraphNode node) {
  auto get = client_.Get(*node.kind, node.ns, node.name);
  Result<object::DocumentPtr> latest = co_await get;
  if (!latest && !latest.error().IsNotFound()) co_return Fail(latest.error());
  if (latest && sdk::meta::Uid((*latest)->root()) == node.uid) co_return *latest;
  Gone(node.uid);
  co_return object::DocumentPtr();
}

Task<Result<void>> GarbageCollector::FinishForeground(GraphNode node, object::DocumentPtr latest) {
  std::vector<std::string> blocking = graph_.BlockingDependentsOf(node.uid);
  if (blocking.empty()) {
    // The graph may be late; what it does not show yet comes here again once it does, or has gone.
    auto find = LiveDependents(node);
    CO_TRY_ASSIGN(std::vector<GraphNode> live, co_await find);
    bool blocked = std::ranges::any_of(live, [&](const GraphNode& dependent) {
      return std::ranges::any_of(dependent.owners, [&](const OwnerReference& owner) { return owner.uid == node.uid && owner.blocks; });
    });
    if (blocked) {
      controller_.EnqueueAfter(node.uid, kFirstRecheck);
      co_return Done();
    }
    auto remove = RemoveFinalizer(node, latest, kForegroundFinalizer);
    co_return co_await remove;
  }
  for (const std::string& dependent : blocking) {
    if (!graph_.Find(dependent)->WaitsForDependents()) controller_.Enqueue(dependent);
  }
  co_return Done();
}

Task<Result<std::vector<GraphNode>>> GarbageCollector::LiveDependents(GraphNode node) {
  std::vector<GraphNode> dependents;
  for (const schema::Kind* kind : graph_.DependentKinds(node.kind->gvk.group, node.kind->gvk.kind)) {
    sdk::ListOptions options;
    options.metadata_only = true;
    auto list = client_.List(*kind, node.ns, std::move(options));
    CO_TRY_ASSIGN(sdk::ListResult items, co_await list);
    for (const object::DocumentPtr& item : items.items) {
      GraphNode dependent = NodeOf(*kind, item->root());
      bool owned = std::ranges::any_of(dependent.owners, [&](const OwnerReference& owner) { return owner.uid == node.uid; });
      if (owned) dependents.push_back(std::move(dependent));
    }
  }
  co_return dependents;
}

// What is not released now will be collected: the graph, which may be late, is not trusted with that.
Task<Result<void>> GarbageCollector::Orphan(GraphNode node, object::DocumentPtr latest) {
  auto find = LiveDependents(node);
  CO_TRY_ASSIGN(std::vector<GraphNode> dependents, co_await find);
  for (const std::string& uid : graph_.DependentsOf(node.uid)) {
    std::optional<GraphNode> known = graph_.Find(uid);
    if (known && std::ranges::find(dependents, uid, &GraphNode::uid) == dependents.end()) dependents.push_back(*std::move(known));
  }
  std::vector<Step> releases;
  for (const GraphNode& dependent : dependents) releases.push_back(RemoveReferences(dependent, {node.uid}));
  auto all = InParallel(runtime_, std::move(releases));
  std::vector<Result<void>> results = co_await all;
  CO_TRY(FirstError(results));
  auto remove = RemoveFinalizer(node, latest, kOrphanFinalizer);
  co_return co_await remove;
}

Task<Result<void>> GarbageCollector::ClassifyOne(GraphNode node, OwnerReference owner, Owners& owners) {
  if (absent_.Has(owner.uid, node.ns) || absent_.Has(owner.uid, "")) {
    owners.dangling.push_back(std::move(owner));
    co_return Done();
  }
  const schema::Kind* kind = KindOf(owner);
  if (kind == nullptr) {
    // A kind that may come yet: until then its objects are taken to exist.
    owners.recheck = true;
    owners.solid.push_back(std::move(owner));
    co_return Done();
  }
  auto get = client_.Get(*kind, kind->namespaced ? node.ns : std::string(), owner.name);
  Result<object::DocumentPtr> found = co_await get;
  if (!found && !found.error().IsNotFound()) co_return Fail(found.error());
  if (!found || sdk::meta::Uid((*found)->root()) != owner.uid) {
    absent_.Add(owner.uid, kind->namespaced ? node.ns : std::string());
    owners.dangling.push_back(std::move(owner));
    co_return Done();
  }
  const Value& object = (*found)->root();
  if (!graph_.Knows(owner, node.ns)) owners.recheck = true;
  bool waits = sdk::meta::IsDeleting(object) && HasFinalizer(object, kForegroundFinalizer);
  (waits ? owners.waiting : owners.solid).push_back(std::move(owner));
  co_return Done();
}

Task<Result<GarbageCollector::Owners>> GarbageCollector::Classify(GraphNode node, std::vector<OwnerReference> references) {
  Owners owners;
  for (OwnerReference& owner : references) {
    auto classify = ClassifyOne(node, std::move(owner), owners);
    CO_TRY(co_await classify);
  }
  co_return owners;
}

// Whether it is to be looked at again.
Task<Result<bool>> GarbageCollector::Collect(GraphNode node, object::DocumentPtr latest) {
  std::vector<OwnerReference> references = OwnersOf(latest->root());
  if (references.empty() || sdk::meta::IsDeleting(latest->root())) co_return false;
  auto invalid = std::ranges::find_if(references, [&](const OwnerReference& owner) {
    const schema::Kind* kind = KindOf(owner);
    return node.ns.empty() && kind != nullptr && kind->namespaced;
  });
  if (invalid != references.end()) {
    // Nobody can say which one is meant, and this will not change: it counts as owned.
    events_.Record(*node.kind, latest->root(), "Warning", "OwnerRefInvalidNamespace",
                   "ownerRef [" + invalid->api_version + "/" + invalid->kind + ", namespace: , name: " + invalid->name + ", uid: " +
                       invalid->uid + "] does not exist in namespace \"\"");
    co_return false;
  }
  auto classify = Classify(node, references);
  CO_TRY_ASSIGN(Owners owners, co_await classify);
  if (!owners.solid.empty()) {
    std::vector<std::string> stale = UidsOf(owners.dangling);
    std::ranges::copy(UidsOf(owners.waiting), std::back_inserter(stale));
    if (!stale.empty()) {
      auto release = RemoveReferences(node, std::move(stale));
      CO_TRY(co_await release);
    }
    co_return owners.recheck;
  }
  std::vector<std::string> dependents = graph_.DependentsOf(node.uid);
  bool in_foreground = !owners.waiting.empty() && !dependents.empty();
  bool in_circle = in_foreground && std::ranges::any_of(dependents, [&](const std::string& uid) {
    const std::optional<GraphNode> dependent = graph_.Find(uid);
    return dependent && dependent->WaitsForDependents();
  });
  if (in_circle) {
    // It would wait for what waits for it: its owners need no longer wait for it.
    auto unblock = Unblock(node, references);
    CO_TRY(co_await unblock);
    auto refresh = Refresh(node);
    CO_TRY_ASSIGN(latest, co_await refresh);
    if (!latest) co_return false;
  }
  bool orphan = HasFinalizer(latest->root(), kOrphanFinalizer), foreground = HasFinalizer(latest->root(), kForegroundFinalizer);
  auto deletion = Delete(node, latest, in_foreground ? "Foreground" : orphan ? "Orphan" : foreground ? "Foreground" : "Background");
  CO_TRY(co_await deletion);
  co_return false;
}

Task<Result<void>> GarbageCollector::RemoveReferences(GraphNode node, std::vector<std::string> uids) {
  std::string items;
  for (const std::string& uid : uids) {
    items += items.empty() ? "{\"$patch\":\"delete\"," : ",{\"$patch\":\"delete\",";
    AppendMember(items, "uid", uid);
    items += '}';
  }
  auto patch = PatchReferences(node, items, [uids](OwnerReference& owner) { return std::ranges::find(uids, owner.uid) == uids.end(); });
  co_return co_await patch;
}

Task<Result<void>> GarbageCollector::Unblock(GraphNode node, std::vector<OwnerReference> references) {
  std::string items;
  for (const OwnerReference& owner : references) {
    if (!owner.blocks) continue;
    items += items.empty() ? "{" : ",{";
    AppendMember(items, "uid", owner.uid);
    items += ",\"blockOwnerDeletion\":false}";
  }
  if (items.empty()) co_return Done();
  auto patch = PatchReferences(node, items, [](OwnerReference& owner) {
    owner.blocks = false;
    return true;
  });
  co_return co_await patch;
}

// By strategic merge of the items given; for custom resources, which don't know it, by the whole list as `keep` leaves it.
Task<Result<void>> GarbageCollector::PatchReferences(GraphNode node, std::string strategic,
                                                     std::function<bool(OwnerReference&)> keep) {
  bool merge = node.kind->type->structural;
  std::string body = "{\"metadata\":{";
  AppendMember(body, "uid", node.uid);
  std::string items = strategic;
  if (merge) {
    auto refresh = Refresh(node);
    CO_TRY_ASSIGN(object::DocumentPtr latest, co_await refresh);
    if (!latest) co_return Done();
    body += ',';
    AppendMember(body, "resourceVersion", sdk::meta::ResourceVersion(latest->root()));
    items.clear();
    for (const Value& reference : latest->root().Path({"metadata", "ownerReferences"}).items()) {
      OwnerReference owner;
      owner.uid = reference.Get("uid").AsString();
      owner.blocks = reference.Get("blockOwnerDeletion").AsBool();
      bool blocked = owner.blocks;
      if (!keep(owner)) continue;
      object::Arena arena;
      Value kept = blocked == owner.blocks ? reference : object::WithPath(arena, reference, {"blockOwnerDeletion"}, Value::Bool(owner.blocks));
      items += (items.empty() ? "" : ",") + object::JsonText(kept);
    }
  }
  body += ",\"ownerReferences\":[" + items + "]}}";
  auto patch = client_.Patch(*node.kind, node.ns, node.name, merge ? sdk::PatchType::kMerge : sdk::PatchType::kStrategicMerge,
                             Bytes(std::move(body)), {}, {});
  Result<object::DocumentPtr> patched = co_await patch;
  if (!patched && !IsGone(patched.error())) co_return Fail(patched.error());
  co_return Done();
}

Task<Result<void>> GarbageCollector::RemoveFinalizer(GraphNode node, object::DocumentPtr latest, std::string_view finalizer) {
  if (!HasFinalizer(latest->root(), finalizer)) co_return Done();
  std::string body = "{\"metadata\":{";
  AppendMember(body, "uid", node.uid);
  body += ',';
  AppendMember(body, "resourceVersion", sdk::meta::ResourceVersion(latest->root()));
  body += ",\"finalizers\":[";
  bool first = true;
  for (const Value& item : latest->root().Path({"metadata", "finalizers"}).items()) {
    if (item.AsString() == finalizer) continue;
    if (!std::exchange(first, false)) body += ',';
    object::AppendJsonString(body, item.AsString());
  }
  body += "]}}";
  auto patch = client_.Patch(*node.kind, node.ns, node.name, sdk::PatchType::kMerge, Bytes(std::move(body)), {}, {});
  Result<object::DocumentPtr> patched = co_await patch;
  if (!patched && !IsGone(patched.error())) co_return Fail(patched.error());
  co_return Done();
}

Task<Result<void>> GarbageCollector::Delete(GraphNode node, object::DocumentPtr latest, std::string policy) {
  client_.options().log.V(2).Info("Deleting item", {{"kind", node.kind->gvk.kind}, {"namespace", node.ns}, {"name", node.name}, {"propagationPolicy", policy}});
  sdk::DeleteOptions options;
  options.propagation_policy = std::move(policy);
  options.precondition_uid = node.uid;
  // Owners that it was given in the meantime are owners that were not looked at.
  options.precondition_resource_version = sdk::meta::ResourceVersion(latest->root());
  auto deletion = client_.Delete(*node.kind, node.ns, node.name, options);
  Result<void> deleted = co_await deletion;
  if (!deleted && deleted.error().IsNotFound()) {
    Gone(node.uid);
    co_return Done();
  }
  co_return deleted;
}

}  // namespace homeostat::controllers
