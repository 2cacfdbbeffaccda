#include "controllers/daemon_plan.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "controllers/pod_template.h"
#include "controllers/revisions.h"
#include "controllers/scaled_value.h"

namespace homeostat::controllers {

using api::apps::v1::DaemonSet;
using api::apps::v1::DaemonSetBuilder;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using Pods = std::vector<object::DocumentPtr>;

namespace {

constexpr std::string_view kNoExecute = "NoExecute", kNoSchedule = "NoSchedule";
constexpr std::string_view kGenerationAnnotation = "deprecated.daemonset.template.generation";
constexpr std::string_view kGenerationLabel = "pod-template-generation";
constexpr std::string_view kNameField = "metadata.name";

// What every daemon pod puts up with.
struct DaemonToleration {
  std::string_view key, effect;
  bool host_network_only = false;
};
constexpr DaemonToleration kTolerations[] = {
    {"node.kubernetes.io/not-ready", kNoExecute},
    {"node.kubernetes.io/unreachable", kNoExecute},
    {"node.kubernetes.io/disk-pressure", kNoSchedule},
    {"node.kubernetes.io/memory-pressure", kNoSchedule},
    {"node.kubernetes.io/pid-pressure", kNoSchedule},
    {"node.kubernetes.io/unschedulable", kNoSchedule},
    {"node.kubernetes.io/network-unavailable", kNoSchedule, true},
};

bool Applies(const DaemonToleration& toleration, const DaemonSet& set) {
  return !toleration.host_network_only || set.spec().template_().spec().host_network();
}

// The number of the template as the API server counts it, while it still does.
std::optional<int64_t> TemplateGeneration(const DaemonSet& set) {
  std::string_view text = set.metadata().annotations().Get(kGenerationAnnotation);
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsUpdated(const Pod& pod, const DaemonSet& set, std::string_view hash) {
  if (!hash.empty() && pod.metadata().labels().Get(kRevisionHashLabel) == hash) return true;
  std::optional<int64_t> generation = TemplateGeneration(set);
  return generation && pod.metadata().labels().Get(kGenerationLabel) == std::to_string(*generation);
}

bool IsAvailable(const object::DocumentPtr& pod, const DaemonView& view) {
  return IsPodAvailable(Pod(pod->root()), view.Set().spec().min_ready_seconds(), view.now);
}

// Those on a node first, then the oldest.
void SortByPlaceAndAge(Pods& pods) {
  std::ranges::sort(pods, [](const object::DocumentPtr& x, const object::DocumentPtr& y) {
    Pod a(x->root()), b(y->root());
    bool placed = !a.spec().node_name().empty(), other = !b.spec().node_name().empty();
    if (placed != other) return placed;
    std::string_view s = a.metadata().creation_timestamp(), t = b.metadata().creation_timestamp();
    return s != t ? s < t : a.metadata().name() < b.metadata().name();
  });
}

bool IsRolling(const DaemonSet& set) { return set.spec().update_strategy().type() == "RollingUpdate"; }
int32_t Surge(const DaemonSet& set, int32_t nodes) {
  return IsRolling(set) ? ScaledValue(set.spec().update_strategy().rolling_update().max_surge(), nodes, true) : 0;
}
int32_t Unavailable(const DaemonSet& set, int32_t nodes) {
  return IsRolling(set) ? ScaledValue(set.spec().update_strategy().rolling_update().max_unavailable(), nodes, true) : 0;
}

// Of a surging set: the oldest of the current revision stays, and the oldest of earlier ones until the new one can stand in.
void ThinOut(const DaemonView& view, Pods running, DaemonChanges& changes) {
  object::DocumentPtr newer, older;
  SortByPlaceAndAge(running);
  for (object::DocumentPtr& pod : running) {
    bool current = Pod(pod->root()).metadata().labels().Get(kRevisionHashLabel) == view.hash;
    object::DocumentPtr& place = current ? newer : older;
    if (!place) {
      place = pod;
    } else {
      changes.remove.push_back(pod);
    }
  }
  if (newer && older && (!IsPodReady(Pod(older->root())) || IsAvailable(newer, view))) changes.remove.push_back(older);
}

void PlaceOn(const DaemonView& view, const std::string& node, DaemonChanges& changes) {
  DaemonPlacement::Verdict verdict = view.verdicts.at(node);
  const Pods& pods = view.PodsOn(node);
  if (verdict.run && pods.empty()) {
    changes.create_on.push_back(node);
    return;
  }
  Pods running;
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    if (sdk::meta::IsDeleting(pod.Raw())) continue;
    if (!verdict.stay) {
      changes.remove.push_back(document);
    } else if (pod.status().phase() == "Failed") {
      changes.failed.emplace_back(node, document);
    } else if (pod.status().phase() == "Succeeded") {
      changes.succeeded.push_back(document);
    } else {
      running.push_back(document);
    }
  }
  if (!verdict.stay) return;
  if (Surge(view.Set(), 1) > 0) {
    if (running.empty() && verdict.run) changes.create_on.push_back(node);
    if (running.size() > 1) ThinOut(view, std::move(running), changes);
  } else if (running.size() > 1) {
    SortByPlaceAndAge(running);
    changes.remove.insert(changes.remove.end(), running.begin() + 1, running.end());
  }
}

// The pods of a node that are to stay: at most one of each sort, else it is not for the update to touch.
struct NodePods {
  object::DocumentPtr newer, older;
  bool crowded = false;
};
NodePods SortOut(const DaemonView& view, const Pods& pods) {
  NodePods found;
  for (const object::DocumentPtr& pod : pods) {
    if (sdk::meta::IsDeleting(pod->root())) continue;
    object::DocumentPtr& place = IsUpdated(Pod(pod->root()), view.Set(), view.hash) ? found.newer : found.older;
    if (place) found.crowded = true;
    place = pod;
  }
  return found;
}

// Nodes of the update: those that have pods and those that shall have one.
std::map<std::string, NodePods> NodesOf(const DaemonView& view) {
  std::map<std::string, NodePods> nodes;
  for (const auto& [node, pods] : view.pods) nodes[node] = SortOut(view, pods);
  for (const auto& [node, verdict] : view.verdicts) {
    if (verdict.run) nodes.try_emplace(node);
  }
  return nodes;
}

// Old pods go, as many as may be unavailable; those that are unavailable anyway go at once.
DaemonChanges RollByRemoving(const DaemonView& view, int32_t most) {
  DaemonChanges changes;
  Pods candidates;
  int32_t unavailable = 0;
  for (const auto& [node, pods] : NodesOf(view)) {
    bool one = !pods.crowded && (pods.newer != nullptr) != (pods.older != nullptr);
    if (!one) {
      ++unavailable;
    } else if (pods.newer) {
      unavailable += IsAvailable(pods.newer, view) ? 0 : 1;
    } else if (!IsAvailable(pods.older, view)) {
      changes.remove.push_back(pods.older);
      ++unavailable;
    } else if (unavailable < most) {
      candidates.push_back(pods.older);
    }
  }
  auto room = static_cast<size_t>(std::max(0, most - unavailable));
  candidates.resize(std::min(candidates.size(), room));
  changes.remove.insert(changes.remove.end(), candidates.begin(), candidates.end());
  return changes;
}

// New pods come beside old ones, as many as may be too many; an old one goes when the new one stands in for it.
DaemonChanges RollBySurging(const DaemonView& view, int32_t most, int32_t desired) {
  DaemonChanges changes;
  Pods misplaced;
  std::vector<std::string> candidates;
  int32_t surging = 0, available = 0;
  for (const auto& [node, pods] : NodesOf(view)) {
    if (pods.crowded) {
      ++surging;
      continue;
    }
    const object::DocumentPtr& counts = pods.older ? pods.older : pods.newer;
    bool is_available = counts && IsAvailable(counts, view);
    if (is_available) ++available;
    if (!pods.older) continue;
    if (pods.newer) {
      if (IsAvailable(pods.newer, view)) {
        changes.remove.push_back(pods.older);
      } else {
        ++surging;
      }
    } else if (!view.ShouldRun(node)) {
      (is_available ? misplaced : changes.remove).push_back(pods.older);
    } else if (!is_available) {
      changes.create_on.push_back(node);
    } else if (surging < most) {
      candidates.push_back(node);
    }
  }
  misplaced.resize(std::min(misplaced.size(), static_cast<size_t>(std::max(0, available - desired))));
  changes.remove.insert(changes.remove.end(), misplaced.begin(), misplaced.end());
  candidates.resize(std::min(candidates.size(), static_cast<size_t>(std::max(0, most - surging))));
  changes.create_on.insert(changes.create_on.end(), candidates.begin(), candidates.end());
  return changes;
}

// Brings in a toleration: one of the same key, effect, operator and value is put in its place.
void AddToleration(api::core::v1::PodSpecBuilder& spec, const DaemonToleration& toleration) {
  auto list = spec.View().tolerations();
  for (size_t i = 0; i < list.size(); ++i) {
    bool same = list[i].key() == toleration.key && list[i].effect() == toleration.effect && list[i].operator_() == "Exists" && list[i].value().empty();
    if (!same) continue;
    spec.mutable_tolerations(i).clear_toleration_seconds();
    return;
  }
  spec.add_tolerations().set_key(toleration.key).set_operator("Exists").set_effect(toleration.effect);
}

}  // namespace

DaemonPlacement::DaemonPlacement(const DaemonSet& set) {
  auto spec = set.spec().template_().spec();
  node_name_ = spec.node_name();
  selector_ = object::LabelSelector::FromMap(spec.node_selector().Raw());
  auto required = spec.affinity().node_affinity().required_during_scheduling_ignored_during_execution();
  if (required) affinity_.emplace(required);
  for (auto toleration : spec.tolerations()) {
    tolerations_.push_back({std::string(toleration.key()), std::string(toleration.operator_()), std::string(toleration.value()), std::string(toleration.effect())});
  }
  for (const DaemonToleration& toleration : kTolerations) {
    if (Applies(toleration, set)) tolerations_.push_back({std::string(toleration.key), "Exists", "", std::string(toleration.effect)});
  }
}

bool DaemonPlacement::Tolerates(const Node& node, bool no_schedule) const {
  for (auto taint : node.spec().taints()) {
    bool counts = taint.effect() == kNoExecute || (no_schedule && taint.effect() == kNoSchedule);
    if (counts && !sdk::Tolerated(tolerations_, {std::string(taint.key()), std::string(taint.value()), std::string(taint.effect())})) return false;
  }
  return true;
}

DaemonPlacement::Verdict DaemonPlacement::Judge(const Node& node) const {
  std::string_view name = node.metadata().name();
  if (!node_name_.empty() && node_name_ != name) return {};
  object::Value labels = sdk::meta::Labels(node.Raw());
  if (!selector_.Matches(labels) || (affinity_ && !affinity_->Matches(name, labels))) return {};
  bool run = Tolerates(node, true);
  return {run, run || Tolerates(node, false)};
}

object::DocumentPtr DaemonPod(const DaemonSet& set, std::string_view node, std::string_view hash) {
  PodBuilder pod = PodFromTemplate(set.spec().template_(), DaemonSet::SchemaKind(), set.Raw());
  auto metadata = pod.mutable_metadata();
  if (auto generation = TemplateGeneration(set)) metadata.set_labels(kGenerationLabel, std::to_string(*generation));
  if (!hash.empty()) metadata.set_labels(kRevisionHashLabel, hash);
  auto spec = pod.mutable_spec();
  for (const DaemonToleration& toleration : kTolerations) {
    if (Applies(toleration, set)) AddToleration(spec, toleration);
  }
  auto required = spec.mutable_affinity().mutable_node_affinity().mutable_required_during_scheduling_ignored_during_execution();
  required.clear_node_selector_terms();
  required.add_node_selector_terms().add_match_fields().set_key(kNameField).set_operator("In").add_values(node);
  return pod.Freeze();
}

std::string TargetNode(const Pod& pod) {
  if (!pod.spec().node_name().empty()) return std::string(pod.spec().node_name());
  for (auto term : pod.spec().affinity().node_affinity().required_during_scheduling_ignored_during_execution().node_selector_terms()) {
    for (auto field : term.match_fields()) {
      if (field.key() == kNameField && field.operator_() == "In" && field.values().size() == 1) return std::string(field.values()[0]);
    }
  }
  return {};
}

const Pods& DaemonView::PodsOn(const std::string& node) const {
  static const Pods kNone;
  auto found = pods.find(node);
  return found == pods.end() ? kNone : found->second;
}

bool DaemonView::ShouldRun(const std::string& node) const {
  auto found = verdicts.find(node);
  return found != verdicts.end() && found->second.run;
}

DaemonView MakeDaemonView(object::DocumentPtr set, std::string hash, std::vector<object::DocumentPtr> nodes, const Pods& pods, WallTime now) {
  DaemonView view{std::move(set), std::move(hash), now, std::move(nodes), {}, {}};
  DaemonPlacement placement(view.Set());
  for (const object::DocumentPtr& node : view.nodes) view.verdicts[std::string(sdk::meta::Name(node->root()))] = placement.Judge(Node(node->root()));
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    if (IsPodTerminal(pod) && sdk::meta::IsDeleting(pod.Raw())) continue;
    std::string node = TargetNode(pod);
    if (!node.empty()) view.pods[node].push_back(document);
  }
  return view;
}

DaemonChanges PlaceDaemons(const DaemonView& view) {
  DaemonChanges changes;
  for (const auto& [node, verdict] : view.verdicts) PlaceOn(view, node, changes);
  // Pods that wait for a node that is gone.
  for (const auto& [node, pods] : view.pods) {
    if (view.verdicts.contains(node)) continue;
    std::ranges::copy_if(pods, std::back_inserter(changes.remove), [](const object::DocumentPtr& pod) { return Pod(pod->root()).spec().node_name().empty(); });
  }
  return changes;
}

DaemonChanges RollDaemons(const DaemonView& view) {
  DaemonSet set = view.Set();
  auto desired = static_cast<int32_t>(std::ranges::count_if(view.verdicts, [](const auto& entry) { return entry.second.run; }));
  int32_t surge = Surge(set, desired), unavailable = Unavailable(set, desired);
  if (surge > 0) return RollBySurging(view, surge, desired);
  return RollByRemoving(view, desired > 0 && unavailable == 0 ? 1 : unavailable);
}

DaemonCounts CountDaemons(const DaemonView& view) {
  DaemonCounts counts;
  DaemonSet set = view.Set();
  for (const auto& [node, verdict] : view.verdicts) {
    Pods pods = view.PodsOn(node);
    if (!verdict.run) {
      counts.misscheduled += pods.empty() ? 0 : 1;
      continue;
    }
    ++counts.desired;
    if (pods.empty()) continue;
    ++counts.current;
    SortByPlaceAndAge(pods);
    Pod pod(pods.front()->root());
    if (IsPodReady(pod)) ++counts.ready;
    if (IsAvailable(pods.front(), view)) ++counts.available;
    if (IsUpdated(pod, set, view.hash)) ++counts.updated;
  }
  return counts;
}

object::DocumentPtr WithDaemonStatus(const object::DocumentPtr& document, const DaemonCounts& counts, bool observed) {
  DaemonSet set(document->root());
  auto status = set.status();
  DaemonCounts before{status.desired_number_scheduled(), status.current_number_scheduled(), status.number_misscheduled(),
                      status.number_ready(), status.updated_number_scheduled(), status.number_available()};
  bool same = before == counts && status.number_unavailable() == counts.desired - counts.available &&
              status.observed_generation() >= set.metadata().generation();
  if (same) return document;
  DaemonSetBuilder next{schema::Subtree(document)};
  auto to = next.mutable_status();
  if (observed) to.set_observed_generation(set.metadata().generation());
  to.set_desired_number_scheduled(counts.desired).set_current_number_scheduled(counts.current).set_number_misscheduled(counts.misscheduled);
  to.set_number_ready(counts.ready).set_updated_number_scheduled(counts.updated).set_number_available(counts.available);
  to.set_number_unavailable(counts.desired - counts.available);
  return next.Freeze();
}

}  // namespace homeostat::controllers
