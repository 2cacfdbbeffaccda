#include "kinds/gates.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

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

// What of a type is of interest here: the part of its fields that are off, or that there are such fields below.
struct Affected {
  std::vector<bool> off;                // by field
  std::vector<const Affected*> fields;  // by field; null: nothing below
  const Affected* element = nullptr;
  bool whole = false;  // has a field of kTakesItsStruct, and it is off
};

// Of the built-in types; those not here are left alone. Made once.
class AffectedTypes {
 public:
  AffectedTypes() {
    for (const schema::Kind* kind : api::AllKinds()) Visit(*kind->type);
  }
  static const Affected* Find(const Type& type) {
    static const AffectedTypes all;
    auto found = all.types_.find(&type);
    return found == all.types_.end() ? nullptr : found->second.get();
  }

 private:
  // Types that contain themselves are cut off at the second meeting; none of them has such fields.
  const Affected* Visit(const Type& type) {
    auto [entry, is_new] = types_.try_emplace(&type);
    if (!is_new) return entry->second.get();
    Affected affected{std::vector<bool>(type.fields.size()), std::vector<const Affected*>(type.fields.size())};
    if (type.element != nullptr) affected.element = Visit(*type.element);
    bool any = affected.element != nullptr;
    for (size_t i = 0; i < type.fields.size(); ++i) {
      const Field& field = type.fields[i];
      affected.off[i] = IsOff(field);
      affected.whole = affected.whole || (affected.off[i] && field.feature_gate == kTakesItsStruct);
      if (field.type != nullptr) affected.fields[i] = Visit(*field.type);
      any = any || affected.off[i] || affected.fields[i] != nullptr;
    }
    if (!any) return nullptr;
    std::unique_ptr<const Affected>& made = types_[&type];
    made = std::make_unique<const Affected>(std::move(affected));
    return made.get();
  }
  std::unordered_map<const Type*, std::unique_ptr<const Affected>> types_;
};

using Gates = std::unordered_set<std::string_view>;

// The field that a member of a struct is; negative if it is none.
int FieldIndexOf(const Type& type, const object::Member& member) {
  return member.field < type.fields.size() ? member.field : type.FieldIndex(member.name());
}

void FindUsed(const Affected* affected, const Type& type, const Value& value, Gates& used) {
  if (!value || affected == nullptr) return;
  for (const Value& item : value.items()) FindUsed(affected->element, *type.element, item, used);
  if (type.form == Form::kMap) {
    for (const object::Member& member : value.members()) FindUsed(affected->element, *type.element, member.value, used);
  }
  if (type.form != Form::kStruct) return;
  // Where the struct goes as a whole, to have one is to use the feature.
  if (affected->whole) used.insert(kTakesItsStruct);
  for (const object::Member& member : value.members()) {
    int index = FieldIndexOf(type, member);
    if (index < 0 || !member.value) continue;
    const Field& field = type.fields[static_cast<size_t>(index)];
    if (affected->off[static_cast<size_t>(index)]) used.insert(field.feature_gate);
    FindUsed(affected->fields[static_cast<size_t>(index)], *field.type, member.value, used);
  }
}

class Dropper {
 public:
  Dropper(Arena& arena, Gates used) : arena_(arena), used_(std::move(used)) {}

  Value Run(const Affected* affected, const Type& type, const Value& value) {
    if (!value || affected == nullptr) return value;
    if (type.form == Form::kList) return List(affected->element, type, value);
    if (type.form == Form::kMap) return Map(affected->element, type, value);
    return Struct(*affected, type, value);
  }

 private:
  static bool Same(const Value& a, const Value& b) {
    if (a.IsList()) return a.items().data() == b.items().data();
    return !a.IsObject() || a.members().data() == b.members().data();
  }
  bool IsUsed(const Field& field) const { return used_.contains(field.feature_gate); }
  bool TakesWhole(const Affected* affected, const Type& type, const Value& value) const {
    return affected != nullptr && affected->whole && std::ranges::any_of(type.fields, [&](const Field& field) {
      return field.feature_gate == kTakesItsStruct && !IsUsed(field) && !value.Get(field.name).AsString().empty();
    });
  }
  Value Struct(const Affected& affected, const Type& type, const Value& value) {
    std::optional<Edit> edit;
    for (const object::Member& member : value.members()) {
      int index = FieldIndexOf(type, member);
      if (index < 0 || !member.value) continue;
      auto at = static_cast<size_t>(index);
      const Affected* below = affected.fields[at];
      if (!affected.off[at] && below == nullptr) continue;
      const Field& field = type.fields[at];
      Value kept;
      if ((!affected.off[at] || IsUsed(field)) && !TakesWhole(below, *field.type, member.value)) {
        kept = Run(below, *field.type, member.value);
        if (Same(kept, member.value)) continue;
        if (kept.IsObject() && kept.empty() && field.Has(schema::kPointer)) kept = Value();
      }
      if (!edit) edit.emplace(arena_, type, value);
      edit->Set(field.name, kept);
    }
    return edit ? edit->Build() : value;
  }
  Value List(const Affected* element, const Type& type, const Value& value) {
    object::ListBuilder items(arena_);
    bool changed = false;
    for (const Value& item : value.items()) {
      items.Append(Run(element, *type.element, item));
      changed = changed || !Same(items.items().back(), item);
    }
    return changed ? items.Build() : value;
  }
  Value Map(const Affected* element, const Type& type, Value value) {
    for (const object::Member& member : value.members()) {
      Value kept = Run(element, *type.element, member.value);
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
  const Affected* affected = AffectedTypes::Find(type);
  if (affected == nullptr) return object;
  Gates used;
  FindUsed(affected, type, old, used);
  return Dropper(arena, std::move(used)).Run(affected, type, object);
}

}  // namespace homeostat::kinds
