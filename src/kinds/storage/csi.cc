// CSIDriver, CSINode, CSIStorageCapacity and VolumeAttachment. Source of the rules: pkg/apis/storage/validation.
#include <set>
#include <string>

#include "homeostat/api/storage/v1.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/persistent_volume.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/volumes.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/storage/storage.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::storage::v1;

constexpr size_t kMaxNodeId = 256;
constexpr int64_t kMaxMetadata = 256 * 1024, kMaxErrorMessage = 1024, kLeastTokenSeconds = 600;

// --- CSINode ---

void CheckNodeDriver(const Value& driver, std::set<std::string_view>& names, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = driver.Get("name").AsString(), id = driver.Get("nodeID").AsString();
  CheckCsiDriverName(name, path.Child("name"), errors);
  if (id.empty()) errors.Required(path.Child("nodeID"));
  if (id.size() > kMaxNodeId) errors.Invalid(path.Child("nodeID"), id, "must be 256 characters or less");
  CheckNonNegative(driver.Path({"allocatable", "count"}).AsInt(), path.Child("allocatable", "count"), errors);
  if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
  std::set<std::string_view> keys;
  for (const Value& item : driver.Get("topologyKeys").items()) {
    std::string_view key = item.AsString();
    if (key.empty()) errors.Required(path);
    if (!keys.insert(key).second) errors.Duplicate(path, key);
    CheckQualifiedName(key, path, errors);
  }
}

void CheckNode(RuleContext&, Value node, FieldErrors& errors) {
  FieldPath path = FieldPath("spec").Child("drivers");
  Value drivers = node.Path({"spec", "drivers"});
  std::set<std::string_view> names;
  for (size_t i = 0; i < drivers.size(); ++i) CheckNodeDriver(drivers.At(i), names, path.Index(i), errors);
}

void CheckNodeUpdate(RuleContext& context, Value node, Value old, FieldErrors& errors) {
  CheckNode(context, node, errors);
  const schema::Type& type = v1::CSINodeDriver::SchemaType();
  auto without_limit = [&](const Value& driver) {
    return Edited(context.arena, type, driver, [](Edit& edit) { edit.Erase("allocatable"); });
  };
  for (const Value& before : old.Path({"spec", "drivers"}).items()) {
    for (const Value& driver : node.Path({"spec", "drivers"}).items()) {
      if (before.Get("name").AsString() != driver.Get("name").AsString()) continue;
      Value now = without_limit(driver);
      if (!schema::IsEqual(type, now, without_limit(before))) {
        errors.Invalid(FieldPath("spec").Child("drivers"), InternalValue(type, now), kImmutable);
      }
    }
  }
}

// --- CSIDriver ---

void CheckTokenRequests(const Value& requests, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> audiences;
  for (size_t i = 0; i < requests.size(); ++i) {
    FieldPath at = path.Index(i);
    std::string_view audience = requests.At(i).Get("audience").AsString();
    if (!audiences.insert(audience).second) {
      errors.Duplicate(at.Child("audience"), audience);
      continue;
    }
    Value seconds = requests.At(i).Get("expirationSeconds");
    if (!seconds) continue;
    if (seconds.AsInt() < kLeastTokenSeconds) {
      errors.Invalid(at.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
    }
    if (seconds.AsInt() > (int64_t{1} << 32)) {
      errors.Invalid(at.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds");
    }
  }
}

void CheckDriver(RuleContext&, Value driver, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = driver.Get("spec"), requests = spec.Get("tokenRequests");
  if (!spec.Get("attachRequired")) errors.Required(path.Child("attachedRequired"));
  for (std::string_view field : {"podInfoOnMount", "storageCapacity"}) {
    if (!spec.Get(field)) errors.Required(path.Child(field));
  }
  if (Value policy = spec.Get("fsGroupPolicy")) {
    CheckOneOf(policy.AsString(), {"File", "None", "ReadWriteOnceWithFSType"}, path.Child("fsGroupPolicy"), errors);
  }
  CheckTokenRequests(requests, path.Child("tokenRequests"), errors);
  for (const Value& mode : spec.Get("volumeLifecycleModes").items()) {
    CheckOneOf(mode.AsString(), {"Persistent", "Ephemeral"}, path.Child("volumeLifecycleModes"), errors);
  }
  if (!spec.Get("seLinuxMount")) errors.Required(path.Child("seLinuxMount"));
  Value period = spec.Get("nodeAllocatableUpdatePeriodSeconds"), in_secrets = spec.Get("serviceAccountTokenInSecrets");
  if (period && period.AsInt() < 10) {
    errors.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), period, "must be greater than or equal to 10 seconds");
  }
  if (in_secrets && requests.empty()) {
    errors.Invalid(path.Child("serviceAccountTokenInSecrets"), in_secrets,
                   "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
  }
}

void CheckDriverUpdate(RuleContext& context, Value driver, Value old, FieldErrors& errors) {
  CheckDriver(context, driver, errors);
  Value spec = driver.Get("spec"), old_spec = old.Get("spec");
  if (!object::Equal(spec.Get("attachRequired"), old_spec.Get("attachRequired"))) {
    errors.Invalid(FieldPath("spec").Child("attachedRequired"), spec.Get("attachRequired"), kImmutable);
  }
  CheckImmutableField(v1::CSIDriverSpec::SchemaType(), "volumeLifecycleModes", spec, old_spec, FieldPath("spec"), errors);
}

// Unlike other kinds' its generation starts as the client has it.
Value PrepareDriverUpdate(RuleContext& context, Value driver, Value old) {
  if (object::Equal(driver.Get("spec"), old.Get("spec"))) return driver;
  int64_t next = old.Path({"metadata", "generation"}).AsInt() + 1;
  return Edited(context.arena, v1::CSIDriver::SchemaType(), driver,
                [&](Edit& edit) { edit.In("metadata", [&](Edit& metadata) { metadata.Set("generation", Value::Int(next)); }); });
}

void WarnDriver(RuleContext& context, Value driver, Value old) {
  if (context.warnings == nullptr) return;
  Value spec = driver.Get("spec"), requests = spec.Get("tokenRequests");
  if (requests.empty() || spec.Get("serviceAccountTokenInSecrets")) return;
  if (old && object::Equal(requests, old.Path({"spec", "tokenRequests"}))) return;
  context.warnings->push_back(
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of "
      "tokens in volume attributes");
}

Value DriverCell(object::Arena& arena, std::string_view, Value driver, WallTime) {
  Value requests = driver.Path({"spec", "tokenRequests"});
  if (requests.empty()) return Value::StringRef("<unset>");
  std::string text;
  for (size_t i = 0; i < requests.size(); ++i) text += (i == 0 ? "" : ",") + std::string(requests.At(i).Get("audience").AsString());
  return TextCell(arena, text);
}

// --- CSIStorageCapacity ---

void CheckCapacityWith(const Value& capacity, SelectorRules rules, FieldErrors& errors) {
  CheckLabelSelector(capacity.Get("nodeTopology"), FieldPath("nodeTopology"), errors, rules);
  CheckDns1123Subdomain(capacity.Get("storageClassName").AsString(), FieldPath("storageClassName"), errors);
  if (Value amount = capacity.Get("capacity")) CheckNonNegativeQuantity(amount, FieldPath("capacity"), errors);
}

void CheckCapacity(RuleContext&, Value capacity, FieldErrors& errors) { CheckCapacityWith(capacity, {}, errors); }

void CheckCapacityUpdate(RuleContext& context, Value capacity, Value old, FieldErrors& errors) {
  CheckCapacityWith(capacity, {.allow_invalid_values = HasInvalidLabelValue(old.Get("nodeTopology"))}, errors);
  CheckRestOfMetadata(context, errors);
  for (std::string_view field : {"nodeTopology", "storageClassName"}) {
    CheckImmutableField(v1::CSIStorageCapacity::SchemaType(), field, capacity, old, FieldPath(), errors);
  }
}

void WarnCapacity(RuleContext& context, Value capacity, Value) {
  if (context.warnings == nullptr) return;
  Value selector = capacity.Get("nodeTopology"), expressions = selector.Get("matchExpressions");
  FieldPath path("nodeTopology");
  for (size_t i = 0; i < expressions.size(); ++i) {
    std::string key(expressions.At(i).Get("key").AsString());
    std::string_view text = DeprecatedNodeLabel(key);
    if (text.empty()) continue;
    context.warnings->push_back(path.Child("matchExpressions").Index(i).Child("key").String() + ": " + key + " is " + std::string(text));
  }
  for (const object::Member& label : selector.Get("matchLabels").members()) {
    std::string_view text = DeprecatedNodeLabel(label.name());
    if (!text.empty()) context.warnings->push_back(path.Child("matchLabels").Child(label.name()).String() + ": " + std::string(text));
  }
}

// --- VolumeAttachment ---

void CheckVolumeError(const Value& error, const FieldPath& path, FieldErrors& errors) {
  if (static_cast<int64_t>(error.Get("message").AsString().size()) > kMaxErrorMessage) errors.TooLong(path.Child("message"), kMaxMetadata);
  if (error.Get("errorCode").AsInt() < 0) {
    errors.Invalid(path.Child("errorCode"), error.Get("errorCode"), object::InclusiveRangeError(0, INT32_MAX));
  }
}

void CheckAttachment(RuleContext&, Value attachment, FieldErrors& errors) {
  FieldPath path("spec"), status_path("status");
  Value spec = attachment.Get("spec"), source = spec.Get("source"), status = attachment.Get("status");
  Value inlined = source.Get("inlineVolumeSpec"), name = source.Get("persistentVolumeName");
  FieldPath source_path = path.Child("source");
  CheckCsiDriverName(spec.Get("attacher").AsString(), path.Child("attacher"), errors);
  if (!inlined && !name) {
    errors.Required(source_path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (inlined && name) {
    errors.Forbidden(source_path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  } else if (name) {
    if (name.AsString().empty()) errors.Required(source_path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName");
  } else {
    CheckPersistentVolumeSpec(inlined, "", PersistentVolumeRules{.inline_in_attachment = true}, source_path.Child("inlineVolumeSpec"), errors);
  }
  CheckDns1123Subdomain(spec.Get("nodeName").AsString(), path.Child("nodeName"), errors);
  size_t bytes = 0;
  for (const object::Member& entry : status.Get("attachmentMetadata").members()) bytes += entry.name().size() + entry.value.AsString().size();
  if (static_cast<int64_t>(bytes) > kMaxMetadata) errors.TooLong(status_path.Child("attachmentMetadata"), kMaxMetadata);
  CheckVolumeError(status.Get("attachError"), status_path.Child("attachError"), errors);
  CheckVolumeError(status.Get("detachError"), status_path.Child("detachError"), errors);
  if (name) CheckDns1123Subdomain(name.AsString(), FieldPath("spec.source.persistentVolumeName"), errors);
}

void CheckAttachmentUpdate(RuleContext& context, Value attachment, Value old, FieldErrors& errors) {
  CheckAttachment(context, attachment, errors);
  CheckImmutableInternal(v1::VolumeAttachment::SchemaType(), "spec", attachment, old, FieldPath(), errors);
}

}  // namespace

const Behaviour kCSINode{.group = "storage.k8s.io", .kind = "CSINode", .validate_create = CheckNode, .validate_update = CheckNodeUpdate};
const Behaviour kCSIDriver{.group = "storage.k8s.io", .kind = "CSIDriver", .prepare_update = PrepareDriverUpdate,
                           .validate_create = CheckDriver, .validate_update = CheckDriverUpdate, .warn = WarnDriver, .cell = DriverCell};
const Behaviour kCSIStorageCapacity{.group = "storage.k8s.io", .kind = "CSIStorageCapacity", .validate_create = CheckCapacity,
                                    .validate_update = CheckCapacityUpdate, .warn = WarnCapacity};
const Behaviour kVolumeAttachment{.group = "storage.k8s.io", .kind = "VolumeAttachment", .validate_create = CheckAttachment,
                                  .validate_update = CheckAttachmentUpdate};

}  // namespace homeostat::kinds
