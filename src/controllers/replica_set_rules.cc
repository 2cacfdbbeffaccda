#include "controllers/replica_set_rules.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <set>

#include "controllers/conditions.h"

namespace homeostat::controllers {

using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using api::core::v1::ReplicationController;

namespace {

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
constexpr std::string_view kReplicaFailure = "ReplicaFailure";

int PhaseRank(std::string_view phase) { return phase == "Unknown" ? 1 : phase == "Running" ? 2 : 0; }

// What is no number counts as 0.
int32_t DeletionCost(const Pod& pod) {
  std::string_view text = pod.metadata().annotations().Get(kDeletionCost);
  int32_t cost = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return error == std::errc() && end == text.data() + text.size() ? cost : 0;
}

struct Restarts {
  int32_t regular = 0, sidecar = 0;   // the most of one container
  bool operator==(const Restarts&) const = default;
};

Restarts RestartsOf(const Pod& pod) {
  Restarts most;
  for (auto status : pod.status().container_statuses()) most.regular = std::max(most.regular, status.restart_count());
  std::set<std::string_view> sidecars;
  for (auto container : pod.spec().init_containers()) {
    if (container.restart_policy() == "Always") sidecars.insert(container.name());
  }
  for (auto status : pod.status().init_container_statuses()) {
    if (sidecars.contains(status.name())) most.sidecar = std::max(most.sidecar, status.restart_count());
  }
  return most;
}

// The order of magnitude of a time span, in powers of two; -1 for none.
int Magnitude(Duration span) { return span > Duration(0) ? static_cast<int>(std::bit_width(static_cast<uint64_t>(span.count()))) - 1 : -1; }

// Everything the order depends on.
struct Rank {
  object::DocumentPtr pod;
  bool scheduled = false, ready = false;
  int phase = 0;
  int32_t cost = 0, crowd = 0;
  std::optional<WallTime> ready_since, created;
  Restarts restarts;
  std::string_view uid;
};

std::optional<WallTime> CreatedAt(const Pod& pod) {
  auto time = object::ParseTime(pod.metadata().creation_timestamp());
  return time ? std::optional(time->ToClock()) : std::nullopt;
}

// Whether the one whose time is `a` goes first: the younger by order of magnitude, then by uid. One without a time is the youngest.
bool YoungerGoes(const Rank& x, std::optional<WallTime> a, const Rank& y, std::optional<WallTime> b, WallTime now) {
  if (!a || !b) return !a;
  int difference = Magnitude(now - *a) - Magnitude(now - *b);
  return difference == 0 ? x.uid < y.uid : difference < 0;
}

bool GoesBefore(const Rank& a, const Rank& b, WallTime now) {
  if (a.scheduled != b.scheduled) return !a.scheduled;
  if (a.phase != b.phase) return a.phase < b.phase;
  if (a.ready != b.ready) return !a.ready;
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.crowd != b.crowd) return a.crowd > b.crowd;
  if (a.ready && a.ready_since != b.ready_since) return YoungerGoes(a, a.ready_since, b, b.ready_since, now);
  if (a.restarts.regular != b.restarts.regular) return a.restarts.regular > b.restarts.regular;
  if (a.restarts.sidecar != b.restarts.sidecar) return a.restarts.sidecar > b.restarts.sidecar;
  if (a.created != b.created) return YoungerGoes(a, a.created, b, b.created, now);
  return false;
}

Rank RankOf(const object::DocumentPtr& document, const std::map<std::string_view, int32_t>& on_node) {
  Pod pod(document->root());
  Rank rank;
  rank.pod = document;
  rank.scheduled = !pod.spec().node_name().empty();
  rank.phase = PhaseRank(pod.status().phase());
  rank.ready = IsPodReady(pod);
  rank.cost = DeletionCost(pod);
  auto crowd = on_node.find(pod.spec().node_name());
  if (crowd != on_node.end()) rank.crowd = crowd->second;
  rank.ready_since = ReadySince(pod);
  rank.created = CreatedAt(pod);
  rank.restarts = RestartsOf(pod);
  rank.uid = pod.metadata().uid();
  return rank;
}

}  // namespace

int32_t SizeOf(const ReplicaSet& set) { return set.spec().has_replicas() ? set.spec().replicas() : 1; }
int32_t SizeOf(const ReplicationController& controller) { return controller.spec().has_replicas() ? controller.spec().replicas() : 1; }

Result<object::LabelSelector> ReplicaTraits<ReplicaSet>::Selector(const ReplicaSet& set) {
  return object::LabelSelector::FromLabelSelector(set.spec().selector().Raw());
}
Result<object::LabelSelector> ReplicaTraits<ReplicationController>::Selector(const ReplicationController& controller) {
  return object::LabelSelector::FromMap(controller.spec().selector().Raw());
}

void SortForDeletion(std::vector<object::DocumentPtr>& pods, const std::vector<object::DocumentPtr>& related, WallTime now) {
  std::map<std::string_view, int32_t> on_node;
  for (const object::DocumentPtr& document : related) {
    Pod pod(document->root());
    if (IsPodActive(pod)) ++on_node[pod.spec().node_name()];
  }
  std::vector<Rank> ranks;
  for (const object::DocumentPtr& pod : pods) ranks.push_back(RankOf(pod, on_node));
  // Nearly an order: equal magnitudes are told apart by uid alone, so insertion keeps it from ever running wild.
  std::vector<Rank> sorted;
  for (Rank& rank : ranks) {
    auto place = std::ranges::find_if(sorted, [&](const Rank& other) { return GoesBefore(rank, other, now); });
    sorted.insert(place, std::move(rank));
  }
  for (size_t i = 0; i < pods.size(); ++i) pods[i] = sorted[i].pod;
}

template <class Kind>
object::DocumentPtr WithStatus(const object::DocumentPtr& document, const std::vector<object::DocumentPtr>& active, int32_t terminating,
                               const std::optional<Status>& fault, WallTime now) {
  Kind set(document->root());
  auto template_labels = object::LabelSelector::FromMap(set.spec().template_().metadata().labels().Raw());
  int32_t labeled = 0, ready = 0, available = 0;
  for (const object::DocumentPtr& one : active) {
    Pod pod(one->root());
    if (template_labels.Matches(sdk::meta::Labels(pod.Raw()))) ++labeled;
    if (IsPodReady(pod)) ++ready;
    if (IsPodAvailable(pod, set.spec().min_ready_seconds(), now)) ++available;
  }
  auto replicas = static_cast<int32_t>(active.size());
  typename ReplicaTraits<Kind>::Builder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  status.set_replicas(replicas).set_fully_labeled_replicas(labeled).set_ready_replicas(ready).set_available_replicas(available);
  status.set_observed_generation(set.metadata().generation());
  if constexpr (requires { status.set_terminating_replicas(terminating); }) status.set_terminating_replicas(terminating);
  Conditions conditions = ReadConditions(set.status().conditions());
  const Condition* failure = FindCondition(conditions, kReplicaFailure);
  if (fault && failure == nullptr) {
    std::string reason = replicas < SizeOf(set) ? "FailedCreate" : replicas > SizeOf(set) ? "FailedDelete" : "";
    conditions.push_back({std::string(kReplicaFailure), "True", reason, fault->message(), {}, TimeText(now)});
    WriteConditions(status, conditions);
  } else if (!fault && failure != nullptr) {
    RemoveCondition(conditions, kReplicaFailure);
    WriteConditions(status, conditions);
  }
  return next.Freeze();
}

template object::DocumentPtr WithStatus<ReplicaSet>(const object::DocumentPtr&, const std::vector<object::DocumentPtr>&, int32_t,
                                                    const std::optional<Status>&, WallTime);
template object::DocumentPtr WithStatus<ReplicationController>(const object::DocumentPtr&, const std::vector<object::DocumentPtr>&, int32_t,
                                                               const std::optional<Status>&, WallTime);

std::optional<Duration> NextAvailability(const std::vector<object::DocumentPtr>& pods, int32_t min_ready_seconds, WallTime now) {
  std::optional<Duration> next;
  for (const object::DocumentPtr& pod : pods) {
    std::optional<Duration> time = TimeUntilAvailable(Pod(pod->root()), min_ready_seconds, now);
    if (time && (!next || *time < *next)) next = time;
  }
  return next;
}

}  // namespace homeostat::controllers
