#include "controllers/deployment.h"

#include <algorithm>
#include <utility>

#include "controllers/answers.h"
#include "controllers/claims.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::apps::v1::Deployment;
using api::apps::v1::DeploymentBuilder;
using api::apps::v1::ReplicaSet;
using api::apps::v1::ReplicaSetBuilder;
using api::core::v1::Pod;
using object::Value;

namespace {

std::string ScaledMessage(std::string_view set, int32_t from, int32_t to) {
  return std::string("Scaled ") + (from < to ? "up" : "down") + " replica set " + std::string(set) + " from " + std::to_string(from) +
         " to " + std::to_string(to);
}

}  // namespace

ReplicaSets DeploymentController::Rollout::OldViews() const {
  ReplicaSets views;
  for (const Set& set : old_sets) views.push_back(*set);
  return views;
}

ReplicaSets DeploymentController::Rollout::AllViews() const {
  ReplicaSets views = OldViews();
  if (new_set) views.push_back(*new_set);
  return views;
}

DeploymentController::DeploymentController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, DeploymentOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      deployments_(informers.For<Deployment>()),
      sets_(informers.For<ReplicaSet>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "deployment-controller"),
      controller_(runtime, {.name = "deployment", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(sets_);
  AddControllerIndex(pods_);
  controller_.Watch(deployments_);
  controller_.WatchMapped(sets_, [this](const sdk::Change& change) { return OwnersConcerned(deployments_, change, SpecSelector); });
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return RecreatedAfter(change); });
}

// Recreate waits for pods to be gone; nothing else looks at pods.
std::vector<std::string> DeploymentController::RecreatedAfter(const sdk::Change& change) const {
  bool ended = !change.current || IsPodTerminal(Pod(change.current->root()));
  if (!ended) return {};
  object::DocumentPtr set = ResolveController(sets_, change.previous ? change.previous->root() : change.current->root());
  object::DocumentPtr deployment = set ? ResolveController(deployments_, set->root()) : nullptr;
  if (!deployment || IsRollingUpdate(Deployment(deployment->root()))) return {};
  return {sdk::meta::Key(deployment->root())};
}

Task<Result<sdk::ReconcileOutcome>> DeploymentController::Reconcile(std::string key) {
  auto check = own_writes_.IsUpToDate(key, std::string(sdk::SplitKey(key).first), client_);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  Rollout rollout;
  rollout.key = key;
  rollout.deployment = sdk::Lister<Deployment>(deployments_).GetByKey(key);
  if (!rollout.deployment) {
    own_writes_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  Value selector = rollout.deployment->spec().selector().Raw();
  if (selector && selector.empty()) {
    auto refuse = RefuseSelectingAll(rollout);
    CO_TRY(co_await refuse);
    co_return sdk::ReconcileOutcome();
  }
  auto claim = Claim(rollout);
  CO_TRY(co_await claim);
  bool scaled_only = false;
  auto advance = Advance(rollout, scaled_only);
  CO_TRY(co_await advance);
  auto status = WriteStatus(rollout, scaled_only);
  co_return co_await status;
}

DeploymentController::Step DeploymentController::RefuseSelectingAll(Rollout& rollout) {
  events_.Record(Deployment::SchemaKind(), rollout.deployment->Raw(), "Warning", "SelectingAll",
                 "This deployment is selecting all pods. A non-empty selector is required.");
  if (rollout.deployment->status().observed_generation() >= rollout.deployment->metadata().generation()) co_return Done();
  DeploymentBuilder next{schema::Subtree(rollout.deployment.document())};
  next.mutable_status().set_observed_generation(rollout.deployment->metadata().generation());
  auto write = WriteDeployment(rollout, next.Freeze());
  co_return co_await write;
}

DeploymentController::Step DeploymentController::Claim(Rollout& rollout) {
  ClaimTarget target{&Deployment::SchemaKind(), rollout.deployment.document(), {}, &ReplicaSet::SchemaKind()};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(rollout.deployment->spec().selector().Raw()));
  auto claim = ClaimObjects(client_, std::move(target), Candidates(sets_, rollout.deployment->Raw()));
  CO_TRY_ASSIGN(std::vector<object::DocumentPtr> claimed, co_await claim);
  for (object::DocumentPtr& set : claimed) rollout.old_sets.emplace_back(std::move(set));
  std::ranges::sort(rollout.old_sets, [](const Set& a, const Set& b) {
    std::string_view x = a->metadata().creation_timestamp(), y = b->metadata().creation_timestamp();
    return x != y ? x < y : a->metadata().name() < b->metadata().name();
  });
  // Of several sets with the current template the oldest counts.
  auto found = std::ranges::find_if(rollout.old_sets, [&](const Set& set) { return SameTemplate(*rollout.deployment, *set); });
  if (found != rollout.old_sets.end()) {
    rollout.new_set = *found;
    rollout.old_sets.erase(found);
  }
  co_return Done();
}

DeploymentController::Step DeploymentController::Advance(Rollout& rollout, bool& scaled_only) {
  if (sdk::meta::IsDeleting(rollout.deployment->Raw())) {
    scaled_only = true;
    auto find = EnsureNewSet(rollout, false);
    co_return co_await find;
  }
  auto note = NotePause(rollout);
  CO_TRY(co_await note);
  auto find = EnsureNewSet(rollout, false);
  CO_TRY(co_await find);
  // Recreate has no way to scale several sets: it goes on and empties the old ones. (Upstream's controller stands still there:
  // a Deployment that is made anew over sets of an earlier one of another size.)
  auto in_use = std::ranges::count_if(rollout.AllViews(), [](const ReplicaSet& set) { return SizeOf(set) > 0; });
  bool scalable = IsRollingUpdate(*rollout.deployment) || in_use <= 1;
  scaled_only = rollout.deployment->spec().paused() || (scalable && WasScaled(*rollout.deployment, rollout.AllViews()));
  Step step = scaled_only ? Rescale(rollout) : IsRollingUpdate(*rollout.deployment) ? Roll(rollout) : Recreate(rollout);
  co_return co_await step;
}

DeploymentController::Step DeploymentController::NotePause(Rollout& rollout) {
  const Deployment& deployment = *rollout.deployment;
  if (!HasProgressDeadline(deployment)) co_return Done();
  DeploymentState state = ReadState(deployment.status());
  const Condition* progressing = FindCondition(state.conditions, "Progressing");
  if (progressing != nullptr && progressing->reason == "ProgressDeadlineExceeded") co_return Done();
  bool noted = progressing != nullptr && progressing->reason == "DeploymentPaused";
  if (deployment.spec().paused() == noted) co_return Done();
  WallTime now = runtime_.WallNow();
  SetCondition(state.conditions, noted ? MakeCondition("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now)
                                       : MakeCondition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now));
  auto write = WriteDeployment(rollout, WithState(rollout.deployment.document(), state));
  co_return co_await write;
}

DeploymentController::Step DeploymentController::WriteDeployment(Rollout& rollout, object::DocumentPtr next) {
  auto update = client_.UpdateStatus<Deployment>(DeploymentObject(std::move(next)));
  CO_TRY_ASSIGN(rollout.deployment, co_await update);
  own_writes_.Wrote(rollout.key, deployments_, rollout.deployment->metadata().resource_version());
  co_return Done();
}

DeploymentController::Step DeploymentController::EnsureNewSet(Rollout& rollout, bool create) {
  int64_t newest_old = 0;
  for (const Set& set : rollout.old_sets) newest_old = std::max(newest_old, RevisionOf(set->Raw()));
  if (!rollout.new_set) {
    if (!create) co_return Done();
    auto make = CreateNewSet(rollout, newest_old + 1);
    co_return co_await make;
  }
  // A set that was in use before becomes the newest revision again.
  ReplicaSetBuilder next{schema::Subtree(rollout.new_set.document())};
  AnnotateSet(next, *rollout.deployment, newest_old + 1);
  next.mutable_spec().set_min_ready_seconds(rollout.deployment->spec().min_ready_seconds());
  if (next.Changed()) {
    auto update = client_.Update<ReplicaSet>(Set(next.Freeze()));
    Result<Set> updated = co_await update;
    own_writes_.Note(rollout.key, sets_, updated);
    CO_TRY_ASSIGN(rollout.new_set, std::move(updated));
  }
  std::optional<Condition> progressing;
  Conditions conditions = ReadConditions(rollout.deployment->status().conditions());
  if (HasProgressDeadline(*rollout.deployment) && FindCondition(conditions, "Progressing") == nullptr) {
    progressing = MakeCondition("Progressing", "True", "FoundNewReplicaSet",
                                "Found new replica set \"" + std::string(rollout.new_set->metadata().name()) + "\"", runtime_.WallNow());
  }
  auto mark = MarkRevision(rollout, std::string(rollout.new_set->metadata().annotations().Get(kRevisionAnnotation)), std::move(progressing));
  co_return co_await mark;
}

// Through the status subresource, as upstream does it: the revision is no change of what the Deployment wants.
DeploymentController::Step DeploymentController::MarkRevision(Rollout& rollout, std::string revision, std::optional<Condition> progressing) {
  bool marked = rollout.deployment->metadata().annotations().Get(kRevisionAnnotation) == revision;
  if (marked && !progressing) co_return Done();
  DeploymentState state = ReadState(rollout.deployment->status());
  if (progressing) SetCondition(state.conditions, *std::move(progressing));
  DeploymentBuilder next{schema::Subtree(WithState(rollout.deployment.document(), state))};
  next.mutable_metadata().set_annotations(kRevisionAnnotation, revision);
  auto write = WriteDeployment(rollout, next.Freeze());
  co_return co_await write;
}

DeploymentController::Step DeploymentController::CreateNewSet(Rollout& rollout, int64_t revision) {
  int32_t size = NewSetSize(*rollout.deployment, 0, TotalSize(rollout.OldViews()));
  Set wanted(NewReplicaSet(*rollout.deployment, revision, size));
  std::string name(wanted->metadata().name());
  auto create = client_.Create<ReplicaSet>(std::string(wanted->metadata().namespace_()), wanted);
  Result<Set> created = co_await create;
  own_writes_.Note(rollout.key, sets_, created);
  if (!created) {
    Step handle = created.error().IsAlreadyExists() ? HandleNameTaken(rollout, name, created.error())
                                                    : HandleCreateFailure(rollout, name, created.error());
    co_return co_await handle;
  }
  rollout.new_set = *created;
  if (size > 0) {
    events_.Record(Deployment::SchemaKind(), rollout.deployment->Raw(), "Normal", "ScalingReplicaSet",
                   "Scaled up replica set " + name + " from 0 to " + std::to_string(size));
  }
  std::optional<Condition> progressing;
  if (HasProgressDeadline(*rollout.deployment)) {
    progressing = MakeCondition("Progressing", "True", "NewReplicaSetCreated", "Created new replica set \"" + name + "\"", runtime_.WallNow());
  }
  auto mark = MarkRevision(rollout, std::to_string(revision), std::move(progressing));
  co_return co_await mark;
}

DeploymentController::Step DeploymentController::HandleNameTaken(Rollout& rollout, std::string name, Status refusal) {
  auto get = client_.Get<ReplicaSet>(std::string(rollout.deployment->metadata().namespace_()), name);
  CO_TRY_ASSIGN(Set there, co_await get);
  bool own = sdk::meta::ControllerOf(there->Raw()).Get("uid").AsString() == rollout.deployment->metadata().uid();
  if (own && SameTemplate(*rollout.deployment, *there)) {
    // Made before, by a look whose answer was lost.
    rollout.new_set = there;
    own_writes_.Wrote(rollout.key, sets_, there->metadata().resource_version());
    auto mark = MarkRevision(rollout, std::string(there->metadata().annotations().Get(kRevisionAnnotation)), std::nullopt);
    co_return co_await mark;
  }
  // Another template has the same hash: count the collision, so that the next hash is another.
  DeploymentState state = ReadState(rollout.deployment->status());
  state.collisions = state.collisions.value_or(0) + 1;
  client_.options().log.V(2).Info("Hash collision, counting it", {{"deployment", rollout.key}, {"collisionCount", *state.collisions}});
  auto write = WriteDeployment(rollout, WithState(rollout.deployment.document(), state));
  CO_TRY(co_await write);
  co_return Fail(refusal);
}

DeploymentController::Step DeploymentController::HandleCreateFailure(Rollout& rollout, std::string name, Status refusal) {
  if (IsNamespaceTerminating(refusal)) co_return Fail(refusal);
  std::string message = "Failed to create new replica set \"" + name + "\": " + refusal.message();
  events_.Record(Deployment::SchemaKind(), rollout.deployment->Raw(), "Warning", "ReplicaSetCreateError", message);
  if (!HasProgressDeadline(*rollout.deployment)) co_return Fail(refusal);
  DeploymentState state = ReadState(rollout.deployment->status());
  if (SetCondition(state.conditions, MakeCondition("Progressing", "False", "ReplicaSetCreateError", message, runtime_.WallNow()))) {
    auto write = WriteDeployment(rollout, WithState(rollout.deployment.document(), state));
    CO_TRY(co_await write);
  }
  co_return Fail(refusal);
}

DeploymentController::Step DeploymentController::Scale(Rollout& rollout, Set& set, int32_t size) {
  int32_t before = SizeOf(*set);
  if (size == before && SizesAreNoted(*set, *rollout.deployment)) co_return Done();
  ReplicaSetBuilder next{schema::Subtree(set.document())};
  next.mutable_spec().set_replicas(size);
  AnnotateSizes(next, *rollout.deployment);
  auto update = client_.Update<ReplicaSet>(Set(next.Freeze()));
  Result<Set> updated = co_await update;
  own_writes_.Note(rollout.key, sets_, updated);
  CO_TRY_ASSIGN(set, std::move(updated));
  if (size != before) {
    events_.Record(Deployment::SchemaKind(), rollout.deployment->Raw(), "Normal", "ScalingReplicaSet",
                   ScaledMessage(set->metadata().name(), before, size));
  }
  co_return Done();
}

DeploymentController::Step DeploymentController::ScaleOld(Rollout& rollout, std::vector<int32_t> sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == SizeOf(*rollout.old_sets[i])) continue;
    auto scale = Scale(rollout, rollout.old_sets[i], sizes[i]);
    CO_TRY(co_await scale);
  }
  co_return Done();
}

DeploymentController::Step DeploymentController::Roll(Rollout& rollout) {
  auto ensure = EnsureNewSet(rollout, true);
  CO_TRY(co_await ensure);
  int32_t size = NewSetSize(*rollout.deployment, SizeOf(*rollout.new_set), TotalSize(rollout.AllViews()));
  if (size != SizeOf(*rollout.new_set)) {
    auto grow = Scale(rollout, rollout.new_set, size);
    co_return co_await grow;
  }
  std::vector<int32_t> sizes = OldSetSizes(*rollout.deployment, *rollout.new_set, rollout.OldViews());
  int32_t before = TotalSize(rollout.OldViews());
  auto shrink = ScaleOld(rollout, std::move(sizes));
  CO_TRY(co_await shrink);
  if (TotalSize(rollout.OldViews()) != before) co_return Done();
  if (!IsComplete(*rollout.deployment, ReadState(rollout.deployment->status()))) co_return Done();
  auto clean = CleanUp(rollout);
  co_return co_await clean;
}

bool DeploymentController::HasRunningPods(const std::vector<Set>& sets) const {
  for (const Set& set : sets) {
    // A set that has not heard that it shall be empty may still make pods.
    if (set->status().replicas() > 0 || set->status().observed_generation() < set->metadata().generation()) return true;
    for (const object::DocumentPtr& pod : OwnedBy(pods_, set->Raw())) {
      if (!IsPodTerminal(Pod(pod->root()))) return true;
    }
  }
  return false;
}

DeploymentController::Step DeploymentController::Recreate(Rollout& rollout) {
  bool shrinks = TotalSize(rollout.OldViews()) > 0;
  auto shrink = ScaleOld(rollout, std::vector<int32_t>(rollout.old_sets.size(), 0));
  CO_TRY(co_await shrink);
  if (shrinks || HasRunningPods(rollout.old_sets)) co_return Done();
  auto ensure = EnsureNewSet(rollout, true);
  CO_TRY(co_await ensure);
  int32_t wanted = WantedReplicas(*rollout.deployment);
  if (SizeOf(*rollout.new_set) != wanted) {
    auto grow = Scale(rollout, rollout.new_set, wanted);
    CO_TRY(co_await grow);
  }
  if (!IsComplete(*rollout.deployment, ReadState(rollout.deployment->status()))) co_return Done();
  auto clean = CleanUp(rollout);
  co_return co_await clean;
}

DeploymentController::Step DeploymentController::Rescale(Rollout& rollout) {
  std::vector<Set*> active;
  for (Set& set : rollout.old_sets) {
    if (SizeOf(*set) > 0) active.push_back(&set);
  }
  if (rollout.new_set && SizeOf(*rollout.new_set) > 0) active.push_back(&rollout.new_set);
  int32_t wanted = WantedReplicas(*rollout.deployment);
  if (active.size() <= 1) {
    // Where pods must not overlap, the new ones wait for the old ones here too: a Deployment may be paused in between.
    if (active.empty() && !IsRollingUpdate(*rollout.deployment) && HasRunningPods(rollout.old_sets)) co_return Done();
    Set* only = !active.empty() ? active.front() : rollout.new_set ? &rollout.new_set : !rollout.old_sets.empty() ? &rollout.old_sets.back() : nullptr;
    if (only != nullptr && SizeOf(**only) != wanted) {
      auto scale = Scale(rollout, *only, wanted);
      CO_TRY(co_await scale);
    }
  } else if (rollout.new_set && IsSaturated(*rollout.deployment, *rollout.new_set)) {
    auto shrink = ScaleOld(rollout, std::vector<int32_t>(rollout.old_sets.size(), 0));
    CO_TRY(co_await shrink);
  } else if (IsRollingUpdate(*rollout.deployment)) {
    ReplicaSets views;
    for (Set* set : active) views.push_back(**set);
    std::vector<int32_t> sizes = ProportionalSizes(*rollout.deployment, views);
    for (size_t i = 0; i < active.size(); ++i) {
      auto scale = Scale(rollout, *active[i], sizes[i]);
      CO_TRY(co_await scale);
    }
  }
  if (!rollout.deployment->spec().paused()) co_return Done();
  auto clean = CleanUp(rollout);
  co_return co_await clean;
}

DeploymentController::Step DeploymentController::CleanUp(Rollout& rollout) {
  const Deployment& deployment = *rollout.deployment;
  int32_t limit = deployment.spec().revision_history_limit();
  if (!deployment.spec().has_revision_history_limit() || limit == INT32_MAX) co_return Done();
  std::vector<Set> alive;
  std::ranges::copy_if(rollout.old_sets, std::back_inserter(alive), [](const Set& set) { return !sdk::meta::IsDeleting(set->Raw()); });
  std::ranges::stable_sort(alive, {}, [](const Set& set) { return RevisionOf(set->Raw()); });
  for (int32_t i = 0; i < static_cast<int32_t>(alive.size()) - limit; ++i) {
    const ReplicaSet& set = *alive[static_cast<size_t>(i)];
    bool in_use = set.status().replicas() != 0 || SizeOf(set) != 0 || set.metadata().generation() > set.status().observed_generation();
    if (in_use) continue;
    sdk::DeleteOptions options;
    options.precondition_uid = set.metadata().uid();
    auto deletion = client_.Delete<ReplicaSet>(std::string(set.metadata().namespace_()), std::string(set.metadata().name()), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
  }
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> DeploymentController::WriteStatus(Rollout& rollout, bool scaled_only) {
  WallTime now = runtime_.WallNow();
  ReplicaSets all = rollout.AllViews();
  const ReplicaSet* new_set = rollout.new_set ? &*rollout.new_set : nullptr;
  DeploymentState state = scaled_only ? CountReplicas(*rollout.deployment, all, new_set, now)
                                      : RolloutState(*rollout.deployment, all, new_set, now);
  if (state != ReadState(rollout.deployment->status())) {
    auto write = WriteDeployment(rollout, WithState(rollout.deployment.document(), state));
    Result<void> written = co_await write;
    if (!written && !written.error().IsNotFound()) co_return Fail(written.error());
  }
  sdk::ReconcileOutcome outcome;
  if (!scaled_only) outcome.requeue_after = TimeToDeadline(*rollout.deployment, state, now);
  co_return outcome;
}

}  // namespace homeostat::controllers
