#include "controllers/deployment.h"

#include <algorithm>

#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::apps::v1::DeploymentBuilder;
using api::apps::v1::ReplicaSetBuilder;
using api::core::v1::Pod;
using object::Value;

namespace {

// Annotations that stay with the Deployment.
bool IsOwnAnnotation(std::string_view key) {
  return key == "kubectl.kubernetes.io/last-applied-configuration" || key == kRevisionAnnotation ||
         key == kRevisionHistoryAnnotation || key == kDesiredReplicasAnnotation || key == kMaxReplicasAnnotation ||
         key == "deprecated.deployment.rollback.to";
}

bool IsOwnedBy(const Value& object, const Value& owner) {
  return sdk::meta::ControllerOf(object).Get("uid").AsString() == sdk::meta::Uid(owner);
}

std::string Scaled(std::string_view direction, std::string_view set, int32_t from, int32_t to) {
  return "Scaled " + std::string(direction) + " replica set " + std::string(set) + " from " + std::to_string(from) + " to " +
         std::to_string(to);
}

void SetSizeAnnotations(ReplicaSetBuilder& set, const Deployment& deployment) {
  auto metadata = set.mutable_metadata();
  metadata.set_annotations(kDesiredReplicasAnnotation, std::to_string(WantedReplicas(deployment)));
  metadata.set_annotations(kMaxReplicasAnnotation, std::to_string(MostReplicas(deployment)));
}

// A set that still counts another wanted size was made before the Deployment was scaled.
bool WasScaled(const Deployment& deployment, const std::vector<ReplicaSet>& sets) {
  std::string wanted = std::to_string(WantedReplicas(deployment));
  return std::ranges::any_of(sets, [&](const ReplicaSet& set) {
    if (SizeOf(set) == 0) return false;
    std::string_view seen = set.metadata().annotations().Get(kDesiredReplicasAnnotation);
    return !seen.empty() && seen != wanted;
  });
}

}  // namespace

std::vector<ReplicaSet> DeploymentController::Rollout::OldViews() const {
  std::vector<ReplicaSet> views;
  for (const sdk::Object<ReplicaSet>& set : old_sets) views.push_back(*set);
  return views;
}

std::vector<ReplicaSet> DeploymentController::Rollout::AllViews() const {
  std::vector<ReplicaSet> views = OldViews();
  if (new_set) views.push_back(*new_set);
  return views;
}

DeploymentController::DeploymentController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      deployments_(informers.For<Deployment>()),
      sets_(informers.For<ReplicaSet>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "deployment-controller"),
      controller_(runtime, {.name = "deployment"}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(deployments_);
  controller_.WatchMapped(sets_, [this](const sdk::Change& change) { return DeploymentsOf(change); });
  // Only Recreate waits for pods to be gone.
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) -> std::vector<std::string> {
    if (change.current) return {};
    Value owner = sdk::meta::ControllerOf(change.previous->root());
    std::string ns(sdk::meta::Namespace(change.previous->root()));
    object::DocumentPtr set = sets_.Get(ns + "/" + std::string(owner.Get("name").AsString()));
    if (!set) return {};
    Value deployment = sdk::meta::ControllerOf(set->root());
    if (!deployment) return {};
    return {ns + "/" + std::string(deployment.Get("name").AsString())};
  });
}

std::vector<std::string> DeploymentController::DeploymentsOf(const sdk::Change& change) const {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& set : {change.previous, change.current}) {
    if (!set) continue;
    std::string ns(sdk::meta::Namespace(set->root()));
    if (Value owner = sdk::meta::ControllerOf(set->root())) {
      if (owner.Get("kind").AsString() == "Deployment") keys.push_back(ns + "/" + std::string(owner.Get("name").AsString()));
      continue;
    }
    for (const object::DocumentPtr& deployment : deployments_.List(ns)) {
      auto selector = object::LabelSelector::FromLabelSelector(Deployment(deployment->root()).spec().selector().Raw());
      if (selector && selector->Matches(sdk::meta::Labels(set->root()))) keys.push_back(sdk::meta::Key(deployment->root()));
    }
  }
  return keys;
}

Task<Result<sdk::ReconcileOutcome>> DeploymentController::Reconcile(std::string key) {
  Rollout rollout;
  rollout.deployment = sdk::Lister<Deployment>(deployments_).GetByKey(key);
  if (!rollout.deployment) co_return sdk::ReconcileOutcome();
  auto claim = Claim(rollout);
  CO_TRY(co_await std::move(claim));
  const Deployment& deployment = *rollout.deployment;
  if (sdk::meta::IsDeleting(deployment.Raw())) {
    auto find = EnsureNewSet(rollout, false);
    CO_TRY(co_await std::move(find));
  } else if (deployment.spec().paused() || WasScaled(deployment, rollout.AllViews())) {
    auto rescale = Rescale(rollout);
    CO_TRY(co_await std::move(rescale));
  } else if (IsRollingUpdate(deployment)) {
    auto roll = Roll(rollout);
    CO_TRY(co_await std::move(roll));
  } else {
    auto recreate = RollByRecreate(rollout);
    CO_TRY(co_await std::move(recreate));
  }
  auto status = WriteStatus(rollout);
  co_return co_await std::move(status);
}

Task<Result<void>> DeploymentController::Claim(Rollout& rollout) {
  const Deployment& deployment = *rollout.deployment;
  std::string ns(deployment.metadata().namespace_());
  auto selector = object::LabelSelector::FromLabelSelector(deployment.spec().selector().Raw());
  if (!selector) co_return Fail(selector.error());
  for (const sdk::Object<ReplicaSet>& set : sdk::Lister<ReplicaSet>(sets_).List(ns)) {
    if (IsOwnedBy(set->Raw(), deployment.Raw())) {
      rollout.old_sets.push_back(set);
      continue;
    }
    bool orphan = !sdk::meta::ControllerOf(set->Raw()) && !sdk::meta::IsDeleting(set->Raw());
    if (!orphan || sdk::meta::IsDeleting(deployment.Raw()) || !selector->Matches(sdk::meta::Labels(set->Raw()))) continue;
    std::string body = R"({"metadata":{"uid":")" + std::string(set->metadata().uid()) +
                       R"(","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":)";
    object::AppendJsonString(body, deployment.metadata().name());
    body += R"(,"uid":")" + std::string(deployment.metadata().uid()) + R"(","controller":true,"blockOwnerDeletion":true}]}})";
    auto patch = client_.Patch(ReplicaSet::SchemaKind(), ns, std::string(set->metadata().name()), sdk::PatchType::kStrategicMerge,
                               Bytes(std::move(body)), "", {});
    auto adopted = co_await std::move(patch);
    if (adopted) rollout.old_sets.emplace_back(*adopted);
    else if (!adopted.error().IsNotFound()) co_return Fail(adopted.error());
  }
  std::ranges::sort(rollout.old_sets, [](const sdk::Object<ReplicaSet>& a, const sdk::Object<ReplicaSet>& b) {
    if (a->metadata().creation_timestamp() != b->metadata().creation_timestamp()) {
      return a->metadata().creation_timestamp() < b->metadata().creation_timestamp();
    }
    return a->metadata().name() < b->metadata().name();
  });
  // Of several sets with the current template the oldest counts.
  for (size_t i = 0; i < rollout.old_sets.size(); ++i) {
    if (!SameTemplate(deployment, *rollout.old_sets[i])) continue;
    rollout.new_set = rollout.old_sets[i];
    rollout.old_sets.erase(rollout.old_sets.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  co_return Done();
}

Task<Result<void>> DeploymentController::EnsureNewSet(Rollout& rollout, bool create) {
  const Deployment& deployment = *rollout.deployment;
  int64_t newest_old = 0;
  for (const sdk::Object<ReplicaSet>& set : rollout.old_sets) newest_old = std::max(newest_old, RevisionOf(set->Raw()));
  int64_t revision = newest_old + 1;
  if (!rollout.new_set) {
    if (!create) co_return Done();
    auto make = CreateNewSet(rollout, revision);
    co_return co_await std::move(make);
  }
  // A set that was in use before becomes the newest revision again.
  ReplicaSetBuilder set{schema::Subtree(rollout.new_set.document())};
  auto metadata = set.mutable_metadata();
  for (auto [key, value] : deployment.metadata().annotations()) {
    if (!IsOwnAnnotation(key) && rollout.new_set->metadata().annotations().Get(key) != value) metadata.set_annotations(key, value);
  }
  int64_t current = RevisionOf(rollout.new_set->Raw());
  if (current < revision) {
    if (current > 0) {
      std::string history(rollout.new_set->metadata().annotations().Get(kRevisionHistoryAnnotation));
      metadata.set_annotations(kRevisionHistoryAnnotation, (history.empty() ? "" : history + ",") + std::to_string(current));
    }
    metadata.set_annotations(kRevisionAnnotation, std::to_string(revision));
  }
  SetSizeAnnotations(set, deployment);
  set.mutable_spec().set_min_ready_seconds(deployment.spec().min_ready_seconds());
  if (set.Changed()) {
    sdk::Object<ReplicaSet> next(set.Freeze());
    if (!object::Equal(next->Raw(), rollout.new_set->Raw())) {
      auto update = client_.Update<ReplicaSet>(next);
      CO_TRY_ASSIGN(rollout.new_set, co_await std::move(update));
    }
  }
  auto mark = MarkRevision(rollout, std::string(rollout.new_set->metadata().annotations().Get(kRevisionAnnotation)));
  co_return co_await std::move(mark);
}

Task<Result<void>> DeploymentController::MarkRevision(Rollout& rollout, std::string revision) {
  if (rollout.deployment->metadata().annotations().Get(kRevisionAnnotation) == revision) co_return Done();
  DeploymentBuilder next{schema::Subtree(rollout.deployment.document())};
  next.mutable_metadata().set_annotations(kRevisionAnnotation, revision);
  auto update = client_.Update<Deployment>(sdk::Object<Deployment>(next.Freeze()));
  CO_TRY_ASSIGN(rollout.deployment, co_await std::move(update));
  co_return Done();
}

Task<Result<void>> DeploymentController::CreateNewSet(Rollout& rollout, int64_t revision) {
  const Deployment& deployment = *rollout.deployment;
  std::string hash = TemplateHash(deployment), ns(deployment.metadata().namespace_());
  std::string name = std::string(deployment.metadata().name()) + "-" + hash;
  ReplicaSetBuilder set;
  auto metadata = set.mutable_metadata();
  metadata.set_name(name).set_namespace(ns);
  for (auto [key, value] : deployment.spec().template_().metadata().labels()) metadata.set_labels(key, value);
  metadata.set_labels(kTemplateHashLabel, hash);
  for (auto [key, value] : deployment.metadata().annotations()) if (!IsOwnAnnotation(key)) metadata.set_annotations(key, value);
  metadata.set_annotations(kRevisionAnnotation, std::to_string(revision));
  SetSizeAnnotations(set, deployment);
  auto owner = metadata.add_owner_references();
  owner.set_api_version("apps/v1").set_kind("Deployment").set_name(deployment.metadata().name()).set_uid(deployment.metadata().uid());
  owner.set_controller(true).set_block_owner_deletion(true);
  auto spec = set.mutable_spec();
  spec.set_min_ready_seconds(deployment.spec().min_ready_seconds());
  spec.set_selector(schema::Subtree(deployment.spec().selector()));
  spec.mutable_selector().set_match_labels(kTemplateHashLabel, hash);
  spec.set_template(schema::Subtree(deployment.spec().template_()));
  spec.mutable_template().mutable_metadata().set_labels(kTemplateHashLabel, hash);
  int32_t all = 0;
  for (const ReplicaSet& old_set : rollout.OldViews()) all += SizeOf(old_set);
  spec.set_replicas(0);
  int32_t size = NewSetSize(deployment, set.View(), all);
  spec.set_replicas(size);

  auto create = client_.Create<ReplicaSet>(ns, sdk::Object<ReplicaSet>(set.Freeze()));
  auto created = co_await std::move(create);
  if (!created && created.error().IsAlreadyExists()) {
    auto get = client_.Get<ReplicaSet>(ns, name);
    CO_TRY_ASSIGN(sdk::Object<ReplicaSet> there, co_await std::move(get));
    if (IsOwnedBy(there->Raw(), deployment.Raw()) && SameTemplate(deployment, *there)) {
      rollout.new_set = there;
      co_return Done();
    }
    // Another template has the same hash: count the collision, so that the next hash is another.
    DeploymentBuilder next{schema::Subtree(rollout.deployment.document())};
    next.mutable_status().set_collision_count(deployment.status().collision_count() + 1);
    auto update = client_.UpdateStatus<Deployment>(sdk::Object<Deployment>(next.Freeze()));
    CO_TRY(co_await std::move(update));
    co_return Fail(created.error());
  }
  auto document = std::make_shared<object::Document>();
  document->arena().Keep(rollout.deployment.document());
  if (!created) {
    std::string message = "Failed to create new replica set \"" + name + "\": " + created.error().message();
    document->set_root(WithCondition(document->arena(), deployment, "Progressing", "False", "ReplicaSetCreateError", message, runtime_.WallNow()));
    auto update = client_.UpdateStatus<Deployment>(sdk::Object<Deployment>(document));
    (void)co_await std::move(update);  // the creation's own error is the one that counts
    events_.Record(Deployment::SchemaKind(), deployment.Raw(), "Warning", "ReplicaSetCreateError", message);
    co_return Fail(created.error());
  }
  rollout.new_set = *created;
  if (size > 0) {
    events_.Record(Deployment::SchemaKind(), deployment.Raw(), "Normal", "ScalingReplicaSet", Scaled("up", name, 0, size));
  }
  document->set_root(WithCondition(document->arena(), deployment, "Progressing", "True", "NewReplicaSetCreated",
                                   "Created new replica set \"" + name + "\"", runtime_.WallNow()));
  rollout.deployment = sdk::Object<Deployment>(document);
  auto mark = MarkRevision(rollout, std::to_string(revision));
  co_return co_await std::move(mark);
}

Task<Result<void>> DeploymentController::Scale(Rollout& rollout, sdk::Object<ReplicaSet>& set, int32_t size) {
  int32_t before = SizeOf(*set);
  ReplicaSetBuilder next{schema::Subtree(set.document())};
  next.mutable_spec().set_replicas(size);
  SetSizeAnnotations(next, *rollout.deployment);
  sdk::Object<ReplicaSet> changed(next.Freeze());
  if (object::Equal(changed->Raw(), set->Raw())) co_return Done();
  auto update = client_.Update<ReplicaSet>(changed);
  CO_TRY_ASSIGN(set, co_await std::move(update));
  if (size != before) {
    events_.Record(Deployment::SchemaKind(), rollout.deployment->Raw(), "Normal", "ScalingReplicaSet",
                   Scaled(size > before ? "up" : "down", set->metadata().name(), before, size));
  }
  co_return Done();
}

Task<Result<void>> DeploymentController::ScaleOld(Rollout& rollout, std::vector<int32_t> sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == SizeOf(*rollout.old_sets[i])) continue;
    auto scale = Scale(rollout, rollout.old_sets[i], sizes[i]);
    CO_TRY(co_await std::move(scale));
  }
  co_return Done();
}

Task<Result<void>> DeploymentController::Roll(Rollout& rollout) {
  auto ensure = EnsureNewSet(rollout, true);
  CO_TRY(co_await std::move(ensure));
  int32_t all = 0;
  for (const ReplicaSet& set : rollout.AllViews()) all += SizeOf(set);
  int32_t size = NewSetSize(*rollout.deployment, *rollout.new_set, all);
  if (size != SizeOf(*rollout.new_set)) {
    auto scale = Scale(rollout, rollout.new_set, size);
    co_return co_await std::move(scale);
  }
  std::vector<int32_t> sizes = OldSetSizes(*rollout.deployment, &*rollout.new_set, rollout.OldViews());
  auto shrink = ScaleOld(rollout, std::move(sizes));
  CO_TRY(co_await std::move(shrink));
  auto clean = CleanUp(rollout);
  co_return co_await std::move(clean);
}

bool DeploymentController::HasRunningPods(const std::vector<sdk::Object<ReplicaSet>>& sets) const {
  for (const sdk::Object<ReplicaSet>& set : sets) {
    for (const object::DocumentPtr& pod : pods_.List(set->metadata().namespace_())) {
      std::string_view phase = Pod(pod->root()).status().phase();
      if (IsOwnedBy(pod->root(), set->Raw()) && phase != "Failed" && phase != "Succeeded") return true;
    }
  }
  return false;
}

Task<Result<void>> DeploymentController::RollByRecreate(Rollout& rollout) {
  auto find = EnsureNewSet(rollout, false);
  CO_TRY(co_await std::move(find));
  bool shrunk = std::ranges::any_of(rollout.OldViews(), [](const ReplicaSet& set) { return SizeOf(set) > 0; });
  auto shrink = ScaleOld(rollout, std::vector<int32_t>(rollout.old_sets.size(), 0));
  CO_TRY(co_await std::move(shrink));
  if (shrunk || HasRunningPods(rollout.old_sets)) co_return Done();
  auto ensure = EnsureNewSet(rollout, true);
  CO_TRY(co_await std::move(ensure));
  auto grow = Scale(rollout, rollout.new_set, WantedReplicas(*rollout.deployment));
  CO_TRY(co_await std::move(grow));
  auto clean = CleanUp(rollout);
  co_return co_await std::move(clean);
}

Task<Result<void>> DeploymentController::Rescale(Rollout& rollout) {
  auto find = EnsureNewSet(rollout, false);
  CO_TRY(co_await std::move(find));
  const Deployment& deployment = *rollout.deployment;
  std::vector<sdk::Object<ReplicaSet>*> active;
  for (sdk::Object<ReplicaSet>& set : rollout.old_sets) if (SizeOf(*set) > 0) active.push_back(&set);
  if (rollout.new_set && SizeOf(*rollout.new_set) > 0) active.push_back(&rollout.new_set);
  int32_t wanted = WantedReplicas(deployment);
  if (active.size() <= 1) {
    sdk::Object<ReplicaSet>* only = !active.empty() ? active.front() : rollout.new_set ? &rollout.new_set
                                    : !rollout.old_sets.empty() ? &rollout.old_sets.back() : nullptr;
    if (only != nullptr && SizeOf(**only) != wanted) {
      auto scale = Scale(rollout, *only, wanted);
      CO_TRY(co_await std::move(scale));
    }
  } else if (rollout.new_set && SizeOf(*rollout.new_set) == wanted && rollout.new_set->status().available_replicas() == wanted &&
             rollout.new_set->metadata().annotations().Get(kDesiredReplicasAnnotation) == std::to_string(wanted)) {
    auto shrink = ScaleOld(rollout, std::vector<int32_t>(rollout.old_sets.size(), 0));
    CO_TRY(co_await std::move(shrink));
  } else if (IsRollingUpdate(deployment)) {
    std::vector<ReplicaSet> views;
    for (sdk::Object<ReplicaSet>* set : active) views.push_back(**set);
    std::vector<int32_t> sizes = ProportionalSizes(deployment, views);
    for (size_t i = 0; i < active.size(); ++i) {
      auto scale = Scale(rollout, *active[i], sizes[i]);
      CO_TRY(co_await std::move(scale));
    }
  }
  co_return Done();
}

Task<Result<void>> DeploymentController::CleanUp(Rollout& rollout) {
  const Deployment& deployment = *rollout.deployment;
  if (!deployment.spec().has_revision_history_limit() || !IsComplete(deployment, deployment.status())) co_return Done();
  std::vector<sdk::Object<ReplicaSet>> empty;
  for (const sdk::Object<ReplicaSet>& set : rollout.old_sets) {
    bool unused = SizeOf(*set) == 0 && set->status().replicas() == 0 && !sdk::meta::IsDeleting(set->Raw()) &&
                  set->status().observed_generation() >= set->metadata().generation();
    if (unused) empty.push_back(set);
  }
  auto limit = static_cast<size_t>(std::max(0, deployment.spec().revision_history_limit()));
  if (rollout.old_sets.size() <= limit) co_return Done();
  size_t surplus = rollout.old_sets.size() - limit;
  std::ranges::sort(empty, {}, [](const sdk::Object<ReplicaSet>& set) { return RevisionOf(set->Raw()); });
  for (size_t i = 0; i < std::min(surplus, empty.size()); ++i) {
    auto deletion = client_.Delete<ReplicaSet>(std::string(empty[i]->metadata().namespace_()), std::string(empty[i]->metadata().name()));
    auto deleted = co_await std::move(deletion);
    if (!deleted && !deleted.error().IsNotFound()) co_return Fail(deleted.error());
  }
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> DeploymentController::WriteStatus(Rollout& rollout) {
  const Deployment& deployment = *rollout.deployment;
  WallTime now = runtime_.WallNow();
  auto document = std::make_shared<object::Document>();
  document->arena().Keep(rollout.deployment.document());
  std::vector<ReplicaSet> sets = rollout.AllViews();
  const ReplicaSet* new_set = rollout.new_set ? &*rollout.new_set : nullptr;
  Deployment counted(DeploymentStatusOf(document->arena(), deployment, sets, new_set, now));
  Value next = counted.Raw();
  if (deployment.spec().paused()) {
    bool has_deadline = deployment.spec().has_progress_deadline_seconds();
    if (has_deadline) next = WithCondition(document->arena(), counted, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now);
  } else {
    next = WithProgress(document->arena(), deployment, counted, sets, new_set, now);
  }
  document->set_root(next);
  Deployment changed(next);
  sdk::ReconcileOutcome outcome;
  if (auto deadline = ProgressDeadline(changed); deadline && *deadline > now) {
    outcome.requeue_after = *deadline - now + std::chrono::seconds(1);
  }
  sdk::Object<Deployment> stored = sdk::Lister<Deployment>(deployments_).GetByKey(sdk::meta::Key(deployment.Raw()));
  if (stored && object::Equal(stored->status().Raw(), changed.status().Raw())) co_return outcome;
  auto update = client_.UpdateStatus<Deployment>(sdk::Object<Deployment>(document));
  auto updated = co_await std::move(update);
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return outcome;
}

}  // namespace homeostat::controllers
