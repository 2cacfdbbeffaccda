#include "kinds/gates.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "homeostat/api/registry.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

using object::Value;
using schema::Field;
using schema::Form;
using schema::Type;

// Gates of fields; kube-apiserver's --help has them all.
constexpr std::string_view kOff[] = {
    "ClusterTrustBundleProjection", "ContainerStopSignals", "CoordinatedLeaderElection", "CrossNamespaceVolumeDataSource", "DRAListTypeAttributes",
    "DRANodeAllocatableResources", "DRAWorkloadResourceClaims", "GenericWorkload", "ImageVolumeWithDigest", "MaxUnavailableStatefulSet",
    "PodCertificateProjection", "TopologyAwareWorkloadScheduling", "VolumeLimitScaling", "WorkloadAwarePreemption",
};
// A reference to another namespace would mean something else without its namespace, so the reference goes as a whole.
constexpr std::string_view kTakesItsStruct = "CrossNamespaceVolumeDataSource";

bool IsOff(const Field& field) { return !field.feature_gate.empty() && !IsFeatureEnabled(field.feature_gate); }

// Built-in types below which there are such fields.
class Affected {
 public:
  Affected() {
    for (const schema::Kind* kind : api::AllKinds()) Visit(*kind->type);
  }
  bool Contains(const Type& type) const {
    auto found = affected_.find(&type);
    return found != affected_.end() && found->second;
  }

 private:
  // Types that contain themselves are cut off at the second meeting; none of them has such fields.
  bool Visit(const Type& type) {
    auto [entry, is_new] = affected_.emplace(&type, false);
    if (!is_new) return entry->second;
    bool found = type.element != nullptr && Visit(*type.element);
    for (const Field& field : type.fields) {
      if (IsOff(field)) found = true;
      if (field.type != nullptr && Visit(*field.type)) found = true;
    }
    return affected_[&type] = found;
  }
  std::unordered_map<const Type*, bool> affected_;
};

const Affected& AffectedTypes() {
  static const Affected affected;
  return affected;
}

using Gates = std::unordered_set<std::string_view>;

void FindUsed(const Type& type, const Value& value, Gates& used) {
  if (!value || !AffectedTypes().Contains(type)) return;
  for (const Value& item : value.items()) FindUsed(*type.element, item, used);
  if (type.form == Form::kMap) {
    for (const object::Member& member : value.members()) FindUsed(*type.element, member.value, used);
  }
  for (const Field& field : type.fields) {
    // Where the struct goes as a whole, to have one is to use the feature.
    if (field.feature_gate == kTakesItsStruct && IsOff(field)) used.insert(field.feature_gate);
    Value held = value.Get(field.name);
    if (!held) continue;
    if (IsOff(field)) used.insert(field.feature_gate);
    FindUsed(*field.type, held, used);
  }
}

class Dropper {
 public:
  Dropper(Arena& arena, Gates used) : arena_(arena), used_(std::move(used)) {}

  Value Run(const Type& type, const Value& value) {
    if (!value || !AffectedTypes().Contains(type)) return value;
    if (type.form == Form::kList) return List(type, value);
    if (type.form == Form::kMap) return Map(type, value);
    return Edited(arena_, type, value, [&](Edit& edit) {
      for (const Field& field : type.fields) {
        Value held = value.Get(field.name);
        if (!held) continue;
        if (IsDropped(field) || TakesWhole(*field.type, held)) {
          edit.Erase(field.name);
          continue;
        }
        Value kept = Run(*field.type, held);
        if (Same(kept, held)) continue;
        edit.Set(field.name, kept.IsObject() && kept.empty() && field.Has(schema::kPointer) ? Value() : kept);
      }
    });
  }

 private:
  static bool Same(const Value& a, const Value& b) {
    if (a.IsList()) return a.items().data() == b.items().data();
    return !a.IsObject() || a.members().data() == b.members().data();
  }
  bool IsDropped(const Field& field) const { return IsOff(field) && !used_.contains(field.feature_gate); }
  bool TakesWhole(const Type& type, const Value& value) const {
    return type.form == Form::kStruct && std::ranges::any_of(type.fields, [&](const Field& field) {
      return field.feature_gate == kTakesItsStruct && IsDropped(field) && !value.Get(field.name).AsString().empty();
    });
  }
  Value List(const Type& type, const Value& value) {
    object::ListBuilder items(arena_);
    bool changed = false;
    for (const Value& item : value.items()) {
      items.Append(Run(*type.element, item));
      changed = changed || !Same(items.items().back(), item);
    }
    return changed ? items.Build() : value;
  }
  Value Map(const Type& type, Value value) {
    for (const object::Member& member : value.members()) {
      Value kept = Run(*type.element, member.value);
      if (!Same(kept, member.value)) value = WithEntry(arena_, value, member.name(), kept);
    }
    return value;
  }

  Arena& arena_;
  Gates used_;
};

}  // namespace

bool IsFeatureEnabled(std::string_view gate) { return std::ranges::find(kOff, gate) == std::end(kOff); }

Value DropDisabledFields(Arena& arena, const Type& type, const Value& object, const Value& old) {
  if (!AffectedTypes().Contains(type)) return object;
  Gates used;
  FindUsed(type, old, used);
  return Dropper(arena, std::move(used)).Run(type, object);
}

}  // namespace homeostat::kinds
