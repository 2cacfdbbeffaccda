#include "controllers/stateful_claims.h"

#include <algorithm>

#include "controllers/claims.h"
#include "controllers/stateful_plan.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::apps::v1::StatefulSet;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::PersistentVolumeClaimBuilder;
using api::core::v1::Pod;
using object::Value;

namespace {

struct Policy {
  bool delete_when_scaled = false, delete_when_deleted = false;
  bool retains_all() const { return !delete_when_scaled && !delete_when_deleted; }
};
Policy PolicyOf(const StatefulSet& set) {
  auto policy = set.spec().persistent_volume_claim_retention_policy();
  return {policy.when_scaled() == "Delete", policy.when_deleted() == "Delete"};
}

// Names that object, in whatever life of its name.
template <class Reference>
bool Names(const Reference& reference, const schema::Kind& kind, const Value& object) {
  return reference.api_version() == kind.gvk.ApiVersion() && reference.kind() == kind.gvk.kind && reference.name() == sdk::meta::Name(object);
}
bool NamesEarlier(const PersistentVolumeClaim& claim, const schema::Kind& kind, const Value& object) {
  auto references = claim.metadata().owner_references();
  auto found = std::ranges::find_if(references, [&](auto reference) { return Names(reference, kind, object); });
  return found != references.end() && (*found).uid() != sdk::meta::Uid(object);
}
bool IsOwnedBy(const PersistentVolumeClaim& claim, const Value& object) {
  return std::ranges::any_of(claim.metadata().owner_references(), [&](auto reference) { return reference.uid() == sdk::meta::Uid(object); });
}

bool IsBeyondSize(const StatefulSet& set, const Pod& pod) {
  int32_t ordinal = ParseStatefulName(pod.metadata().name()).ordinal, first = set.spec().ordinals().start();
  return ordinal < first || ordinal >= first + StatefulReplicas(set);
}

bool IsRight(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod) {
  // The garbage collector has to deal with those first.
  if (NamesEarlier(claim, StatefulSet::SchemaKind(), set.Raw()) || NamesEarlier(claim, Pod::SchemaKind(), pod.Raw())) return true;
  bool of_set = IsOwnedBy(claim, set.Raw()), of_pod = IsOwnedBy(claim, pod.Raw());
  if (HasOtherController(claim, set, pod)) return !of_set && !of_pod;
  bool loose = std::ranges::any_of(claim.metadata().owner_references(), [&](auto reference) {
    return (reference.uid() == set.metadata().uid() || reference.uid() == pod.metadata().uid()) && !reference.controller();
  });
  if (loose) return false;
  Policy policy = PolicyOf(set);
  bool scaled_down = policy.delete_when_scaled && IsBeyondSize(set, pod);
  return of_pod == scaled_down && of_set == (policy.delete_when_deleted && !scaled_down);
}

}  // namespace

bool HasOtherController(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod) {
  if (PolicyOf(set).retains_all()) return false;
  for (auto reference : claim.metadata().owner_references()) {
    bool of_set = Names(reference, StatefulSet::SchemaKind(), set.Raw()), of_pod = Names(reference, Pod::SchemaKind(), pod.Raw());
    if (of_set || of_pod) {
      if (reference.uid() != (of_set ? set.metadata().uid() : pod.metadata().uid())) return true;
    } else if (reference.controller()) {
      return true;
    }
  }
  return false;
}

bool IsClaimOfEarlierPod(const PersistentVolumeClaim& claim, const StatefulSet& set, const Pod& pod) {
  return PolicyOf(set).delete_when_scaled && NamesEarlier(claim, Pod::SchemaKind(), pod.Raw());
}

object::DocumentPtr ClaimWithOwners(const object::DocumentPtr& document, const StatefulSet& set, const Pod& pod) {
  PersistentVolumeClaim claim(document->root());
  if (IsRight(claim, set, pod)) return document;
  PersistentVolumeClaimBuilder next{schema::Subtree(document)};
  auto metadata = next.mutable_metadata();
  metadata.clear_owner_references();
  for (auto reference : claim.metadata().owner_references()) {
    bool ours = Names(reference, StatefulSet::SchemaKind(), set.Raw()) || Names(reference, Pod::SchemaKind(), pod.Raw());
    if (!ours) metadata.add_owner_references(schema::Subtree(reference));
  }
  Policy policy = PolicyOf(set);
  bool scaled_down = policy.delete_when_scaled && IsBeyondSize(set, pod);
  if (HasOtherController(claim, set, pod)) return next.Freeze();
  if (scaled_down) {
    AddControllerReference(metadata, Pod::SchemaKind(), pod.Raw());
  } else if (policy.delete_when_deleted) {
    AddControllerReference(metadata, StatefulSet::SchemaKind(), set.Raw());
  }
  return next.Freeze();
}

}  // namespace homeostat::controllers
