#include "scheduler/volume_table.h"

#include <algorithm>

#include "homeostat/api/storage/v1.h"
#include "homeostat/object/quantity.h"

namespace homeostat::scheduler {
namespace {

constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

int64_t Storage(const schema::MapView<std::string_view>& list) {
  auto quantity = object::Quantity::Parse(list.Get("storage"));
  return quantity ? quantity->Value() : 0;
}

std::vector<std::string> Texts(const schema::ListView<std::string_view>& list) {
  std::vector<std::string> texts;
  for (std::string_view text : list) texts.emplace_back(text);
  return texts;
}

std::string Mode(std::string_view mode) { return std::string(mode.empty() ? "Filesystem" : mode); }

}  // namespace

void VolumeTable::SetClaim(object::DocumentPtr document) {
  api::core::v1::PersistentVolumeClaim from(document->root());
  Claim claim;
  claim.key = std::string(from.metadata().namespace_()) + "/" + std::string(from.metadata().name());
  claim.uid = from.metadata().uid();
  claim.storage_class = from.spec().storage_class_name();
  if (auto annotation = from.metadata().annotations().Get(kClassAnnotation); !annotation.empty())
    claim.storage_class = annotation;
  claim.volume = from.spec().volume_name();
  claim.phase = from.status().phase();
  claim.selected_node = from.metadata().annotations().Get(kSelectedNode);
  claim.access_modes = Texts(from.spec().access_modes());
  claim.bytes = Storage(from.spec().resources().requests());
  claim.bound = !claim.volume.empty() && from.metadata().annotations().contains(kBindCompleted);
  claim.terminating = !from.metadata().deletion_timestamp().empty();
  claim.volume_mode = Mode(from.spec().volume_mode());
  if (from.spec().has_selector()) {
    auto selector = object::LabelSelector::FromLabelSelector(from.spec().selector().Raw());
    claim.selector = selector ? *std::move(selector) : object::LabelSelector::Nothing();
  }
  claims_[claim.key] = std::move(claim);
}

void VolumeTable::SetVolume(object::DocumentPtr document) {
  api::core::v1::PersistentVolume from(document->root());
  Volume volume;
  volume.name = from.metadata().name();
  volume.storage_class = from.spec().storage_class_name();
  if (auto claim = from.spec().claim_ref()) {
    volume.claim_key = std::string(claim.namespace_()) + "/" + std::string(claim.name());
    volume.claim_uid = claim.uid();
  }
  volume.phase = from.status().phase();
  volume.volume_mode = Mode(from.spec().volume_mode());
  volume.access_modes = Texts(from.spec().access_modes());
  volume.bytes = Storage(from.spec().capacity());
  if (auto required = from.spec().node_affinity().required()) volume.node_affinity.emplace(required);
  volume.labels = from.metadata().labels().Raw();
  volume.document = std::move(document);
  std::string name = volume.name;
  volumes_[name] = std::move(volume);
}

void VolumeTable::SetClass(object::DocumentPtr document) {
  api::storage::v1::StorageClass from(document->root());
  StorageClass storage_class;
  storage_class.waits_for_consumer = from.volume_binding_mode() == "WaitForFirstConsumer";
  storage_class.provisions = from.provisioner() != "kubernetes.io/no-provisioner";
  for (auto term : from.allowed_topologies()) {
    auto& expressions = storage_class.topologies.emplace_back();
    for (auto expression : term.match_label_expressions()) {
      expressions.emplace_back(std::string(expression.key()), Texts(expression.values()));
    }
  }
  classes_[std::string(from.metadata().name())] = std::move(storage_class);
}

const Claim* VolumeTable::FindClaim(const std::string& key) const {
  auto at = claims_.find(key);
  return at == claims_.end() ? nullptr : &at->second;
}

VolumeNeeds VolumeTable::NeedsOf(const PodInfo& pod, const NodeTable& table) const {
  VolumeNeeds needs;
  bool immediate = false;
  for (const ClaimReference& reference : pod.claims) {
    std::string quoted = "\"" + reference.name + "\"";
    const Claim* claim = FindClaim(pod.ns + "/" + reference.name);
    if (claim == nullptr) {
      needs.refusal = reference.ephemeral
                          ? "waiting for ephemeral volume controller to create the persistentvolumeclaim " + quoted
                          : "persistentvolumeclaim " + quoted + " not found";
      return needs;
    }
    if (claim->phase == "Lost") {
      needs.refusal =
          "persistentvolumeclaim " + quoted + " bound to non-existent persistentvolume \"" + claim->volume + "\"";
      return needs;
    }
    if (claim->terminating) {
      needs.refusal = "persistentvolumeclaim " + quoted + " is being deleted";
      return needs;
    }
    bool exclusive = std::ranges::find(claim->access_modes, "ReadWriteOncePod") != claim->access_modes.end();
    if (exclusive && table.ClaimUsers(claim->key) > 0) needs.claim_in_use = true;
    if (claim->bound) {
      auto volume = volumes_.find(claim->volume);
      if (volume == volumes_.end()) {
        needs.missing_volume = true;
      } else {
        needs.bound.push_back(&volume->second);
      }
      continue;
    }
    auto storage_class = classes_.find(claim->storage_class);
    bool waits = storage_class != classes_.end() && storage_class->second.waits_for_consumer && claim->volume.empty();
    if (waits) {
      needs.waiting.push_back(claim);
    } else {
      immediate = true;
    }
  }
  if (immediate) needs.refusal = "pod has unbound immediate PersistentVolumeClaims";
  return needs;
}

const Volume* VolumeTable::MatchVolume(const Claim& claim, const NodeInfo& node, const VolumePlan& taken) const {
  const Volume* best = nullptr;
  for (const auto& [name, volume] : volumes_) {
    bool reserved = volume.claim_key == claim.key && (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
    if (!reserved && (!volume.claim_key.empty() || volume.phase != "Available")) continue;
    if (volume.storage_class != claim.storage_class || volume.volume_mode != claim.volume_mode ||
        volume.bytes < claim.bytes)
      continue;
    if (claim.selector && !claim.selector->Matches(volume.labels)) continue;
    auto offered = [&](const std::string& mode) {
      return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
    };
    if (!std::ranges::all_of(claim.access_modes, offered)) continue;
    if (volume.node_affinity && !volume.node_affinity->Matches(node.name, node.labels)) continue;
    if (std::ranges::any_of(taken.bindings, [&](const auto& binding) { return binding.volume == name; })) continue;
    if (reserved) return &volume;
    // The smallest that is large enough; of equals the first by name, so that the choice is the same each time.
    if (best == nullptr || std::pair(volume.bytes, volume.name) < std::pair(best->bytes, best->name)) best = &volume;
  }
  return best;
}

std::optional<VolumePlan> VolumeTable::Plan(const VolumeNeeds& needs, const NodeInfo& node) const {
  VolumePlan plan;
  for (const Claim* claim : needs.waiting) {
    // A provisioner is at work already: only its node will do.
    if (!claim->selected_node.empty() && claim->selected_node != node.name) return std::nullopt;
    if (const Volume* volume = MatchVolume(*claim, node, plan)) {
      plan.bindings.push_back({claim->key, volume->name});
      continue;
    }
    const StorageClass& storage_class = classes_.at(claim->storage_class);
    if (!storage_class.provisions) return std::nullopt;
    auto fits = [&](const auto& term) {
      return std::ranges::all_of(term, [&](const auto& expression) {
        return std::ranges::find(expression.second, node.labels.Get(expression.first).AsString()) !=
               expression.second.end();
      });
    };
    if (!storage_class.topologies.empty() && std::ranges::none_of(storage_class.topologies, fits)) return std::nullopt;
    plan.provisions.push_back(claim->key);
  }
  return plan;
}

}  // namespace homeostat::scheduler
