#include "scheduler/pod_info.h"

#include <algorithm>
#include <set>

namespace homeostat::scheduler {
namespace {

using api::core::v1::Container;
using api::core::v1::Pod;
using object::LabelRequirement;
using object::LabelSelector;
using object::SelectorOperator;

LabelSelector SelectorOf(const object::Value& value) {
  auto selector = LabelSelector::FromLabelSelector(value);
  return selector ? *std::move(selector) : LabelSelector::Nothing();
}

// With the pod's own values of the keys, as matchLabelKeys and mismatchLabelKeys ask.
LabelSelector WithKeys(LabelSelector selector, const object::Value& labels,
                       const schema::ListView<std::string_view>& keys, SelectorOperator op) {
  if (keys.empty() || selector.IsNothing()) return selector;
  std::vector<LabelRequirement> requirements = selector.requirements();
  for (std::string_view key : keys) {
    object::Value value = labels.Get(key);
    if (!value) continue;
    auto made = LabelRequirement::Make(std::string(key), op, {std::string(value.AsString())});
    if (made && std::ranges::find(requirements, *made) == requirements.end()) requirements.push_back(*std::move(made));
  }
  return LabelSelector::FromRequirements(std::move(requirements));
}

AffinityTerm ReadTerm(const PodInfo& pod, const api::core::v1::PodAffinityTerm& from, int64_t weight) {
  AffinityTerm term;
  term.weight = weight;
  term.topology_key = from.topology_key();
  PodMatcher::Part part;
  for (std::string_view ns : from.namespaces()) part.namespaces.emplace_back(ns);
  if (from.has_namespace_selector()) {
    part.namespace_selector = SelectorOf(from.namespace_selector().Raw());
  } else if (part.namespaces.empty()) {
    part.namespaces.push_back(pod.ns);
  }
  std::ranges::sort(part.namespaces);
  part.selector =
      WithKeys(SelectorOf(from.label_selector().Raw()), pod.labels, from.match_label_keys(), SelectorOperator::kIn);
  part.selector = WithKeys(std::move(part.selector), pod.labels, from.mismatch_label_keys(), SelectorOperator::kNotIn);
  term.matcher.parts.push_back(std::move(part));
  term.matcher.MakeKey();
  return term;
}

void ReadAffinity(const Pod& pod, PodInfo& info) {
  auto node = pod.spec().affinity().node_affinity();
  if (auto required = node.required_during_scheduling_ignored_during_execution()) {
    info.node_affinity.emplace(required);
    std::set<std::string> pinned;
    bool all = !info.node_affinity->terms().empty();
    for (const NodeTerm& term : info.node_affinity->terms()) {
      auto nodes = term.PinnedNodes();
      if (!nodes) {
        all = false;
        break;
      }
      pinned.insert(nodes->begin(), nodes->end());
    }
    if (all) info.pinned_nodes.emplace(pinned.begin(), pinned.end());
  }
  for (auto term : node.preferred_during_scheduling_ignored_during_execution()) {
    info.node_preferences.push_back({term.weight(), NodeTerm(term.preference())});
  }
  auto near = pod.spec().affinity().pod_affinity();
  for (auto term : near.required_during_scheduling_ignored_during_execution()) {
    info.affinity.push_back(ReadTerm(info, term, 0));
    info.all_affinity.parts.push_back(info.affinity.back().matcher.parts.front());
  }
  info.all_affinity.MakeKey();
  for (auto term : near.preferred_during_scheduling_ignored_during_execution()) {
    info.affinity_preferences.push_back(ReadTerm(info, term.pod_affinity_term(), term.weight()));
  }
  auto far = pod.spec().affinity().pod_anti_affinity();
  for (auto term : far.required_during_scheduling_ignored_during_execution()) {
    info.anti_affinity.push_back(ReadTerm(info, term, 0));
  }
  for (auto term : far.preferred_during_scheduling_ignored_during_execution()) {
    info.anti_affinity_preferences.push_back(ReadTerm(info, term.pod_affinity_term(), term.weight()));
  }
}

void ReadSpread(const Pod& pod, PodInfo& info) {
  for (auto from : pod.spec().topology_spread_constraints()) {
    SpreadConstraint constraint;
    constraint.max_skew = from.max_skew();
    constraint.topology_key = from.topology_key();
    constraint.hard = from.when_unsatisfiable() == "DoNotSchedule";
    constraint.min_domains = from.has_min_domains() ? from.min_domains() : 1;
    constraint.honor_node_affinity = from.node_affinity_policy() != "Ignore";
    constraint.honor_node_taints = from.node_taints_policy() == "Honor";
    PodMatcher::Part part;
    part.namespaces = {info.ns};
    part.selector =
        WithKeys(SelectorOf(from.label_selector().Raw()), info.labels, from.match_label_keys(), SelectorOperator::kIn);
    constraint.matches_self = part.selector.Matches(info.labels);
    constraint.matcher.parts.push_back(std::move(part));
    constraint.matcher.count_terminating = false;
    constraint.matcher.MakeKey();
    info.spread.push_back(std::move(constraint));
  }
}

void ReadContainers(const Pod& pod, PodInfo& info) {
  auto read_ports = [&](const Container& container) {
    for (auto port : container.ports()) {
      if (port.host_port() <= 0) continue;
      std::string ip(port.host_ip().empty() ? std::string_view("0.0.0.0") : port.host_ip());
      std::string protocol(port.protocol().empty() ? std::string_view("TCP") : port.protocol());
      info.ports.push_back({std::move(ip), std::move(protocol), port.host_port()});
    }
  };
  for (Container container : pod.spec().init_containers()) {
    info.images.push_back(WithTag(container.image()));
    if (container.restart_policy() == "Always") read_ports(container);
  }
  for (Container container : pod.spec().containers()) {
    info.images.push_back(WithTag(container.image()));
    read_ports(container);
  }
  info.image_containers = info.images.size();
}

void ReadClaims(const Pod& pod, PodInfo& info) {
  for (auto volume : pod.spec().volumes()) {
    if (volume.has_persistent_volume_claim()) {
      info.claims.push_back({std::string(volume.persistent_volume_claim().claim_name()), false});
    } else if (volume.has_ephemeral()) {
      info.claims.push_back({info.name + "-" + std::string(volume.name()), true});
    }
  }
}

}  // namespace

void PodMatcher::MakeKey() {
  key.clear();
  for (const Part& part : parts) {
    for (const std::string& ns : part.namespaces) key.append(ns).append(",");
    key += '|';
    if (part.namespace_selector)
      key += (part.namespace_selector->IsNothing() ? "!" : "=") + part.namespace_selector->ToString();
    key += '|';
    key += part.selector.IsNothing() ? "!" : part.selector.ToString();
    key += ';';
  }
  if (!count_terminating) key += '-';
}

bool HostPort::Conflicts(const HostPort& other) const {
  if (port != other.port || protocol != other.protocol) return false;
  auto any = [](const std::string& address) { return address == "0.0.0.0"; };
  return any(ip) || any(other.ip) || ip == other.ip;
}

std::string WithTag(std::string_view image) {
  std::string name(image);
  size_t colon = name.rfind(':'), slash = name.rfind('/');
  if (colon == name.npos || (slash != name.npos && colon < slash)) name += ":latest";
  return name;
}

PodInfoPtr ReadPod(object::DocumentPtr document) {
  auto info = std::make_shared<PodInfo>();
  Pod pod(document->root());
  info->document = std::move(document);
  info->uid = pod.metadata().uid();
  info->ns = pod.metadata().namespace_();
  info->name = pod.metadata().name();
  info->node_name = pod.spec().node_name();
  info->nominated_node = pod.status().nominated_node_name();
  info->scheduler_name = pod.spec().scheduler_name();
  info->labels = pod.metadata().labels().Raw();
  info->priority = pod.spec().priority();
  info->never_preempts = pod.spec().preemption_policy() == "Never";
  info->terminating = !pod.metadata().deletion_timestamp().empty();
  info->gated = !pod.spec().scheduling_gates().empty();
  info->ended = pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed";
  info->creation_time = pod.metadata().creation_timestamp();
  info->start_time = pod.status().start_time();
  info->requests = RequestsOf(pod);
  for (const auto& [key, value] : pod.spec().node_selector()) info->node_labels.emplace_back(key, value);
  for (auto toleration : pod.spec().tolerations()) {
    info->tolerations.push_back({std::string(toleration.key()), std::string(toleration.operator_()),
                                 std::string(toleration.value()), std::string(toleration.effect())});
  }
  ReadAffinity(pod, *info);
  ReadSpread(pod, *info);
  ReadContainers(pod, *info);
  ReadClaims(pod, *info);
  return info;
}

}  // namespace homeostat::scheduler
