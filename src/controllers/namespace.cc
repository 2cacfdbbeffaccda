#include "controllers/namespace.h"

#include <algorithm>
#include <utility>

#include "controllers/conditions.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/registry.h"
#include "homeostat/base/go_text.h"

namespace homeostat::controllers {

using api::core::v1::Namespace;
using api::core::v1::NamespaceBuilder;
using api::core::v1::Pod;
using object::Value;

namespace {

// What holds finalizers takes as long as it takes; upstream looks again after half of that.
constexpr int64_t kFinalizerSeconds = 15;
constexpr Duration kLongestBackoff = std::chrono::minutes(1);
constexpr Duration kFirstLook = std::chrono::milliseconds(500);

const schema::Kind& PodKind() { return Pod::SchemaKind(); }

// Every stored, namespaced kind that can be deleted, in one version each.
std::vector<const schema::Kind*> ContentKinds() {
  std::vector<const schema::Kind*> kinds;
  for (const schema::Kind* kind : api::AllKinds()) {
    bool usable = kind->namespaced && !kind->virtual_kind && kind->Allows(schema::kDelete) && kind->Allows(schema::kList);
    if (!usable || !kind->served_by_default || !kind->feature_gate.empty()) continue;
    bool seen = std::ranges::any_of(kinds, [&](const schema::Kind* other) { return other->storage_prefix == kind->storage_prefix; });
    if (!seen) kinds.push_back(kind);
  }
  return kinds;
}

// Each name with its count behind the word.
std::string Listed(const std::map<std::string, size_t>& counts, std::string_view word) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts) texts.push_back(name + " " + std::string(word) + " " + std::to_string(count) + " resource instances");
  return JoinTexts(texts, ", ");
}

std::string DiscoveryFault(const std::vector<std::string>& versions) {
  std::vector<std::string> texts;
  for (const std::string& version : versions) texts.push_back(version + ": stale GroupVersion discovery: " + version);
  return "unable to retrieve the complete list of server APIs: " + JoinTexts(texts, ", ");
}

std::string Sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return JoinTexts(texts, ", ");
}

// Sets a condition where it stands; says whether anything changed.
bool SetInPlace(Conditions& conditions, std::string_view type, bool fault, std::string reason, std::string message, WallTime now) {
  std::string status = fault ? "True" : "False";
  auto known = std::ranges::find(conditions, type, &Condition::type);
  if (known == conditions.end()) {
    conditions.push_back({std::string(type), status, std::move(reason), std::move(message), {}, TimeText(now)});
    return true;
  }
  bool same = known->status == status && known->reason == reason && known->message == message;
  if (known->status != status) known->last_transition_time = TimeText(now);
  known->status = std::move(status);
  known->reason = std::move(reason);
  known->message = std::move(message);
  return !same;
}

}  // namespace

NamespaceController::NamespaceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, NamespaceOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(std::move(options)),
      namespaces_(informers.For<Namespace>()),
      controller_(runtime, {.name = "namespace", .workers = options_.workers, .backoff = {.limit = kLongestBackoff}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  if (options_.kinds.empty()) options_.kinds = ContentKinds();
  // Nothing is finalized while kinds may be missing of which there are objects.
  if (options_.custom_kinds != nullptr) controller_.WaitFor(options_.custom_kinds->informer());
  controller_.WatchMapped(namespaces_, [](const sdk::Change& change) -> std::vector<std::string> {
    if (!change.current || !sdk::meta::IsDeleting(change.current->root())) return {};
    return {std::string(sdk::meta::Name(change.current->root()))};
  });
}

Task<Result<void>> NamespaceController::DeleteEach(const schema::Kind& kind, std::string name) {
  sdk::ListOptions list;
  list.metadata_only = true;
  auto call = client_.List(kind, name, std::move(list));
  CO_TRY_ASSIGN(sdk::ListResult items, co_await call);
  for (const object::DocumentPtr& item : items.items) {
    sdk::DeleteOptions options;
    options.propagation_policy = "Background";
    auto deletion = client_.Delete(kind, name, std::string(sdk::meta::Name(item->root())), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && deleted.error().code() != 405) co_return deleted;
  }
  co_return Done();
}

Task<Result<void>> NamespaceController::DeleteKind(const schema::Kind& kind, std::string name, Remaining& remaining) {
  bool pods = &kind == &PodKind();
  sdk::DeleteOptions options;
  options.propagation_policy = "Background";
  auto deletion = kind.Allows(schema::kDeleteCollection) ? client_.DeleteCollection(kind, name, {}, options) : DeleteEach(kind, name);
  Result<void> deleted = co_await deletion;
  if (!deleted && deleted.error().code() != 404 && deleted.error().code() != 405) co_return deleted;
  sdk::ListOptions list;
  list.metadata_only = !pods;
  auto call = client_.List(kind, name, std::move(list));
  CO_TRY_ASSIGN(sdk::ListResult left, co_await call);
  if (left.items.empty()) co_return Done();
  remaining.kinds[std::string(kind.plural) + "." + std::string(kind.gvk.group)] = left.items.size();
  for (const object::DocumentPtr& item : left.items) {
    for (const Value& finalizer : item->root().Path({"metadata", "finalizers"}).items()) ++remaining.finalizers[std::string(finalizer.AsString())];
    if (pods) remaining.grace_seconds = std::max(remaining.grace_seconds, Pod(item->root()).metadata().deletion_grace_period_seconds());
  }
  co_return Done();
}

Task<void> NamespaceController::DeleteCustom(std::string name, Remaining& remaining) {
  if (options_.custom_kinds == nullptr) co_return;
  const std::set<std::string> unavailable = options_.custom_kinds->unavailable();
  remaining.undiscovered.assign(unavailable.begin(), unavailable.end());
  for (const schema::Kind* kind : options_.custom_kinds->Served()) {
    if (!kind->namespaced || unavailable.contains(kind->gvk.ApiVersion())) continue;
    auto deletion = DeleteKind(*kind, name, remaining);
    Result<void> deleted = co_await deletion;
    // A kind whose definition went meanwhile has no objects.
    if (!deleted && !deleted.error().IsNotFound()) remaining.faults.push_back(deleted.error().message());
  }
}

Task<Result<void>> NamespaceController::DeleteContent(std::string name, Remaining& remaining) {
  for (bool pods : {true, false}) {
    for (const schema::Kind* kind : options_.kinds) {
      if ((kind == &PodKind()) != pods) continue;
      auto deletion = DeleteKind(*kind, name, remaining);
      Result<void> deleted = co_await deletion;
      if (!deleted) remaining.faults.push_back(deleted.error().message());
    }
    if (!pods) {
      auto custom = DeleteCustom(name, remaining);
      co_await custom;
    }
    if (!remaining.kinds.empty()) co_return Done();
  }
  co_return Done();
}

Task<Result<void>> NamespaceController::WriteConditions(object::DocumentPtr document, Remaining remaining) {
  Namespace ns(document->root());
  Conditions conditions = ReadConditions(ns.status().conditions());
  WallTime now = runtime_.WallNow();
  bool fault = !remaining.faults.empty(), content = !remaining.kinds.empty(), held = !remaining.finalizers.empty();
  size_t faults = remaining.faults.size();
  bool changed = ns.status().phase() != "Terminating";
  auto set = [&](std::string_view type, bool value, std::string reason, std::string message) {
    changed |= SetInPlace(conditions, type, value, std::move(reason), std::move(message), now);
  };
  bool undiscovered = !remaining.undiscovered.empty();
  set("NamespaceDeletionDiscoveryFailure", undiscovered, undiscovered ? "DiscoveryFailed" : "ResourcesDiscovered",
      undiscovered ? "Discovery failed for some groups, " + std::to_string(remaining.undiscovered.size()) + " failing: " + DiscoveryFault(remaining.undiscovered)
                   : "All resources successfully discovered");
  set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", "All legacy kube types successfully parsed");
  set("NamespaceDeletionContentFailure", fault, fault ? "ContentDeletionFailed" : "ContentDeleted",
      fault ? "Failed to delete all resource types, " + std::to_string(faults) + " remaining: " + Sorted(std::move(remaining.faults))
            : "All content successfully deleted, may be waiting on finalization");
  set("NamespaceContentRemaining", content, content ? "SomeResourcesRemain" : "ContentRemoved",
      content ? "Some resources are remaining: " + Listed(remaining.kinds, "has") : "All content successfully removed");
  set("NamespaceFinalizersRemaining", held, held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
      held ? "Some content in the namespace has finalizers remaining: " + Listed(remaining.finalizers, "in") : "All content-preserving finalizers finished");
  if (!changed) co_return Done();
  NamespaceBuilder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  status.set_phase("Terminating");
  controllers::WriteConditions(status, conditions);
  auto update = client_.UpdateStatus<Namespace>(sdk::Object<Namespace>(next.Freeze()));
  CO_TRY(co_await update);
  co_return Done();
}

Task<Result<void>> NamespaceController::Finalize(object::DocumentPtr document) {
  NamespaceBuilder next{schema::Subtree(document)};
  auto spec = next.mutable_spec();
  spec.clear_finalizers();
  for (std::string_view finalizer : Namespace(document->root()).spec().finalizers()) {
    if (finalizer != "kubernetes") spec.add_finalizers(finalizer);
  }
  auto update = client_.Update(Namespace::SchemaKind(), next.Freeze(), "finalize");
  Result<object::DocumentPtr> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> NamespaceController::Reconcile(std::string name) {
  auto get = client_.Get<Namespace>("", name);
  Result<sdk::Object<Namespace>> got = co_await get;
  if (!got && !got.error().IsNotFound()) co_return Fail(got.error());
  bool done = !got || !sdk::meta::IsDeleting((*got)->Raw()) ||
              std::ranges::none_of((*got)->spec().finalizers().Raw().items(), [](const Value& f) { return f.AsString() == "kubernetes"; });
  if (done) {
    looks_.erase(name);
    co_return sdk::ReconcileOutcome();
  }
  Remaining remaining;
  auto deletion = DeleteContent(name, remaining);
  CO_TRY(co_await deletion);
  if (remaining.empty()) {
    auto finalize = Finalize(got->document());
    CO_TRY(co_await finalize);
    looks_.erase(name);
    co_return sdk::ReconcileOutcome();
  }
  auto write = WriteConditions(got->document(), remaining);
  CO_TRY(co_await write);
  if (!remaining.undiscovered.empty()) co_return Fail(SystemError(DiscoveryFault(remaining.undiscovered)));
  if (!remaining.faults.empty()) co_return Fail(SystemError(Sorted(remaining.faults)));
  // Half of what it may take, and sooner at first: mostly it takes less.
  int64_t estimate = std::max(remaining.grace_seconds, remaining.finalizers.empty() ? 0 : kFinalizerSeconds);
  int look = std::min(looks_[name]++, 10);
  co_return sdk::ReconcileOutcome{std::min<Duration>(kFirstLook * (int64_t{1} << look), std::chrono::seconds(estimate / 2 + 1))};
}

}  // namespace homeostat::controllers
