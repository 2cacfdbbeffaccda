// PersistentVolume: how it is prepared, checked and shown.
// Source of the rules: pkg/registry/core/persistentvolume, ValidatePersistentVolume of pkg/apis/core/validation.
#include "kinds/core/persistent_volume.h"

#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/storage_cells.h"
#include "kinds/core/volumes.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"
#include "kinds/write_helpers.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kMountOptions = "volume.beta.kubernetes.io/mount-options";
constexpr std::string_view kNotInline = "may not be specified in the context of inline volumes";

void CheckCapacity(const Value& capacity, const FieldPath& path, FieldErrors& errors) {
  if (capacity.empty()) errors.Required(path);
  if (!capacity.Get("storage") || capacity.size() > 1) {
    errors.NotSupported(path, capacity ? BadValue(capacity) : BadValue::Null(), {"storage"});
  }
  for (const object::Member& entry : capacity.members()) {
    CheckBasicQuantity(entry.value.AsString(), path.Key(entry.name()), errors);
    auto quantity = object::Quantity::Parse(entry.value.AsString());
    if (quantity && quantity->Sign() <= 0) errors.Invalid(path.Key(entry.name()), quantity->ToString(), kNotPositive);
  }
}

void CheckReclaimPolicy(const Value& policy, bool is_inline, const FieldPath& path, FieldErrors& errors) {
  if (policy.AsString().empty()) return;
  if (!is_inline) return CheckOneOf(policy.AsString(), {"Delete", "Recycle", "Retain"}, path, errors);
  if (policy.AsString() != "Retain") errors.Forbidden(path, "may only be Retain in the context of inline volumes");
}

void CheckNodeAffinity(const Value& affinity, const PersistentVolumeRules& rules, const FieldPath& path, FieldErrors& errors) {
  if (!affinity) return;
  if (rules.inline_in_attachment) return errors.Forbidden(path, kNotInline);
  if (Value required = affinity.Get("required")) CheckNodeSelector(required, rules.allow_invalid_node_affinity_values, path.Child("required"), errors);
  else errors.Required(path.Child("required"), "must specify required node constraints");
}

bool IsRootDirectory(std::string_view path) {
  return !path.empty() && std::ranges::all_of(path, [](char c) { return c == '/' || c == '.'; }) && path.starts_with('/');
}

void CheckNames(const Value& spec, bool is_inline, const FieldPath& path, FieldErrors& errors) {
  if (std::string_view name = spec.Get("storageClassName").AsString(); !name.empty()) {
    if (is_inline) errors.Forbidden(path.Child("storageClassName"), kNotInline);
    else CheckDns1123Subdomain(name, path.Child("storageClassName"), errors);
  }
  if (Value mode = spec.Get("volumeMode")) {
    if (!is_inline) CheckOneOf(mode.AsString(), {"Block", "Filesystem"}, path.Child("volumeMode"), errors);
    else if (mode.AsString() != "Filesystem") {
      errors.Forbidden(path.Child("volumeMode"), "may not specify volumeMode other than Filesystem in the context of inline volumes");
    }
  }
  if (Value name = spec.Get("volumeAttributesClassName"); name && !is_inline) {
    FieldPath at = path.Child("volumeAttributesClassName");
    if (name.AsString().empty()) errors.Required(at, "an empty string is disallowed"); else CheckDns1123Subdomain(name.AsString(), at, errors);
    if (!spec.Get("csi")) errors.Required(path.Child("csi"), "has to be specified when using volumeAttributesClassName");
  }
}

// Options of mounting by annotation are for volumes that are mounted as file systems of some sort.
void CheckMountOptions(const Value& volume, FieldErrors& errors) {
  if (!volume.Path({"metadata", "annotations", kMountOptions})) return;
  for (std::string_view source : {"gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
                                  "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"}) {
    if (volume.Get("spec").Get(source)) return;
  }
  FieldPath metadata("metadata");
  errors.Forbidden(metadata.Child("annotations", kMountOptions), "may not specify mount options for this volume type");
}

void CheckVolume(const Value& volume, const Value& old, FieldErrors& errors) {
  PersistentVolumeRules rules;
  rules.allow_invalid_node_affinity_values = HasInvalidNodeSelectorValues(old.Path({"spec", "nodeAffinity", "required"}));
  CheckPersistentVolumeSpec(volume.Get("spec"), volume.Get("metadata").Get("name").AsString(), rules, FieldPath("spec"), errors);
}

Value PrepareCreate(RuleContext& context, Value volume) {
  return Edited(context.arena, types::kPersistentVolume, volume, [&](Edit& edit) {
    edit.Erase("status");
    edit.In("status", [&](Edit& status) {
      status.Set("phase", Value::StringRef("Pending"));
      status.Set("lastPhaseTransitionTime", Now(context));
    });
  });
}

// The time of a change of phase is noted, whoever changes it.
Value PrepareUpdate(RuleContext& context, Value volume, Value old) {
  if (context.subresource != "status") return volume;
  Value old_status = old.Get("status"), before = old_status.Get("lastPhaseTransitionTime");
  return Edited(context.arena, types::kPersistentVolume, volume, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) {
      Value now = status.Get("lastPhaseTransitionTime");  // null: Go's zero time, which is a time
      bool changed = status.Get("phase").AsString() != old_status.Get("phase").AsString();
      if (!changed && now.IsAbsent()) status.Set("lastPhaseTransitionTime", before);
      if (changed && (now.IsAbsent() || now.AsString() == before.AsString())) status.Set("lastPhaseTransitionTime", Now(context));
    });
  });
}

void ValidateCreate(RuleContext&, Value volume, FieldErrors& errors) {
  CheckVolume(volume, Value(), errors);
  CheckMountOptions(volume, errors);
}

Value WithoutExpandSecret(RuleContext& context, const Value& volume, const Value& old) {
  Value csi = volume.Path({"spec", "csi"}), old_csi = old.Path({"spec", "csi"});
  if (!csi.Get("controllerExpandSecretRef") || !old_csi || old_csi.Get("controllerExpandSecretRef")) return volume;
  return Edited(context.arena, types::kPersistentVolume, volume, [](Edit& edit) {
    edit.In("spec", [](Edit& spec) { spec.In("csi", [](Edit& source) { source.Erase("controllerExpandSecretRef"); }); });
  });
}

// Labels of nodes that went out of use may be replaced by their successors.
bool IsSameNodeAffinity(const Value& affinity, const Value& old) {
  static constexpr std::pair<std::string_view, std::string_view> kSuccessors[] = {
      {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
      {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
      {"beta.kubernetes.io/os", "kubernetes.io/os"},
      {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
      {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"}};
  Arena arena;
  auto renamed = [&](const Value& from) {
    return Edited(arena, types::kVolumeNodeAffinity, from, [&](Edit& edit) {
      if (!edit.Get("required")) return;
      edit.In("required", [&](Edit& selector) {
        selector.Each("nodeSelectorTerms", [&](Edit& term) {
          term.Each("matchExpressions", [&](Edit& expression) {
            for (const auto& [key, successor] : kSuccessors) {
              if (expression.Get("key").AsString() == key) expression.Set("key", Value::StringRef(successor));
            }
          });
        });
      });
    });
  };
  return schema::IsEqual(types::kVolumeNodeAffinity, affinity, old) ||
         schema::IsEqual(types::kVolumeNodeAffinity, affinity, renamed(old));
}

void CheckChange(RuleContext& context, const Value& volume, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  Value now = WithoutExpandSecret(context, volume, old).Get("spec"), before = old.Get("spec");
  bool same = std::ranges::all_of(PersistentSourceFields(), [&](std::string_view field) {
    return SameField(*types::kPersistentVolumeSpec.FindField(field), now.Get(field), before.Get(field));
  });
  if (!same) {
    errors.Forbidden(path.Child("persistentvolumesource"),
                     "spec.persistentvolumesource is immutable after creation\n" +
                         InternalDiff(types::kPersistentVolumeSpec, before, now, {.fields = PersistentSourceFields(), .came_empty = errors.empty_fields(), .path = "spec"}));
  }
  Value mode = now.Get("volumeMode");
  if (mode.AsString() != before.Get("volumeMode").AsString()) errors.Immutable(FieldPath("volumeMode"), mode);
  if (before.Get("nodeAffinity") && !IsSameNodeAffinity(now.Get("nodeAffinity"), before.Get("nodeAffinity"))) {
    errors.Invalid(FieldPath("nodeAffinity"), InternalValue(types::kVolumeNodeAffinity, now.Get("nodeAffinity")),
                   "field is immutable, except for updating from beta label to GA");
  }
  if (before.Get("volumeAttributesClassName") && !now.Get("volumeAttributesClassName")) {
    errors.Forbidden(path.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden");
  }
}

// The spec is checked twice, before and with the changes: so clients see its faults.
void ValidateUpdate(RuleContext& context, Value volume, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return;
  CheckVolume(volume, old, errors);
  CheckMountOptions(volume, errors);
  CheckRestOfMetadata(context, errors);
  CheckVolume(volume, old, errors);
  CheckChange(context, volume, old, errors);
}

void Warn(RuleContext& context, Value volume, Value) {
  if (context.warnings == nullptr || !context.subresource.empty()) return;
  auto warn = [&](std::string_view text) { context.warnings->emplace_back(text); };
  Value annotations = volume.Get("metadata").Get("annotations"), spec = volume.Get("spec");
  if (annotations.Get(kStorageClassAnnotation)) {
    warn("metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use \"storageClassName\" attribute instead");
  }
  if (annotations.Get(kMountOptions)) {
    warn("metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use \"mountOptions\" attribute instead");
  }
  if (spec.Get("persistentVolumeReclaimPolicy").AsString() == "Recycle") {
    warn("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic "
         "provisioning.");
  }
  FieldPath path("spec");
  Value terms = spec.Path({"nodeAffinity", "required", "nodeSelectorTerms"});
  for (size_t i = 0; i < terms.size(); ++i) {
    WarnOfNodeSelectorTerm(terms.At(i), false, path.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i), *context.warnings);
  }
  if (spec.Get("cephfs")) warn("spec.cephfs: deprecated in v1.28, non-functional in v1.31+");
  if (spec.Get("photonPersistentDisk")) warn("spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+");
  if (spec.Get("scaleIO")) warn("spec.scaleIO: deprecated in v1.16, non-functional in v1.22+");
  if (spec.Get("storageos")) warn("spec.storageOS: deprecated in v1.22, non-functional in v1.25+");
  if (spec.Get("glusterfs")) warn("spec.glusterfs: deprecated in v1.25, non-functional in v1.26+");
  if (spec.Get("rbd")) warn("spec.rbd: deprecated in v1.28, non-functional in v1.31+");
}

Value Cell(object::Arena& arena, std::string_view cell, Value volume, WallTime) {
  Value spec = volume.Get("spec"), claim = spec.Get("claimRef");
  if (cell == "capacity") return TextCell(arena, spec.Get("capacity").Get("storage").AsString("0"));
  if (cell == "access_modes") return TextCell(arena, AccessModesText(spec.Get("accessModes")));
  if (cell == "storageclass") return TextCell(arena, StorageClassOf(volume));
  if (cell == "status") {
    return volume.Get("metadata").Get("deletionTimestamp") ? Value::StringRef("Terminating") : TextCell(arena, volume.Get("status").Get("phase").AsString());
  }
  if (!claim) return Value::StringRef("");
  return TextCell(arena, std::string(claim.Get("namespace").AsString()) + "/" + std::string(claim.Get("name").AsString()));
}

}  // namespace

void CheckPersistentVolumeSpec(const Value& spec, std::string_view volume_name, const PersistentVolumeRules& rules, const FieldPath& path,
                               FieldErrors& errors) {
  bool is_inline = rules.inline_in_attachment;
  if (is_inline) {
    if (spec.Get("claimRef")) errors.Forbidden(path.Child("claimRef"), kNotInline);
    if (!spec.Get("capacity").empty()) errors.Forbidden(path.Child("capacity"), kNotInline);
    if (!spec.Get("csi")) errors.Required(path.Child("csi"), "has to be specified in the context of inline volumes");
  }
  if (spec.Get("accessModes").empty()) errors.Required(path.Child("accessModes"));
  CheckAccessModes(spec.Get("accessModes"), path.Child("accessModes"), errors);
  if (!is_inline) CheckCapacity(spec.Get("capacity"), path.Child("capacity"), errors);
  CheckReclaimPolicy(spec.Get("persistentVolumeReclaimPolicy"), is_inline, path.Child("persistentVolumeReclaimPolicy"), errors);
  CheckNodeAffinity(spec.Get("nodeAffinity"), rules, path.Child("nodeAffinity"), errors);
  CheckPersistentSource(spec, {volume_name, !is_inline && spec.Get("nodeAffinity")}, path, errors);
  if (IsRootDirectory(spec.Get("hostPath").Get("path").AsString()) && spec.Get("persistentVolumeReclaimPolicy").AsString() == "Recycle") {
    errors.Forbidden(path.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'");
  }
  CheckNames(spec, is_inline, path, errors);
}

std::string AccessModesText(const Value& modes) {
  static constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
  std::string text;
  for (const auto& [mode, shown] : kShort) {
    bool has = std::ranges::any_of(modes.items(), [&](const Value& item) { return item.AsString() == mode; });
    if (has) text += (text.empty() ? "" : ",") + std::string(shown);
  }
  return text;
}

std::string_view StorageClassOf(const Value& object) {
  Value annotation = object.Path({"metadata", "annotations", kStorageClassAnnotation});
  return annotation ? annotation.AsString() : object.Get("spec").Get("storageClassName").AsString();
}

const Behaviour kPersistentVolumeBehaviour = {
    .group = "",
    .kind = "PersistentVolume",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = Cell,
};

}  // namespace homeostat::kinds
