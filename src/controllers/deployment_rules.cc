#include "controllers/deployment_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "controllers/claims.h"
#include "controllers/scaled_value.h"
#include "homeostat/object/names.h"
#include "homeostat/schema/diff.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::controllers {

using api::apps::v1::Deployment;
using api::apps::v1::DeploymentBuilder;
using api::apps::v1::ReplicaSet;
using api::apps::v1::ReplicaSetBuilder;
using api::core::v1::PodTemplateSpec;
using api::core::v1::PodTemplateSpecBuilder;
using object::Value;

namespace {

constexpr std::string_view kSafeAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kRevisionHistoryLength = 2000;

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int32_t> Count(const ReplicaSet& set, std::string_view annotation) {
  std::optional<int64_t> number = Number(set.metadata().annotations().Get(annotation));
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

// Annotations of the Deployment that its sets don't get.
bool StaysWithDeployment(std::string_view key) {
  return key == "kubectl.kubernetes.io/last-applied-configuration" || key == kRevisionAnnotation || key == kRevisionHistoryAnnotation ||
         key == kDesiredReplicasAnnotation || key == kMaxReplicasAnnotation || key == api::apps::v1::kDeprecatedRollbackTo;
}

int32_t MostReplicas(const Deployment& deployment) { return WantedReplicas(deployment) + FencepostsOf(deployment).surge; }
int32_t FewestAvailable(const Deployment& deployment) { return WantedReplicas(deployment) - FencepostsOf(deployment).unavailable; }

int32_t Available(const ReplicaSets& sets) {
  int32_t total = 0;
  for (const ReplicaSet& set : sets) total += set.status().available_replicas();
  return total;
}

// How many replicas a set gains or loses when the Deployment's size changes.
int32_t Fraction(const Deployment& deployment, const ReplicaSet& set) {
  if (WantedReplicas(deployment) == 0) return -SizeOf(set);
  int32_t before = Count(set, kMaxReplicasAnnotation).value_or(0);
  if (before == 0) before = deployment.status().replicas();
  if (before == 0) return 0;
  double size = static_cast<double>(SizeOf(set)) * MostReplicas(deployment) / before;
  return static_cast<int32_t>(std::lround(size)) - SizeOf(set);
}

bool MadeProgress(const DeploymentState& before, const DeploymentState& after) {
  return after.updated > before.updated || after.replicas - after.updated < before.replicas - before.updated ||
         after.ready > before.ready || after.available > before.available;
}

bool TimedOut(const Deployment& deployment, const DeploymentState& state, WallTime now) {
  const Condition* progressing = FindCondition(state.conditions, "Progressing");
  if (progressing == nullptr || progressing->reason == "NewReplicaSetAvailable") return false;
  if (progressing->reason == "ProgressDeadlineExceeded") return true;
  auto since = object::ParseTime(progressing->last_update_time);
  return since && since->ToClock() + std::chrono::seconds(deployment.spec().progress_deadline_seconds()) < now;
}

std::string Subject(const Deployment& deployment, const ReplicaSet* new_set) {
  if (new_set != nullptr) return "ReplicaSet \"" + std::string(new_set->metadata().name()) + "\"";
  return "Deployment \"" + std::string(deployment.metadata().name()) + "\"";
}

void JudgeProgress(DeploymentState& state, const Deployment& deployment, const ReplicaSet* new_set, WallTime now) {
  std::string subject = Subject(deployment, new_set);
  if (IsComplete(deployment, state)) {
    SetCondition(state.conditions, MakeCondition("Progressing", "True", "NewReplicaSetAvailable", subject + " has successfully progressed.", now));
  } else if (MadeProgress(ReadState(deployment.status()), state)) {
    Condition progressing = MakeCondition("Progressing", "True", "ReplicaSetUpdated", subject + " is progressing.", now);
    const Condition* current = FindCondition(state.conditions, "Progressing");
    if (current != nullptr && current->status == "True") progressing.last_transition_time = current->last_transition_time;
    // Each step restarts the deadline, so the condition is replaced even where only its time changes.
    RemoveCondition(state.conditions, "Progressing");
    state.conditions.push_back(std::move(progressing));
  } else if (TimedOut(deployment, state, now)) {
    SetCondition(state.conditions, MakeCondition("Progressing", "False", "ProgressDeadlineExceeded", subject + " has timed out progressing.", now));
  }
}

const Condition* FailureOf(const ReplicaSet& set, Conditions& storage) {
  storage = ReadConditions(set.status().conditions());
  return FindCondition(storage, "ReplicaFailure");
}

// A set's failure shows at the Deployment: the new set's before an old one's.
void CopyFailure(DeploymentState& state, const ReplicaSets& all, const ReplicaSet* new_set) {
  Conditions storage;
  const Condition* failure = new_set == nullptr ? nullptr : FailureOf(*new_set, storage);
  for (size_t i = 0; i < all.size() && failure == nullptr; ++i) failure = FailureOf(all[i], storage);
  if (failure == nullptr) {
    RemoveCondition(state.conditions, "ReplicaFailure");
    return;
  }
  Condition copy = *failure;
  copy.last_update_time = copy.last_transition_time;
  SetCondition(state.conditions, std::move(copy));
}

// The earlier revisions with one more, as many as there is room for, the newest at the end.
std::string WithRevision(std::string_view history, std::string_view revision) {
  if (history.empty()) return std::string(revision);
  while (history.size() + 1 + revision.size() > kRevisionHistoryLength) {
    size_t comma = history.find(',');
    if (comma == std::string_view::npos) return std::string(revision);
    history.remove_prefix(comma + 1);
  }
  return std::string(history) + "," + std::string(revision);
}

}  // namespace

int32_t WantedReplicas(const Deployment& deployment) { return deployment.spec().has_replicas() ? deployment.spec().replicas() : 1; }
bool IsRollingUpdate(const Deployment& deployment) { return deployment.spec().strategy().type() == "RollingUpdate"; }

bool HasProgressDeadline(const Deployment& deployment) {
  return deployment.spec().has_progress_deadline_seconds() && deployment.spec().progress_deadline_seconds() != INT32_MAX;
}

int32_t TotalSize(const ReplicaSets& sets) {
  int32_t total = 0;
  for (const ReplicaSet& set : sets) total += SizeOf(set);
  return total;
}

Fenceposts FencepostsOf(const Deployment& deployment) {
  if (!IsRollingUpdate(deployment)) return {};
  auto rolling = deployment.spec().strategy().rolling_update();
  int32_t wanted = WantedReplicas(deployment);
  Fenceposts posts{ScaledValue(rolling.max_surge(), wanted, true), ScaledValue(rolling.max_unavailable(), wanted, false)};
  if (posts.surge == 0 && posts.unavailable == 0) posts.unavailable = 1;
  posts.unavailable = std::min(posts.unavailable, wanted);
  return posts;
}

std::string TemplateHash(const Deployment& deployment) {
  std::string text = schema::EncodeProtobuf(PodTemplateSpec::SchemaType(), deployment.spec().template_().Raw());
  if (deployment.status().has_collision_count()) text += "/" + std::to_string(deployment.status().collision_count());
  uint32_t hash = 2166136261u;  // FNV-1a
  for (unsigned char c : text) hash = (hash ^ c) * 16777619u;
  std::string name;
  for (char digit : std::to_string(hash)) name.push_back(kSafeAlphabet[static_cast<unsigned char>(digit) % kSafeAlphabet.size()]);
  return name;
}

bool SameTemplate(const Deployment& deployment, const ReplicaSet& set) {
  object::Arena arena;
  PodTemplateSpecBuilder a{schema::Subtree(deployment.spec().template_())}, b{schema::Subtree(set.spec().template_())};
  a.mutable_metadata().erase_labels(kTemplateHashLabel);
  b.mutable_metadata().erase_labels(kTemplateHashLabel);
  return schema::IsEqual(PodTemplateSpec::SchemaType(), a.FreezeInto(arena), b.FreezeInto(arena));
}

int32_t NewSetSize(const Deployment& deployment, int32_t size, int32_t total_size) {
  int32_t wanted = WantedReplicas(deployment);
  if (!IsRollingUpdate(deployment) || size >= wanted) return wanted;
  int32_t room = WantedReplicas(deployment) + FencepostsOf(deployment).surge - total_size;
  return size + std::clamp(room, 0, wanted - size);
}

std::vector<int32_t> OldSetSizes(const Deployment& deployment, const ReplicaSet& new_set, const ReplicaSets& old_sets) {
  std::vector<int32_t> sizes;
  for (const ReplicaSet& set : old_sets) sizes.push_back(SizeOf(set));
  int32_t fewest = FewestAvailable(deployment);
  int32_t new_available = new_set.status().available_replicas();
  // As many as may go if everything of the new set that isn't available yet never becomes so.
  int32_t removable = TotalSize(old_sets) + SizeOf(new_set) - fewest - (SizeOf(new_set) - new_available);
  if (removable <= 0) return sizes;
  // What is not available anyway goes first: nothing is lost, and a stuck rollout gets going.
  int32_t left = removable;
  for (size_t i = 0; i < old_sets.size(); ++i) {
    int32_t unhealthy = std::max(0, sizes[i] - old_sets[i].status().available_replicas());
    int32_t count = std::min(unhealthy, left);
    sizes[i] -= count;
    left -= count;
  }
  int32_t spare = Available(old_sets) + new_available - fewest;
  for (size_t i = 0; i < old_sets.size() && spare > 0; ++i) {
    int32_t count = std::min(sizes[i], spare);
    sizes[i] -= count;
    spare -= count;
  }
  return sizes;
}

std::vector<int32_t> ProportionalSizes(const Deployment& deployment, const ReplicaSets& sets) {
  std::vector<int32_t> sizes;
  for (const ReplicaSet& set : sets) sizes.push_back(SizeOf(set));
  int32_t allowed = WantedReplicas(deployment) > 0 ? MostReplicas(deployment) : 0;
  int32_t to_add = allowed - TotalSize(sets), added = 0;
  if (to_add == 0) return sizes;
  // The largest first; among equals the newer when growing, the older when shrinking.
  std::vector<size_t> order(sets.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (SizeOf(sets[a]) != SizeOf(sets[b])) return SizeOf(sets[a]) > SizeOf(sets[b]);
    std::string_view x = sets[a].metadata().creation_timestamp(), y = sets[b].metadata().creation_timestamp();
    if (x != y) return to_add > 0 ? x > y : x < y;
    return sets[a].metadata().name() < sets[b].metadata().name();
  });
  for (size_t i : order) {
    if (sizes[i] == 0 || added == to_add) continue;
    int32_t fraction = Fraction(deployment, sets[i]), left = to_add - added;
    int32_t change = to_add > 0 ? std::min(fraction, left) : std::max(fraction, left);
    sizes[i] += change;
    added += change;
  }
  // What rounding left over goes to the largest.
  if (!order.empty()) sizes[order.front()] = std::max(0, sizes[order.front()] + to_add - added);
  return sizes;
}

bool WasScaled(const Deployment& deployment, const ReplicaSets& sets) {
  return std::ranges::any_of(sets, [&](const ReplicaSet& set) {
    std::optional<int32_t> noted = Count(set, kDesiredReplicasAnnotation);
    return SizeOf(set) > 0 && noted && *noted != WantedReplicas(deployment);
  });
}

bool IsSaturated(const Deployment& deployment, const ReplicaSet& new_set) {
  int32_t wanted = WantedReplicas(deployment);
  return SizeOf(new_set) == wanted && Count(new_set, kDesiredReplicasAnnotation) == wanted && new_set.status().available_replicas() == wanted;
}

int64_t RevisionOf(const Value& object) { return Number(sdk::meta::Annotations(object).Get(kRevisionAnnotation).AsString()).value_or(0); }

void AnnotateSet(ReplicaSetBuilder& set, const Deployment& deployment, int64_t revision) {
  auto metadata = set.mutable_metadata();
  ReplicaSet before = set.View();
  for (auto [key, value] : deployment.metadata().annotations()) {
    if (!StaysWithDeployment(key) && before.metadata().annotations().Get(key) != value) metadata.set_annotations(key, value);
  }
  std::string_view old = before.metadata().annotations().Get(kRevisionAnnotation);
  // A revision that is no number is somebody else's: it stays.
  if ((!old.empty() && !Number(old)) || RevisionOf(before.Raw()) >= revision) return;
  metadata.set_annotations(kRevisionAnnotation, std::to_string(revision));
  if (old.empty()) return;
  metadata.set_annotations(kRevisionHistoryAnnotation, WithRevision(before.metadata().annotations().Get(kRevisionHistoryAnnotation), old));
}

void AnnotateSizes(ReplicaSetBuilder& set, const Deployment& deployment) {
  auto metadata = set.mutable_metadata();
  metadata.set_annotations(kDesiredReplicasAnnotation, std::to_string(WantedReplicas(deployment)));
  metadata.set_annotations(kMaxReplicasAnnotation, std::to_string(MostReplicas(deployment)));
}

bool SizesAreNoted(const ReplicaSet& set, const Deployment& deployment) {
  return Count(set, kDesiredReplicasAnnotation) == WantedReplicas(deployment) && Count(set, kMaxReplicasAnnotation) == MostReplicas(deployment);
}

object::DocumentPtr NewReplicaSet(const Deployment& deployment, int64_t revision, int32_t size) {
  std::string hash = TemplateHash(deployment);
  std::string_view name = deployment.metadata().name().substr(0, object::kDNS1123SubdomainMaxLength - 1 - hash.size());
  ReplicaSetBuilder set;
  auto metadata = set.mutable_metadata();
  metadata.set_name(std::string(name) + "-" + hash).set_namespace(deployment.metadata().namespace_());
  metadata.set_labels(schema::Subtree(deployment.spec().template_().metadata().labels()));
  metadata.set_labels(kTemplateHashLabel, hash);
  AddControllerReference(metadata, Deployment::SchemaKind(), deployment.Raw());
  auto spec = set.mutable_spec();
  spec.set_replicas(size).set_min_ready_seconds(deployment.spec().min_ready_seconds());
  spec.set_selector(schema::Subtree(deployment.spec().selector()));
  spec.mutable_selector().set_match_labels(kTemplateHashLabel, hash);
  spec.set_template(schema::Subtree(deployment.spec().template_()));
  spec.mutable_template().mutable_metadata().set_labels(kTemplateHashLabel, hash);
  AnnotateSet(set, deployment, revision);
  AnnotateSizes(set, deployment);
  return set.Freeze();
}

DeploymentState ReadState(const api::apps::v1::DeploymentStatus& status) {
  DeploymentState state;
  state.observed_generation = status.observed_generation();
  state.replicas = status.replicas();
  state.updated = status.updated_replicas();
  state.ready = status.ready_replicas();
  state.available = status.available_replicas();
  state.unavailable = status.unavailable_replicas();
  if (status.has_terminating_replicas()) state.terminating = status.terminating_replicas();
  if (status.has_collision_count()) state.collisions = status.collision_count();
  state.conditions = ReadConditions(status.conditions());
  return state;
}

object::DocumentPtr WithState(const object::DocumentPtr& deployment, const DeploymentState& state) {
  DeploymentBuilder next{schema::Subtree(deployment)};
  auto status = next.mutable_status();
  status.set_observed_generation(state.observed_generation).set_replicas(state.replicas).set_updated_replicas(state.updated);
  status.set_ready_replicas(state.ready).set_available_replicas(state.available).set_unavailable_replicas(state.unavailable);
  if (state.terminating) status.set_terminating_replicas(*state.terminating);
  if (state.collisions) status.set_collision_count(*state.collisions);
  WriteConditions(status, state.conditions);
  return next.Freeze();
}

Condition MakeCondition(std::string_view type, std::string_view status, std::string_view reason, std::string message, WallTime now) {
  std::string time = TimeText(now);
  return {std::string(type), std::string(status), std::string(reason), std::move(message), time, time};
}

DeploymentState CountReplicas(const Deployment& deployment, const ReplicaSets& all, const ReplicaSet* new_set, WallTime now) {
  DeploymentState state = ReadState(deployment.status());
  state.observed_generation = deployment.metadata().generation();
  state.replicas = state.ready = 0;
  state.terminating = 0;
  for (const ReplicaSet& set : all) {
    state.replicas += set.status().replicas();
    state.ready += set.status().ready_replicas();
    // A set that was never looked at has none; the sum is unknown as long as another does not say.
    bool unknown = !set.status().has_terminating_replicas() && set.status().observed_generation() != 0;
    if (unknown) state.terminating.reset();
    if (state.terminating) *state.terminating += set.status().terminating_replicas();
  }
  state.updated = new_set == nullptr ? 0 : new_set->status().replicas();
  state.available = Available(all);
  state.unavailable = std::max(0, TotalSize(all) - state.available);
  bool enough = state.available >= FewestAvailable(deployment);
  SetCondition(state.conditions,
               MakeCondition("Available", enough ? "True" : "False", enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                             enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now));
  return state;
}

DeploymentState RolloutState(const Deployment& deployment, const ReplicaSets& all, const ReplicaSet* new_set, WallTime now) {
  DeploymentState state = CountReplicas(deployment, all, new_set, now);
  if (!HasProgressDeadline(deployment)) RemoveCondition(state.conditions, "Progressing");
  const Condition* progressing = FindCondition(state.conditions, "Progressing");
  bool was_complete = state.replicas == state.updated && progressing != nullptr && progressing->reason == "NewReplicaSetAvailable";
  if (HasProgressDeadline(deployment) && !was_complete) JudgeProgress(state, deployment, new_set, now);
  CopyFailure(state, all, new_set);
  return state;
}

bool IsComplete(const Deployment& deployment, const DeploymentState& state) {
  int32_t wanted = WantedReplicas(deployment);
  return state.updated == wanted && state.replicas == wanted && state.available == wanted &&
         state.observed_generation >= deployment.metadata().generation();
}

std::optional<Duration> TimeToDeadline(const Deployment& deployment, const DeploymentState& state, WallTime now) {
  const Condition* progressing = FindCondition(state.conditions, "Progressing");
  if (!HasProgressDeadline(deployment) || progressing == nullptr) return std::nullopt;
  if (IsComplete(deployment, state) || progressing->reason == "ProgressDeadlineExceeded") return std::nullopt;
  auto since = object::ParseTime(progressing->last_update_time);
  if (!since) return std::nullopt;
  Duration left = since->ToClock() + std::chrono::seconds(deployment.spec().progress_deadline_seconds()) - now;
  // Whole seconds are kept: a second later the time is certainly over.
  return std::max(left, Duration(0)) + std::chrono::seconds(1);
}

}  // namespace homeostat::controllers
