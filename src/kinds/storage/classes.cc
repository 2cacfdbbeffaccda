// StorageClass and VolumeAttributesClass. Source of the rules: pkg/apis/storage/validation.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "homeostat/api/storage/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/group_checks.h"
#include "kinds/storage/storage.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxParameters = 512, kMaxParameterBytes = 256 * 1024;
constexpr std::string_view kDefaultAnnotation = "storageclass.kubernetes.io/is-default-class";
constexpr std::string_view kOldDefaultAnnotation = "storageclass.beta.kubernetes.io/is-default-class";

void CheckProvisioner(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  CheckQualifiedName(LowerCase(name), path, errors);
}

void CheckParameters(const Value& parameters, bool allow_empty, FieldErrors& errors) {
  FieldPath path("parameters");
  if (parameters.size() > kMaxParameters) return errors.TooLong(path, kMaxParameters);
  size_t bytes = 0;
  for (const object::Member& entry : parameters.members()) {
    if (entry.name().empty()) errors.Invalid(path, "", "field can not be empty.");
    bytes += entry.name().size() + entry.value.AsString().size();
  }
  if (static_cast<int64_t>(bytes) > kMaxParameterBytes) errors.TooLong(path, kMaxParameterBytes);
  if (!allow_empty && parameters.empty()) errors.Required(path, "must contain at least one key/value pair");
}

void CheckTopologyTerm(const Value& term, const FieldPath& path, FieldErrors& errors) {
  Value expressions = term.Get("matchLabelExpressions");
  std::set<std::string_view> keys;
  for (size_t i = 0; i < expressions.size(); ++i) {
    FieldPath at = path.Child("matchLabelExpressions").Index(i);
    Value values = expressions.At(i).Get("values");
    std::string_view key = expressions.At(i).Get("key").AsString();
    if (values.empty()) errors.Required(at.Child("values"));
    std::set<std::string_view> seen;
    for (size_t j = 0; j < values.size(); ++j) {
      if (!seen.insert(values.At(j).AsString()).second) errors.Duplicate(at.Child("values").Index(j), values.At(j));
    }
    CheckQualifiedName(key, at.Child("key"), errors);
    if (!keys.insert(key).second) errors.Duplicate(at.Child("key"), key);
  }
}

// What a term selects: the values of each key.
using Topology = std::map<std::string_view, std::set<std::string_view>>;

Topology TopologyOf(const Value& term) {
  Topology topology;
  for (const Value& expression : term.Get("matchLabelExpressions").items()) {
    std::set<std::string_view> values;
    for (const Value& value : expression.Get("values").items()) values.insert(value.AsString());
    topology[expression.Get("key").AsString()] = std::move(values);
  }
  return topology;
}

void CheckTopologies(const Value& topologies, FieldErrors& errors) {
  FieldPath path("allowedTopologies");
  // Upstream compares with as many empty ones, too.
  std::vector<Topology> seen(topologies.size());
  for (size_t i = 0; i < topologies.size(); ++i) {
    CheckTopologyTerm(topologies.At(i), path.Index(i), errors);
    Topology topology = TopologyOf(topologies.At(i));
    for (int64_t n = std::ranges::count(seen, topology); n > 0; --n) errors.Duplicate(path.Index(i).Child("matchLabelExpressions"), "");
    seen.push_back(std::move(topology));
  }
}

void CheckClass(RuleContext&, Value storage_class, FieldErrors& errors) {
  CheckProvisioner(storage_class.Get("provisioner").AsString(), FieldPath("provisioner"), errors);
  CheckParameters(storage_class.Get("parameters"), true, errors);
  std::string_view reclaim = storage_class.Get("reclaimPolicy").AsString();
  if (!reclaim.empty()) CheckOneOf(reclaim, {"Delete", "Retain"}, FieldPath("reclaimPolicy"), errors);
  Value mode = storage_class.Get("volumeBindingMode");
  if (!mode) {
    errors.Required(FieldPath("volumeBindingMode"));
  } else {
    CheckOneOf(mode.AsString(), {"Immediate", "WaitForFirstConsumer"}, FieldPath("volumeBindingMode"), errors);
  }
  CheckTopologies(storage_class.Get("allowedTopologies"), errors);
}

void CheckClassUpdate(RuleContext& context, Value storage_class, Value old, FieldErrors& errors) {
  CheckClass(context, storage_class, errors);
  CheckRestOfMetadata(context, errors);
  const schema::Type& type = api::storage::v1::StorageClass::SchemaType();
  for (std::string_view field : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}) {
    CheckImmutableField(type, field, storage_class, old, FieldPath(), errors);
  }
}

Value ClassCell(object::Arena& arena, std::string_view, Value storage_class, WallTime) {
  std::string name(storage_class.Path({"metadata", "name"}).AsString());
  Value annotations = storage_class.Path({"metadata", "annotations"});
  bool is_default = annotations.Get(kDefaultAnnotation).AsString() == "true" || annotations.Get(kOldDefaultAnnotation).AsString() == "true";
  return TextCell(arena, is_default ? name + " (default)" : name);
}

void CheckAttributes(RuleContext&, Value attributes, FieldErrors& errors) {
  CheckProvisioner(attributes.Get("driverName").AsString(), FieldPath("driverName"), errors);
  CheckParameters(attributes.Get("parameters"), false, errors);
}

void CheckAttributesUpdate(RuleContext& context, Value attributes, Value old, FieldErrors& errors) {
  if (attributes.Get("driverName").AsString() != old.Get("driverName").AsString()) {
    errors.Forbidden(FieldPath("driverName"), "updates to driverName are forbidden.");
  }
  // To upstream empty ones are others than none, which is what is stored.
  if (!object::Equal(attributes.Get("parameters"), old.Get("parameters")) || CameEmpty(context, "parameters")) {
    errors.Forbidden(FieldPath("parameters"), "updates to parameters are forbidden.");
  }
  CheckRestOfMetadata(context, errors);
  CheckAttributes(context, attributes, errors);
}

void WarnClass(RuleContext& context, Value storage_class, Value) {
  if (context.warnings == nullptr) return;
  Value topologies = storage_class.Get("allowedTopologies");
  for (size_t i = 0; i < topologies.size(); ++i) {
    Value expressions = topologies.At(i).Get("matchLabelExpressions");
    for (size_t j = 0; j < expressions.size(); ++j) {
      std::string_view text = DeprecatedNodeLabel(expressions.At(j).Get("key").AsString());
      FieldPath path = FieldPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key");
      if (!text.empty()) context.warnings->push_back(path.String() + ": " + std::string(text));
    }
  }
}

}  // namespace

const Behaviour kStorageClass{.group = "storage.k8s.io", .kind = "StorageClass", .validate_create = CheckClass,
                              .validate_update = CheckClassUpdate, .warn = WarnClass, .cell = ClassCell};
const Behaviour kVolumeAttributesClass{.group = "storage.k8s.io", .kind = "VolumeAttributesClass", .validate_create = CheckAttributes,
                                       .validate_update = CheckAttributesUpdate};

}  // namespace homeostat::kinds
