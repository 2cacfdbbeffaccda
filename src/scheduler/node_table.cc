#include "scheduler/node_table.h"

#include <algorithm>

#include "homeostat/object/quantity.h"

namespace homeostat::scheduler {
namespace {

// Counts kept at a time; the one unused for longest goes first.
constexpr size_t kMaxTracked = 256;

int64_t AllowedPods(const api::core::v1::Node& node) {
  auto quantity = object::Quantity::Parse(node.status().allocatable().Get("pods"));
  return quantity ? quantity->Value() : 0;
}

bool Erase(std::vector<PodInfoPtr>& pods, std::string_view uid, PodInfoPtr* erased = nullptr) {
  auto at = std::ranges::find_if(pods, [&](const PodInfoPtr& pod) { return pod->uid == uid; });
  if (at == pods.end()) return false;
  if (erased != nullptr) *erased = *at;
  pods.erase(at);
  return true;
}

}  // namespace

size_t NodeTable::Find(std::string_view node) const {
  auto at = by_name_.find(std::string(node));
  return at == by_name_.end() ? kNone : at->second;
}

size_t NodeTable::SlotFor(std::string_view name) {
  if (size_t slot = Find(name); slot != kNone) return slot;
  size_t slot = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
    for (auto& [key, tracked] : tracked_) tracked.counts.push_back(0);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot].name = name;
  by_name_.emplace(std::string(name), slot);
  topologies_.clear();
  return slot;
}

// Gives up a slot that neither a node nor a pod needs.
void NodeTable::Release(size_t slot) {
  if (slots_[slot].present || !slots_[slot].pods.empty()) return;
  by_name_.erase(slots_[slot].name);
  slots_[slot] = NodeInfo();
  free_.push_back(slot);
}

void NodeTable::SetNode(object::DocumentPtr document) {
  api::core::v1::Node node(document->root());
  NodeInfo& info = slots_[SlotFor(node.metadata().name())];
  if (!info.present) ++present_;
  object::Value labels = node.metadata().labels().Raw();
  if (!info.present || !object::Equal(info.labels, labels)) topologies_.clear();
  info.present = true;
  info.labels = labels;
  info.unschedulable = node.spec().unschedulable();
  info.taints.clear();
  for (auto taint : node.spec().taints()) {
    info.taints.push_back({std::string(taint.key()), std::string(taint.value()), std::string(taint.effect())});
  }
  info.allocatable = ParseResources(node.status().allocatable());
  info.allowed_pods = AllowedPods(node);
  for (const auto& [name, bytes] : info.images) --image_nodes_[name];
  info.images.clear();
  for (auto image : node.status().images()) {
    for (std::string_view name : image.names()) {
      if (info.images.emplace(std::string(name), image.size_bytes()).second) ++image_nodes_[std::string(name)];
    }
  }
  info.document = std::move(document);
}

void NodeTable::RemoveNode(std::string_view name) {
  size_t slot = Find(name);
  if (slot == kNone || !slots_[slot].present) return;
  NodeInfo& info = slots_[slot];
  for (const auto& [image, bytes] : info.images) {
    if (--image_nodes_[image] == 0) image_nodes_.erase(image);
  }
  info.present = false;
  info.images.clear();
  info.labels = object::Value();
  info.document.reset();
  --present_;
  topologies_.clear();
  Release(slot);
}

void NodeTable::AddPod(PodInfoPtr pod, std::string_view node) {
  RemovePod(pod->uid);
  size_t slot = SlotFor(node);
  NodeInfo& info = slots_[slot];
  pod_slot_.emplace(pod->uid, slot);
  info.requested.Add(pod->requests.exact);
  info.requested_non_zero.Add(pod->requests.non_zero);
  info.used_ports.insert(info.used_ports.end(), pod->ports.begin(), pod->ports.end());
  CountPod(*pod, slot, 1);
  if (!pod->anti_affinity.empty()) anti_affinity_pods_[pod->uid] = {pod, slot};
  if (pod->HasAffinityTerms()) affinity_pods_[pod->uid] = {pod, slot};
  for (const ClaimReference& claim : pod->claims) ++claim_users_[pod->ns + "/" + claim.name];
  info.pods.push_back(std::move(pod));
}

void NodeTable::RemovePod(std::string_view uid) {
  auto at = pod_slot_.find(std::string(uid));
  if (at == pod_slot_.end()) return;
  size_t slot = at->second;
  pod_slot_.erase(at);
  NodeInfo& info = slots_[slot];
  PodInfoPtr pod;
  if (!Erase(info.pods, uid, &pod)) return;
  info.requested.Subtract(pod->requests.exact);
  info.requested_non_zero.Subtract(pod->requests.non_zero);
  if (!pod->ports.empty()) {
    info.used_ports.clear();
    for (const PodInfoPtr& other : info.pods) {
      info.used_ports.insert(info.used_ports.end(), other->ports.begin(), other->ports.end());
    }
  }
  CountPod(*pod, slot, -1);
  if (!pod->anti_affinity.empty()) anti_affinity_pods_.erase(pod->uid);
  if (pod->HasAffinityTerms()) affinity_pods_.erase(pod->uid);
  for (const ClaimReference& claim : pod->claims) {
    auto users = claim_users_.find(pod->ns + "/" + claim.name);
    if (--users->second == 0) claim_users_.erase(users);
  }
  Release(slot);
}

std::string_view NodeTable::NodeOf(std::string_view uid) const {
  auto at = pod_slot_.find(std::string(uid));
  return at == pod_slot_.end() ? std::string_view() : std::string_view(slots_[at->second].name);
}

void NodeTable::SetNamespace(std::string name, object::DocumentPtr object) {
  object::DocumentPtr& known = namespaces_[std::move(name)];
  auto labels = [](const object::DocumentPtr& ns) {
    return api::core::v1::Namespace(ns->root()).metadata().labels().Raw();
  };
  if (!known || !object::Equal(labels(known), labels(object))) tracked_.clear();
  known = std::move(object);
}

void NodeTable::RemoveNamespace(std::string_view name) {
  if (namespaces_.erase(std::string(name)) > 0) tracked_.clear();
}

void NodeTable::Nominate(PodInfoPtr pod, std::string_view node) {
  Withdraw(pod->uid);
  nominated_node_[pod->uid] = node;
  nominated_[std::string(node)].push_back(std::move(pod));
}

void NodeTable::Withdraw(std::string_view uid) {
  auto at = nominated_node_.find(std::string(uid));
  if (at == nominated_node_.end()) return;
  auto pods = nominated_.find(at->second);
  if (pods != nominated_.end()) {
    Erase(pods->second, uid);
    if (pods->second.empty()) nominated_.erase(pods);
  }
  nominated_node_.erase(at);
}

const std::vector<PodInfoPtr>& NodeTable::NominatedTo(std::string_view node) const {
  static const std::vector<PodInfoPtr> none;
  if (nominated_.empty()) return none;
  auto at = nominated_.find(std::string(node));
  return at == nominated_.end() ? none : at->second;
}

bool NodeTable::Matches(const PodMatcher& matcher, const PodInfo& pod) const {
  if (!matcher.count_terminating && pod.terminating) return false;
  for (const PodMatcher::Part& part : matcher.parts) {
    bool in_namespace = std::ranges::find(part.namespaces, pod.ns) != part.namespaces.end();
    if (!in_namespace && part.namespace_selector) {
      auto ns = namespaces_.find(pod.ns);
      object::Value labels;
      if (ns != namespaces_.end()) labels = api::core::v1::Namespace(ns->second->root()).metadata().labels().Raw();
      in_namespace = part.namespace_selector->Matches(labels);
    }
    if (!in_namespace || !part.selector.Matches(pod.labels)) return false;
  }
  return true;
}

void NodeTable::CountPod(const PodInfo& pod, size_t slot, int32_t by) {
  for (auto& [key, tracked] : tracked_) {
    if (Matches(tracked.matcher, pod)) tracked.counts[slot] += by;
  }
}

void NodeTable::ForgetOldestCount() {
  auto oldest = std::ranges::min_element(tracked_, {}, [](const auto& entry) { return entry.second.used; });
  if (oldest != tracked_.end()) tracked_.erase(oldest);
}

const std::vector<int32_t>& NodeTable::Counts(const PodMatcher& matcher) {
  auto known = tracked_.find(matcher.key);
  if (known == tracked_.end()) {
    // Those found earlier in the same decision are the newest and stay.
    if (tracked_.size() >= kMaxTracked) ForgetOldestCount();
    Tracked tracked;
    tracked.matcher = matcher;
    tracked.counts.assign(slots_.size(), 0);
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      for (const PodInfoPtr& pod : slots_[slot].pods) tracked.counts[slot] += Matches(matcher, *pod);
    }
    known = tracked_.emplace(matcher.key, std::move(tracked)).first;
  }
  known->second.used = ++uses_;
  return known->second.counts;
}

const Topology& NodeTable::TopologyOf(const std::string& key) {
  auto [at, made] = topologies_.try_emplace(key);
  if (!made) return at->second;
  Topology& topology = at->second;
  topology.domain_of.assign(slots_.size(), -1);
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].present) continue;
    object::Value value = slots_[slot].labels.Get(key);
    if (!value) continue;
    auto [id, fresh] = ids.try_emplace(value.AsString(), topology.domains);
    if (fresh) ++topology.domains;
    topology.domain_of[slot] = id->second;
  }
  return topology;
}

size_t NodeTable::NodesWithImage(const std::string& image) const {
  auto at = image_nodes_.find(image);
  return at == image_nodes_.end() ? 0 : at->second;
}

size_t NodeTable::ClaimUsers(const std::string& claim) const {
  auto at = claim_users_.find(claim);
  return at == claim_users_.end() ? 0 : at->second;
}

}  // namespace homeostat::scheduler
