// PersistentVolumeClaim: how it is prepared, checked and shown.
// Source of the rules: pkg/registry/core/persistentvolumeclaim, ValidatePersistentVolumeClaimUpdate of pkg/apis/core/validation.
#include "homeostat/api/core/v1.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/storage_cells.h"
#include "kinds/core/volumes.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;
using object::Quantity;

bool IsKnownSource(const Value& source) {
  std::string_view group = source.Get("apiGroup").AsString(), kind = source.Get("kind").AsString();
  return (kind == "PersistentVolumeClaim" && group.empty()) || (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

Value CopyReference(Arena& arena, const schema::Type& type, const Value& from) {
  return Edited(arena, type, Value(), [&](Edit& edit) {
    for (std::string_view field : {"apiGroup", "kind", "name"}) edit.Set(field, from.Get(field));
  });
}

// Two fields for one source: the old one takes what old clients know, and each follows the other.
Value SettleSources(Arena& arena, const Value& claim, bool old_had_source) {
  return Edited(arena, types::kPersistentVolumeClaim, claim, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) {
      if (!old_had_source && !spec.Get("dataSourceRef") && spec.Get("dataSource") && !IsKnownSource(spec.Get("dataSource"))) spec.Erase("dataSource");
      Value source = spec.Get("dataSource"), reference = spec.Get("dataSourceRef");
      if (source && !reference) {
        spec.Set("dataSourceRef", CopyReference(arena, types::kTypedObjectReference, source));
      } else if (reference && !source && reference.Get("namespace").AsString().empty()) {
        spec.Set("dataSource", CopyReference(arena, types::kTypedLocalObjectReference, reference));
      }
    });
  });
}

Value PrepareCreate(RuleContext& context, Value claim) {
  return Edited(context.arena, types::kPersistentVolumeClaim, SettleSources(context.arena, claim, false), [](Edit& edit) {
    edit.Erase("status");
    edit.In("status", [](Edit& status) { status.Set("phase", Value::StringRef("Pending")); });
  });
}

Value PrepareUpdate(RuleContext& context, Value claim, Value old) {
  if (!context.subresource.empty()) return claim;
  Value spec = old.Get("spec");
  return SettleSources(context.arena, claim, spec.Get("dataSource") || spec.Get("dataSourceRef"));
}

ClaimRules RulesFor(const Value& old) {
  Value spec = old.Get("spec");
  return {.allow_invalid_selector_values = HasInvalidLabelValue(spec.Get("selector")),
          .allow_invalid_data_source_group = spec.Get("dataSource").Get("apiGroup") || spec.Get("dataSourceRef").Get("apiGroup")};
}

void ValidateCreate(RuleContext&, Value claim, FieldErrors& errors) { CheckClaimSpec(claim.Get("spec"), FieldPath("spec"), errors); }

Quantity Storage(const Value& amounts) { return Quantity::Parse(amounts.Get("storage").AsString("0")).value_or(Quantity()); }

// The new spec with everything that may have changed as it was.
Value Neutralized(RuleContext& context, const Value& claim, const Value& old) {
  Value old_spec = old.Get("spec"), name = claim.Get("spec").Get("storageClassName");
  Value annotation = old.Path({"metadata", "annotations", kStorageClassAnnotation});
  bool bound = claim.Get("status").Get("phase").AsString() == "Bound";
  return Edited(context.arena, types::kPersistentVolumeClaimSpec, claim.Get("spec"), [&](Edit& spec) {
    if (old_spec.Get("volumeName").AsString().empty()) spec.Erase("volumeName");
    // A class may be given once, and must be the one that the annotation named.
    bool given = name && !old_spec.Get("storageClassName") && (!annotation || annotation.AsString() == name.AsString());
    if (given) spec.Erase("storageClassName");
    if (!bound) return;
    if (spec.Get("resources").Get("requests")) {
      spec.In("resources", [&](Edit& resources) { resources.SetEntry("requests", "storage", old_spec.Get("resources").Get("requests").Get("storage")); });
    }
    spec.Set("volumeAttributesClassName", old_spec.Get("volumeAttributesClassName"));
  });
}

void CheckClassAnnotation(const Value& claim, const Value& old, FieldErrors& errors) {
  Value now = claim.Path({"metadata", "annotations", kStorageClassAnnotation});
  Value before = old.Path({"metadata", "annotations", kStorageClassAnnotation});
  Value name = claim.Get("spec").Get("storageClassName");
  bool moved_to_field = before && !old.Get("spec").Get("storageClassName") && name && name.AsString() == before.AsString() &&
                        (!now || now.AsString() == before.AsString());
  if (moved_to_field || now.AsString() == before.AsString()) return;
  FieldPath metadata("metadata");
  errors.Invalid(metadata.Child("annotations", kStorageClassAnnotation), now.AsString(), kImmutable);
}

void CheckAttributesClass(const Value& claim, const Value& old, FieldErrors& errors) {
  Value now = claim.Get("spec").Get("volumeAttributesClassName"), before = old.Get("spec").Get("volumeAttributesClassName");
  if (object::Equal(now, before) || !old.Get("status").Get("currentVolumeAttributesClassName")) return;
  FieldPath spec("spec");
  FieldPath path = spec.Child("volumeAttributesClassName");
  if (!now) errors.Forbidden(path, "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil");
  else if (now.AsString().empty()) errors.Forbidden(path, "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil");
}

void CheckUpdate(RuleContext& context, const Value& claim, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  Value old_spec = old.Get("spec");
  CheckClaimSpec(claim.Get("spec"), path, errors, RulesFor(old));
  CheckClassAnnotation(claim, old, errors);
  Value rest = Neutralized(context, claim, old);
  Value before = SettleSources(context.arena, old, true).Get("spec");
  if (!schema::IsEqual(types::kPersistentVolumeClaimSpec, rest, before)) {
    errors.Forbidden(path, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n" +
                               InternalDiff(types::kPersistentVolumeClaimSpec, before, rest, {.came_empty = errors.empty_fields(), .path = "spec"}));
  }
  Quantity size = Storage(claim.Get("spec").Get("resources").Get("requests"));
  if (size < Storage(old_spec.Get("resources").Get("requests")) && size <= Storage(old.Get("status").Get("capacity"))) {
    errors.Forbidden(path.Child("resources", "requests", "storage"), "field can not be less than status.capacity");
  }
  Value mode = claim.Get("spec").Get("volumeMode");
  if (mode.AsString() != old_spec.Get("volumeMode").AsString()) errors.Immutable(FieldPath("volumeMode"), mode);
  CheckAttributesClass(claim, old, errors);
}

bool CheckResourceKey(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  size_t before = errors.size();
  CheckQualifiedName(name, path, errors);
  if (errors.size() == before && IsNativeResource(name) && name != "storage") errors.NotSupported(path, name, {"storage"});
  return errors.size() == before;
}

void CheckStatus(const Value& claim, FieldErrors& errors) {
  Value status = claim.Get("status");
  FieldPath path("status");
  if (claim.Get("spec").Get("accessModes").empty()) errors.Required(FieldPath("Spec").Child("accessModes"));
  for (const object::Member& entry : status.Get("capacity").members()) {
    CheckBasicQuantity(entry.value.AsString(), path.Child("capacity").Key(entry.name()), errors);
  }
  FieldPath resize = path.Child("allocatedResourceStatuses"), allocated = path.Child("allocatedResources");
  for (const object::Member& entry : status.Get("allocatedResourceStatuses").members()) {
    CheckResourceKey(entry.name(), resize, errors);
    static constexpr std::string_view kStatuses[] = {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
                                                     "NodeResizeInfeasible", "NodeResizePending"};
    if (IsOneOf(entry.value.AsString(), kStatuses)) continue;
    errors.NotSupported(resize, entry.name(), {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
                                               "NodeResizeInfeasible", "NodeResizePending"});
  }
  for (const object::Member& entry : status.Get("allocatedResources").members()) {
    if (!CheckResourceKey(entry.name(), allocated, errors)) continue;
    size_t before = errors.size();
    CheckBasicQuantity(entry.value.AsString(), allocated.Key(entry.name()), errors);
    if (errors.size() == before) CheckResourceQuantity("storage", entry.value.AsString(), allocated.Key(entry.name()), errors);
  }
}

void ValidateUpdate(RuleContext& context, Value claim, Value old, FieldErrors& errors) {
  if (context.subresource == "status") CheckStatus(claim, errors);
  else CheckUpdate(context, claim, old, errors);
}

void Warn(RuleContext& context, Value claim, Value) {
  if (context.warnings == nullptr || !context.subresource.empty()) return;
  if (claim.Path({"metadata", "annotations", kStorageClassAnnotation})) {
    context.warnings->push_back("metadata.annotations[" + std::string(kStorageClassAnnotation) +
                                "]: deprecated since v1.8; use \"storageClassName\" attribute instead");
  }
  WarnOfClaimSpec(claim.Get("spec"), FieldPath("spec"), *context.warnings);
}

Value Cell(object::Arena& arena, std::string_view cell, Value claim, WallTime) {
  Value status = claim.Get("status");
  bool bound = !claim.Get("spec").Get("volumeName").AsString().empty();
  if (cell == "storageclass") return TextCell(arena, StorageClassOf(claim));
  if (cell == "status") {
    return claim.Get("metadata").Get("deletionTimestamp") ? Value::StringRef("Terminating") : TextCell(arena, status.Get("phase").AsString());
  }
  if (!bound) return Value::StringRef("");
  if (cell == "capacity") return TextCell(arena, status.Get("capacity").Get("storage").AsString("0"));
  return TextCell(arena, AccessModesText(status.Get("accessModes")));
}

}  // namespace

const Behaviour kPersistentVolumeClaimBehaviour = {
    .group = "",
    .kind = "PersistentVolumeClaim",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = Cell,
};

}  // namespace homeostat::kinds
