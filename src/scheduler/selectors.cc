#include "scheduler/selectors.h"

#include <algorithm>

#include "homeostat/api/apps/v1.h"
#include "homeostat/api/core/v1.h"

namespace homeostat::scheduler {
namespace {

using object::LabelRequirement;
using object::LabelSelector;
using object::SelectorOperator;

void Require(std::vector<LabelRequirement>& requirements, LabelRequirement requirement) {
  if (std::ranges::find(requirements, requirement) == requirements.end())
    requirements.push_back(std::move(requirement));
}

}  // namespace

WorkloadSelectors::WorkloadSelectors(sdk::InformerFactory& informers)
    : services_(informers.For<api::core::v1::Service>()),
      replication_controllers_(informers.For<api::core::v1::ReplicationController>()),
      replica_sets_(informers.For<api::apps::v1::ReplicaSet>()),
      stateful_sets_(informers.For<api::apps::v1::StatefulSet>()) {}

void WorkloadSelectors::ServiceChanged(const sdk::Change& change) {
  api::core::v1::Service service((change.current ? change.current : change.previous)->root());
  std::string ns(service.metadata().namespace_()), name(service.metadata().name());
  if (!change.current || service.spec().selector().empty()) {
    auto at = by_namespace_.find(ns);
    if (at == by_namespace_.end()) return;
    at->second.erase(name);
    if (at->second.empty()) by_namespace_.erase(at);
    return;
  }
  Labels labels;
  for (const auto& [key, value] : service.spec().selector()) labels.emplace_back(key, value);
  by_namespace_[ns][name] = std::move(labels);
}

void WorkloadSelectors::AddController(const PodInfo& pod, std::vector<LabelRequirement>& requirements) const {
  object::Value owner = sdk::meta::ControllerOf(pod.document->root());
  if (!owner) return;
  std::string_view kind = owner.Get("kind").AsString(), version = owner.Get("apiVersion").AsString();
  std::string key = pod.ns + "/" + std::string(owner.Get("name").AsString());
  if (kind == "ReplicationController" && version == "v1") {
    object::DocumentPtr found = replication_controllers_.Get(key);
    if (!found) return;
    for (const auto& [label, value] : api::core::v1::ReplicationController(found->root()).spec().selector()) {
      Require(requirements, {std::string(label), SelectorOperator::kEquals, {std::string(value)}});
    }
    return;
  }
  if (version != "apps/v1") return;
  object::Value selector;
  object::DocumentPtr found;
  if (kind == "ReplicaSet" && (found = replica_sets_.Get(key))) {
    selector = api::apps::v1::ReplicaSet(found->root()).spec().selector().Raw();
  } else if (kind == "StatefulSet" && (found = stateful_sets_.Get(key))) {
    selector = api::apps::v1::StatefulSet(found->root()).spec().selector().Raw();
  }
  auto parsed = LabelSelector::FromLabelSelector(selector);
  if (!parsed || parsed->IsNothing()) return;
  for (const LabelRequirement& requirement : parsed->requirements()) Require(requirements, requirement);
}

std::optional<LabelSelector> WorkloadSelectors::SelectorOf(const PodInfo& pod) const {
  std::vector<LabelRequirement> requirements;
  if (auto services = by_namespace_.find(pod.ns); services != by_namespace_.end()) {
    for (const auto& [name, labels] : services->second) {
      auto has = [&](const auto& label) {
        object::Value value = pod.labels.Get(label.first);
        return value && value.AsString() == label.second;
      };
      if (!std::ranges::all_of(labels, has)) continue;
      for (const auto& [key, value] : labels) Require(requirements, {key, SelectorOperator::kEquals, {value}});
    }
  }
  AddController(pod, requirements);
  if (requirements.empty()) return std::nullopt;
  return LabelSelector::FromRequirements(std::move(requirements));
}

}  // namespace homeostat::scheduler
