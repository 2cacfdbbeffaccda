#include "controllers/replica_set_rules.h"

#include <algorithm>
#include <map>

#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/selectors.h"
#include "homeostat/object/time.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {

using api::apps::v1::ReplicaSet;
using api::apps::v1::ReplicaSetBuilder;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using object::Value;

namespace {

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

int PhaseRank(std::string_view phase) { return phase == "Pending" ? 0 : phase == "Running" ? 2 : 1; }

int64_t DeletionCost(const Pod& pod) {
  std::string text(pod.metadata().annotations().Get(kDeletionCost));
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
}

std::string_view ReadySince(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "Ready" && condition.status() == "True") return condition.last_transition_time();
  }
  return {};
}

int32_t MostRestarts(const Pod& pod) {
  int32_t most = 0;
  for (auto status : pod.status().container_statuses()) most = std::max(most, status.restart_count());
  return most;
}

// Everything the order depends on, smaller first. Times are compared as text: all have one form.
struct Rank {
  bool scheduled;
  int phase;
  bool ready;
  int64_t cost;
  int64_t crowd;             // negative number of related pods on the node
  std::string_view ready_since, created;
  int32_t restarts;
};

bool GoesBefore(const Rank& a, const Rank& b) {
  if (a.scheduled != b.scheduled) return !a.scheduled;
  if (a.phase != b.phase) return a.phase < b.phase;
  if (a.ready != b.ready) return !a.ready;
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.crowd != b.crowd) return a.crowd < b.crowd;
  if (a.ready && a.ready_since != b.ready_since) return a.ready_since > b.ready_since;
  if (a.restarts != b.restarts) return a.restarts > b.restarts;
  return a.created > b.created;
}

}  // namespace

bool IsPodReady(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

bool IsPodAvailable(const Pod& pod, int32_t min_ready_seconds, WallTime now) {
  if (!IsPodReady(pod)) return false;
  if (min_ready_seconds == 0) return true;
  auto since = object::ParseTime(ReadySince(pod));
  return since && since->ToClock() + std::chrono::seconds(min_ready_seconds) <= now;
}

bool IsPodActive(const Pod& pod) {
  return pod.status().phase() != "Succeeded" && pod.status().phase() != "Failed" && !sdk::meta::IsDeleting(pod.Raw());
}

void SortForDeletion(std::vector<object::DocumentPtr>& pods, const std::vector<object::DocumentPtr>& related) {
  std::map<std::string_view, int64_t> on_node;
  for (const object::DocumentPtr& document : related) {
    Pod pod(document->root());
    if (IsPodActive(pod)) ++on_node[pod.spec().node_name()];
  }
  auto rank = [&](const object::DocumentPtr& document) {
    Pod pod(document->root());
    auto found = on_node.find(pod.spec().node_name());
    return Rank{!pod.spec().node_name().empty(), PhaseRank(pod.status().phase()), IsPodReady(pod), DeletionCost(pod),
                found == on_node.end() ? 0 : -found->second, ReadySince(pod), pod.metadata().creation_timestamp(), MostRestarts(pod)};
  };
  std::ranges::stable_sort(pods, [&](const object::DocumentPtr& a, const object::DocumentPtr& b) { return GoesBefore(rank(a), rank(b)); });
}

Value ReplicaSetStatus(object::Arena& arena, const ReplicaSet& set, const std::vector<object::DocumentPtr>& pods,
                       std::string_view fault_reason, std::string_view fault, WallTime now) {
  auto selector = object::LabelSelector::FromMap(set.spec().template_().metadata().Raw().Get("labels"));
  int32_t replicas = 0, labeled = 0, ready = 0, available = 0, terminating = 0;
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    if (sdk::meta::IsDeleting(pod.Raw())) {
      ++terminating;
      continue;
    }
    if (!IsPodActive(pod)) continue;
    ++replicas;
    if (selector.Matches(sdk::meta::Labels(pod.Raw()))) ++labeled;
    if (IsPodReady(pod)) ++ready;
    if (IsPodAvailable(pod, set.spec().min_ready_seconds(), now)) ++available;
  }
  ReplicaSetBuilder next{schema::Subtree(set)};
  auto status = next.mutable_status();
  status.set_replicas(replicas).set_fully_labeled_replicas(labeled).set_ready_replicas(ready).set_available_replicas(available);
  status.set_terminating_replicas(terminating);
  status.set_observed_generation(set.metadata().generation());
  std::string time = object::FormatTime(object::Timestamp::FromClock(now));
  bool had_fault = false;
  size_t index = 0;
  for (auto condition : set.status().conditions()) {
    if (condition.type() == "ReplicaFailure") {
      had_fault = true;
      if (fault.empty()) status.erase_conditions(index);
      break;
    }
    ++index;
  }
  if (!fault.empty() && !had_fault) {
    status.add_conditions().set_type("ReplicaFailure").set_status("True").set_reason(fault_reason).set_message(fault)
        .set_last_transition_time(time);
  }
  return next.FreezeInto(arena);
}

object::DocumentPtr PodFromTemplate(const ReplicaSet& set) {
  PodBuilder pod;
  auto tmpl = set.spec().template_();
  auto metadata = pod.mutable_metadata();
  for (auto [key, value] : tmpl.metadata().labels()) metadata.set_labels(key, value);
  for (auto [key, value] : tmpl.metadata().annotations()) metadata.set_annotations(key, value);
  for (std::string_view finalizer : tmpl.metadata().finalizers()) metadata.add_finalizers(finalizer);
  metadata.set_generate_name(std::string(set.metadata().name()) + "-").set_namespace(set.metadata().namespace_());
  auto owner = metadata.add_owner_references();
  owner.set_api_version("apps/v1").set_kind("ReplicaSet").set_name(set.metadata().name()).set_uid(set.metadata().uid());
  owner.set_controller(true).set_block_owner_deletion(true);
  pod.set_spec(schema::Subtree(tmpl.spec()));
  return pod.Freeze();
}

}  // namespace homeostat::controllers
