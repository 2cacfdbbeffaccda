#include "controllers/namespace.h"

#include <algorithm>
#include <map>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/registry.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::core::v1::Namespace;
using api::core::v1::NamespaceBuilder;
using object::Value;

namespace {

// Every stored, namespaced kind that can be deleted, in one version each; pods first, so that what watches over them
// (network policies, say) outlives them.
std::vector<const schema::Kind*> ContentKinds() {
  std::vector<const schema::Kind*> kinds;
  for (const schema::Kind* kind : api::AllKinds()) {
    bool wanted = kind->namespaced && !kind->virtual_kind && kind->served_by_default && kind->feature_gate.empty() &&
                  kind->Allows(schema::kDelete) && kind->Allows(schema::kList);
    bool seen = std::ranges::any_of(kinds, [&](const schema::Kind* other) { return other->storage_prefix == kind->storage_prefix; });
    if (wanted && !seen) kinds.push_back(kind);
  }
  std::ranges::stable_partition(kinds, [](const schema::Kind* kind) { return kind->storage_prefix == "pods"; });
  return kinds;
}

std::string ResourceName(const schema::Kind& kind) { return std::string(kind.plural) + "." + std::string(kind.gvk.group); }

// "pods. has 3 resource instances, …" with "has" as the link.
std::string Join(const std::vector<std::pair<std::string, size_t>>& counts, std::string_view link) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    text += name + " " + std::string(link) + " " + std::to_string(count) + " resource instances";
  }
  return text;
}

void SetCondition(NamespaceBuilder& ns, const Namespace& before, std::string_view type, bool faulty, std::string_view reason,
                  std::string_view message, std::string_view now) {
  auto status = ns.mutable_status();
  size_t index = 0;
  for (auto condition : before.status().conditions()) {
    if (condition.type() == type) {
      auto changed = status.mutable_conditions(index);
      std::string_view value = faulty ? "True" : "False";
      if (condition.status() != value) changed.set_last_transition_time(now);
      changed.set_status(value).set_reason(reason).set_message(message);
      return;
    }
    ++index;
  }
  status.add_conditions().set_type(type).set_status(faulty ? "True" : "False").set_reason(reason).set_message(message)
      .set_last_transition_time(now);
}

}  // namespace

NamespaceController::NamespaceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      namespaces_(informers.For<Namespace>()),
      controller_(runtime, {.name = "namespace"}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.WatchMapped(namespaces_, [](const sdk::Change& change) -> std::vector<std::string> {
    if (!change.current || !sdk::meta::IsDeleting(change.current->root())) return {};
    return {std::string(sdk::meta::Name(change.current->root()))};
  });
}

Task<NamespaceController::Remaining> NamespaceController::DeleteContent(std::string name) {
  Remaining remaining;
  std::map<std::string, size_t> finalizers;
  for (const schema::Kind* kind : ContentKinds()) {
    sdk::DeleteOptions options;
    options.propagation_policy = "Background";
    auto deletion = client_.DeleteCollection(*kind, name, {}, options);
    auto deleted = co_await std::move(deletion);
    if (!deleted && deleted.error().code() != 404 && deleted.error().code() != 405) remaining.fault = deleted.error().message();
    auto list = client_.List(*kind, name, {});
    auto left = co_await std::move(list);
    if (!left || left->items.empty()) continue;
    remaining.kinds.emplace_back(ResourceName(*kind), left->items.size());
    for (const object::DocumentPtr& item : left->items) {
      for (const Value& finalizer : item->root().Path({"metadata", "finalizers"}).items()) ++finalizers[std::string(finalizer.AsString())];
      int64_t grace = item->root().Path({"metadata", "deletionGracePeriodSeconds"}).AsInt();
      remaining.wait = std::max<Duration>(remaining.wait, std::chrono::seconds(std::min<int64_t>(grace / 2 + 1, 15)));
    }
    // Pods go before anything else does.
    if (kind->storage_prefix == "pods") break;
  }
  remaining.finalizers.assign(finalizers.begin(), finalizers.end());
  co_return remaining;
}

Task<Result<void>> NamespaceController::WriteConditions(object::DocumentPtr document, Remaining remaining) {
  Namespace before(document->root());
  NamespaceBuilder ns{schema::Subtree(document)};
  ns.mutable_status().set_phase("Terminating");
  std::string now = object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow()));
  bool content = !remaining.kinds.empty(), held = !remaining.finalizers.empty(), fault = !remaining.fault.empty();
  SetCondition(ns, ns.View(), "NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", "All resources successfully discovered", now);
  SetCondition(ns, ns.View(), "NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", "All legacy kube types successfully parsed", now);
  SetCondition(ns, ns.View(), "NamespaceDeletionContentFailure", fault, fault ? "ContentDeletionFailed" : "ContentDeleted",
               fault ? "Failed to delete all resource types, 1 remaining: " + remaining.fault
                     : "All content successfully deleted, may be waiting on finalization", now);
  SetCondition(ns, ns.View(), "NamespaceContentRemaining", content, content ? "SomeResourcesRemain" : "ContentRemoved",
               content ? "Some resources are remaining: " + Join(remaining.kinds, "has") : "All content successfully removed", now);
  SetCondition(ns, ns.View(), "NamespaceFinalizersRemaining", held, held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
               held ? "Some content in the namespace has finalizers remaining: " + Join(remaining.finalizers, "in")
                    : "All content-preserving finalizers finished", now);
  sdk::Object<Namespace> next(ns.Freeze());
  if (object::Equal(next->status().Raw(), before.status().Raw())) co_return Done();
  auto update = client_.UpdateStatus<Namespace>(next);
  CO_TRY(co_await std::move(update));
  co_return Done();
}

Task<Result<void>> NamespaceController::Finalize(object::DocumentPtr document) {
  Namespace before(document->root());
  NamespaceBuilder ns{schema::Subtree(document)};
  auto spec = ns.mutable_spec();
  spec.clear_finalizers();
  for (std::string_view finalizer : before.spec().finalizers()) if (finalizer != "kubernetes") spec.add_finalizers(finalizer);
  auto update = client_.Update(Namespace::SchemaKind(), ns.Freeze(), "finalize");
  auto updated = co_await std::move(update);
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> NamespaceController::Reconcile(std::string name) {
  auto get = client_.Get<Namespace>("", name);
  auto got = co_await std::move(get);
  if (!got && got.error().IsNotFound()) co_return sdk::ReconcileOutcome();
  if (!got) co_return Fail(got.error());
  sdk::Object<Namespace> ns = *got;
  if (!sdk::meta::IsDeleting(ns->Raw()) || ns->spec().finalizers().empty()) co_return sdk::ReconcileOutcome();
  auto content = DeleteContent(name);
  Remaining remaining = co_await std::move(content);
  bool done = remaining.kinds.empty() && remaining.fault.empty();
  Duration wait = std::max<Duration>(remaining.wait, std::chrono::seconds(1));
  if (!done) {
    auto write = WriteConditions(ns.document(), std::move(remaining));
    CO_TRY(co_await std::move(write));
    co_return sdk::ReconcileOutcome{wait};
  }
  auto finalize = Finalize(ns.document());
  CO_TRY(co_await std::move(finalize));
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
