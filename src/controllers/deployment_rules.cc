#include "controllers/deployment_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/protobuf.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {

using api::apps::v1::DeploymentBuilder;
using api::apps::v1::DeploymentCondition;
using api::apps::v1::DeploymentStatus;
using object::Value;

namespace {

constexpr std::string_view kSafeAlphabet = "bcdfghjklmnpqrstvwxz2456789";

// A number, or a percentage of `total`, rounded up or down.
int32_t ScaledValue(const Value& int_or_percent, int32_t total, bool round_up) {
  if (int_or_percent.IsInt()) return static_cast<int32_t>(int_or_percent.AsInt());
  std::string text(int_or_percent.AsString());
  double share = std::strtod(text.c_str(), nullptr) * total / 100.0;
  return static_cast<int32_t>(round_up ? std::ceil(share) : std::floor(share));
}

int32_t Total(const std::vector<ReplicaSet>& sets) {
  int32_t total = 0;
  for (const ReplicaSet& set : sets) total += SizeOf(set);
  return total;
}

int32_t Available(const std::vector<ReplicaSet>& sets) {
  int32_t total = 0;
  for (const ReplicaSet& set : sets) total += set.status().available_replicas();
  return total;
}

Value WithoutHash(object::Arena& arena, const ReplicaSet& set) {
  api::core::v1::PodTemplateSpecBuilder tmpl{schema::Subtree(set.spec().template_())};
  tmpl.mutable_metadata().erase_labels(kTemplateHashLabel);
  return tmpl.FreezeInto(arena);
}

// How many replicas a set gains or loses when the Deployment's size changes by scale.
int32_t Fraction(const Deployment& deployment, const ReplicaSet& set) {
  if (WantedReplicas(deployment) == 0) return -SizeOf(set);
  std::string text(set.metadata().annotations().Get(kMaxReplicasAnnotation));
  int32_t before = text.empty() ? deployment.status().replicas() : std::atoi(text.c_str());
  if (before == 0) return 0;
  double size = static_cast<double>(SizeOf(set)) * MostReplicas(deployment) / before;
  return static_cast<int32_t>(std::lround(size)) - SizeOf(set);
}

std::optional<DeploymentCondition> FindCondition(const Deployment& deployment, std::string_view type) {
  for (DeploymentCondition condition : deployment.status().conditions()) if (condition.type() == type) return condition;
  return std::nullopt;
}

std::string Time(WallTime now) { return object::FormatTime(object::Timestamp::FromClock(now)); }

bool HasDeadline(const Deployment& deployment) {
  return deployment.spec().has_progress_deadline_seconds() && deployment.spec().progress_deadline_seconds() != INT32_MAX;
}

bool MadeProgress(const DeploymentStatus& before, const DeploymentStatus& after) {
  int32_t old_before = before.replicas() - before.updated_replicas(), old_after = after.replicas() - after.updated_replicas();
  return after.updated_replicas() > before.updated_replicas() || old_after < old_before ||
         after.ready_replicas() > before.ready_replicas() || after.available_replicas() > before.available_replicas();
}

std::string Subject(const Deployment& deployment, const ReplicaSet* new_set) {
  if (new_set != nullptr) return "ReplicaSet \"" + std::string(new_set->metadata().name()) + "\"";
  return "Deployment \"" + std::string(deployment.metadata().name()) + "\"";
}

// The failure of a set shows at the Deployment: the new set's before an old one's.
Value CopyFailure(object::Arena& arena, const Value& object, const std::vector<ReplicaSet>& sets, const ReplicaSet* new_set,
                  WallTime now) {
  auto failure_of = [](const ReplicaSet& set) -> std::optional<std::pair<std::string, std::string>> {
    for (auto condition : set.status().conditions()) {
      if (condition.type() == "ReplicaFailure") return std::pair(std::string(condition.reason()), std::string(condition.message()));
    }
    return std::nullopt;
  };
  std::optional<std::pair<std::string, std::string>> failure;
  if (new_set != nullptr) failure = failure_of(*new_set);
  for (const ReplicaSet& set : sets) if (!failure) failure = failure_of(set);
  if (failure) return WithCondition(arena, Deployment(object), "ReplicaFailure", "True", failure->first, failure->second, now);
  Deployment deployment(object);
  DeploymentBuilder next{schema::Subtree(deployment)};
  size_t index = 0;
  for (auto condition : deployment.status().conditions()) {
    if (condition.type() == "ReplicaFailure") {
      next.mutable_status().erase_conditions(index);
      break;
    }
    ++index;
  }
  return next.FreezeInto(arena);
}

}  // namespace

int32_t WantedReplicas(const Deployment& deployment) { return deployment.spec().has_replicas() ? deployment.spec().replicas() : 1; }
int32_t SizeOf(const ReplicaSet& set) { return set.spec().has_replicas() ? set.spec().replicas() : 1; }
bool IsRollingUpdate(const Deployment& deployment) { return deployment.spec().strategy().type() != "Recreate"; }

Fenceposts FencepostsOf(const Deployment& deployment) {
  auto rolling = deployment.spec().strategy().rolling_update();
  int32_t wanted = WantedReplicas(deployment);
  Fenceposts posts;
  posts.surge = ScaledValue(rolling.max_surge(), wanted, true);
  posts.unavailable = ScaledValue(rolling.max_unavailable(), wanted, false);
  if (posts.surge == 0 && posts.unavailable == 0) posts.unavailable = 1;
  posts.unavailable = std::min(posts.unavailable, wanted);
  if (!IsRollingUpdate(deployment)) posts = {};
  return posts;
}

int32_t MostReplicas(const Deployment& deployment) { return WantedReplicas(deployment) + FencepostsOf(deployment).surge; }

std::string TemplateHash(const Deployment& deployment) {
  auto tmpl = deployment.spec().template_();
  std::string text = schema::EncodeProtobuf(api::core::v1::PodTemplateSpec::SchemaType(), tmpl.Raw());
  if (deployment.status().has_collision_count()) text += "/" + std::to_string(deployment.status().collision_count());
  uint32_t hash = 2166136261u;  // FNV-1a
  for (unsigned char c : text) hash = (hash ^ c) * 16777619u;
  std::string name;
  for (char digit : std::to_string(hash)) name.push_back(kSafeAlphabet[static_cast<unsigned char>(digit) % kSafeAlphabet.size()]);
  return name;
}

bool SameTemplate(const Deployment& deployment, const ReplicaSet& set) {
  object::Arena arena;
  api::core::v1::PodTemplateSpecBuilder own{schema::Subtree(deployment.spec().template_())};
  own.mutable_metadata().erase_labels(kTemplateHashLabel);
  return object::Equal(own.FreezeInto(arena), WithoutHash(arena, set));
}

int32_t NewSetSize(const Deployment& deployment, const ReplicaSet& new_set, int32_t all_replicas) {
  int32_t wanted = WantedReplicas(deployment), size = SizeOf(new_set);
  if (!IsRollingUpdate(deployment)) return wanted;
  if (size >= wanted) return wanted;
  int32_t room = MostReplicas(deployment) - all_replicas;
  if (room <= 0) return size;
  return size + std::min(room, wanted - size);
}

std::vector<int32_t> OldSetSizes(const Deployment& deployment, const ReplicaSet* new_set, const std::vector<ReplicaSet>& old_sets) {
  std::vector<int32_t> sizes;
  for (const ReplicaSet& set : old_sets) sizes.push_back(SizeOf(set));
  int32_t fewest_available = WantedReplicas(deployment) - FencepostsOf(deployment).unavailable;
  int32_t new_size = new_set == nullptr ? 0 : SizeOf(*new_set);
  int32_t new_available = new_set == nullptr ? 0 : new_set->status().available_replicas();
  int32_t removable = Total(old_sets) + new_size - fewest_available - (new_size - new_available);
  if (removable <= 0) return sizes;
  // What is not available anyway goes first.
  int32_t removed = 0;
  for (size_t i = 0; i < old_sets.size(); ++i) {
    int32_t unhealthy = std::max(0, sizes[i] - old_sets[i].status().available_replicas());
    int32_t count = std::min(unhealthy, removable - removed);
    sizes[i] -= count;
    removed += count;
  }
  int32_t spare = Available(old_sets) + new_available - fewest_available;
  for (size_t i = 0; i < old_sets.size() && spare > 0; ++i) {
    int32_t count = std::min(sizes[i], spare);
    sizes[i] -= count;
    spare -= count;
  }
  return sizes;
}

std::vector<int32_t> ProportionalSizes(const Deployment& deployment, const std::vector<ReplicaSet>& sets) {
  std::vector<int32_t> sizes;
  for (const ReplicaSet& set : sets) sizes.push_back(SizeOf(set));
  int32_t allowed = WantedReplicas(deployment) > 0 ? MostReplicas(deployment) : 0;
  int32_t to_add = allowed - Total(sets), added = 0;
  // The largest first; among equals the newer when growing, the older when shrinking.
  std::vector<size_t> order(sets.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (sizes[a] != sizes[b]) return sizes[a] > sizes[b];
    std::string_view x = sets[a].metadata().creation_timestamp(), y = sets[b].metadata().creation_timestamp();
    return to_add > 0 ? x > y : x < y;
  });
  for (size_t i : order) {
    if (to_add == 0 || sizes[i] == 0) continue;
    int32_t fraction = Fraction(deployment, sets[i]), left = to_add - added;
    int32_t change = to_add > 0 ? std::min(fraction, left) : std::max(fraction, left);
    sizes[i] += change;
    added += change;
  }
  if (!order.empty() && to_add != added) sizes[order.front()] = std::max(0, sizes[order.front()] + to_add - added);
  return sizes;
}

int64_t RevisionOf(const Value& object) {
  std::string text(sdk::meta::Annotations(object).Get(kRevisionAnnotation).AsString());
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
}

bool IsComplete(const Deployment& deployment, const DeploymentStatus& status) {
  int32_t wanted = WantedReplicas(deployment);
  return status.updated_replicas() == wanted && status.replicas() == wanted && status.available_replicas() == wanted &&
         status.observed_generation() >= deployment.metadata().generation();
}

Value WithCondition(object::Arena& arena, const Deployment& deployment, std::string_view type, std::string_view status,
                    std::string_view reason, const std::string& message, WallTime now) {
  DeploymentBuilder next{schema::Subtree(deployment)};
  auto target = next.mutable_status();
  std::string time = Time(now);
  size_t index = 0;
  for (DeploymentCondition condition : deployment.status().conditions()) {
    if (condition.type() == type) {
      if (condition.status() == status && condition.reason() == reason && condition.message() == message) {
        return deployment.Raw();
      }
      auto changed = target.mutable_conditions(index);
      if (condition.status() != status) changed.set_last_transition_time(time);
      changed.set_status(status).set_reason(reason).set_message(message).set_last_update_time(time);
      return next.FreezeInto(arena);
    }
    ++index;
  }
  target.add_conditions().set_type(type).set_status(status).set_reason(reason).set_message(message).set_last_update_time(time)
      .set_last_transition_time(time);
  return next.FreezeInto(arena);
}

Value DeploymentStatusOf(object::Arena& arena, const Deployment& deployment, const std::vector<ReplicaSet>& sets,
                         const ReplicaSet* new_set, WallTime now) {
  int32_t replicas = 0, ready = 0, available = 0, terminating = 0;
  for (const ReplicaSet& set : sets) {
    replicas += set.status().replicas();
    ready += set.status().ready_replicas();
    available += set.status().available_replicas();
    terminating += set.status().terminating_replicas();
  }
  DeploymentBuilder next{schema::Subtree(deployment)};
  auto status = next.mutable_status();
  status.set_observed_generation(deployment.metadata().generation()).set_replicas(replicas);
  status.set_updated_replicas(new_set == nullptr ? 0 : new_set->status().replicas());
  status.set_ready_replicas(ready).set_available_replicas(available);
  status.set_unavailable_replicas(std::max(0, Total(sets) - available));
  status.set_terminating_replicas(terminating);
  Deployment counted(next.FreezeInto(arena));
  bool enough = available >= WantedReplicas(deployment) - FencepostsOf(deployment).unavailable;
  return WithCondition(arena, counted, "Available", enough ? "True" : "False",
                       enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                       enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now);
}

std::optional<WallTime> ProgressDeadline(const Deployment& deployment) {
  if (!HasDeadline(deployment)) return std::nullopt;
  auto progressing = FindCondition(deployment, "Progressing");
  if (!progressing || progressing->status() != "True" || progressing->reason() == "NewReplicaSetAvailable") return std::nullopt;
  auto since = object::ParseTime(progressing->last_update_time());
  if (!since) return std::nullopt;
  return since->ToClock() + std::chrono::seconds(deployment.spec().progress_deadline_seconds());
}

Value WithProgress(object::Arena& arena, const Deployment& before, const Deployment& after, const std::vector<ReplicaSet>& sets,
                   const ReplicaSet* new_set, WallTime now) {
  Value result = after.Raw();
  auto current = FindCondition(after, "Progressing");
  bool was_complete = after.status().replicas() == after.status().updated_replicas() && current &&
                      current->reason() == "NewReplicaSetAvailable";
  if (HasDeadline(after) && !was_complete) {
    std::string subject = Subject(after, new_set);
    if (IsComplete(after, after.status())) {
      result = WithCondition(arena, after, "Progressing", "True", "NewReplicaSetAvailable", subject + " has successfully progressed.", now);
    } else if (MadeProgress(before.status(), after.status())) {
      // Progress restarts the deadline even where nothing else of the condition changes.
      Value set = WithCondition(arena, after, "Progressing", "True", "ReplicaSetUpdated", subject + " is progressing.", now);
      DeploymentBuilder touched{schema::Subtree(Deployment(set))};
      size_t index = 0;
      for (DeploymentCondition condition : Deployment(set).status().conditions()) {
        if (condition.type() == "Progressing") touched.mutable_status().mutable_conditions(index).set_last_update_time(Time(now));
        ++index;
      }
      result = touched.FreezeInto(arena);
    } else if (auto deadline = ProgressDeadline(after); deadline && now >= *deadline) {
      result = WithCondition(arena, after, "Progressing", "False", "ProgressDeadlineExceeded", subject + " has timed out progressing.", now);
    }
  }
  return CopyFailure(arena, result, sets, new_set, now);
}

}  // namespace homeostat::controllers
