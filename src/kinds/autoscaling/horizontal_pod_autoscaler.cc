// HorizontalPodAutoscaler. Source of the rules: pkg/apis/autoscaling/validation, pkg/registry/autoscaling/horizontalpodautoscaler.
#include <algorithm>
#include <string>
#include <vector>

#include "homeostat/api/autoscaling/v2.h"
#include "homeostat/base/text.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/api_version.h"
#include "kinds/autoscaling/autoscaling.h"
#include "kinds/cells.h"
#include "kinds/core/resource_checks.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxPeriod = 1800, kMaxWindow = 3600;
constexpr size_t kShownMetrics = 2;

struct ReferenceRules {
  bool any_version = false, no_group = false;
};

// What is wrong with a reference's apiVersion, or "".
std::string VersionFault(std::string_view version, ReferenceRules rules) {
  if (rules.any_version) return "";
  schema::GroupVersion parts = schema::ParseApiVersion(version);
  if (!parts.IsValid()) return "unexpected GroupVersion string: " + std::string(version);
  return !parts.group.empty() || rules.no_group ? "" : "apiVersion must specify API group";
}

void CheckReference(const Value& reference, ReferenceRules rules, const FieldPath& path, FieldErrors& errors) {
  for (std::string_view field : {"kind", "name"}) {
    std::string_view text = reference.Get(field).AsString();
    if (text.empty()) {
      errors.Required(path.Child(field));
    } else {
      CheckPathSegment(text, path.Child(field), errors);
    }
  }
  std::string_view version = reference.Get("apiVersion").AsString();
  std::string fault = VersionFault(version, rules);
  if (!fault.empty()) errors.Invalid(path.Child("apiVersion"), version, fault);
}

void CheckTarget(const Value& target, const FieldPath& path, FieldErrors& errors) {
  std::string_view type = target.Get("type").AsString();
  if (type.empty()) errors.Required(path.Child("type"), "must specify a metric target type");
  if (!IsOneOf(type, {"Utilization", "Value", "AverageValue"})) {
    errors.Invalid(path.Child("type"), type, "must be either Utilization, Value, or AverageValue");
  }
  for (std::string_view field : {"value", "averageValue"}) {
    auto quantity = object::Quantity::Parse(target.Get(field).AsString());
    if (target.Get(field) && quantity && quantity->Sign() <= 0) errors.Invalid(path.Child(field), target.Get(field), "must be positive");
  }
  Value utilization = target.Get("averageUtilization");
  if (utilization && utilization.AsInt() < 1) errors.Invalid(path.Child("averageUtilization"), utilization, "must be greater than 0");
}

void CheckIdentifier(const Value& metric, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = metric.Get("name").AsString();
  if (name.empty()) return errors.Required(path.Child("name"), "must specify a metric name");
  CheckPathSegment(name, path.Child("name"), errors);
}

void CheckObjectSource(const Value& source, ReferenceRules rules, const FieldPath& path, FieldErrors& errors) {
  Value target = source.Get("target");
  CheckReference(source.Get("describedObject"), rules, path.Child("describedObject"), errors);
  CheckIdentifier(source.Get("metric"), path.Child("metric"), errors);
  CheckTarget(target, path.Child("target"), errors);
  if (!target.Get("value") && !target.Get("averageValue")) {
    errors.Required(path.Child("target", "averageValue"), "must set either a target value or averageValue");
  }
}

void CheckExternalSource(const Value& source, const FieldPath& path, FieldErrors& errors) {
  Value target = source.Get("target");
  CheckIdentifier(source.Get("metric"), path.Child("metric"), errors);
  CheckTarget(target, path.Child("target"), errors);
  bool value = static_cast<bool>(target.Get("value")), average = static_cast<bool>(target.Get("averageValue"));
  if (!value && !average) {
    errors.Required(path.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target");
  } else if (value && average) {
    errors.Forbidden(path.Child("target", "value"), "may not set both a target value for metric and a per-pod target");
  }
}

void CheckPodsSource(const Value& source, const FieldPath& path, FieldErrors& errors) {
  CheckIdentifier(source.Get("metric"), path.Child("metric"), errors);
  CheckTarget(source.Get("target"), path.Child("target"), errors);
  if (!source.Path({"target", "averageValue"})) {
    errors.Required(path.Child("target", "averageValue"), "must specify a positive target averageValue");
  }
}

void CheckResourceSource(const Value& source, bool of_container, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = source.Get("name").AsString(), container = source.Get("container").AsString();
  if (name.empty()) {
    errors.Required(path.Child("name"), "must specify a resource name");
  } else if (of_container) {
    CheckContainerResourceName(name, path.Child("name"), errors);
  }
  if (of_container) {
    if (container.empty()) {
      errors.Required(path.Child("container"), "must specify a container");
    } else {
      CheckDns1123Label(container, path.Child("container"), errors);
    }
  }
  Value target = source.Get("target");
  CheckTarget(target, path.Child("target"), errors);
  bool utilization = static_cast<bool>(target.Get("averageUtilization")), average = static_cast<bool>(target.Get("averageValue"));
  if (!utilization && !average) {
    errors.Required(path.Child("target", "averageUtilization"), "must set either a target raw value or a target utilization");
  } else if (utilization && average) {
    errors.Forbidden(path.Child("target", "averageValue"), "may not set both a target raw value and a target utilization");
  }
}

void CheckSource(std::string_view name, const Value& source, ReferenceRules rules, const FieldPath& path, FieldErrors& errors) {
  if (name == "object") CheckObjectSource(source, rules, path, errors);
  if (name == "external") CheckExternalSource(source, path, errors);
  if (name == "pods") CheckPodsSource(source, path, errors);
  if (name == "resource") CheckResourceSource(source, false, path, errors);
  if (name == "containerResource") CheckResourceSource(source, true, path, errors);
}

void CheckMetric(const Value& metric, ReferenceRules rules, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kTypes[] = {"ContainerResource", "External", "Object", "Pods", "Resource"};
  std::string_view type = metric.Get("type").AsString(), expected;
  if (type.empty()) errors.Required(path.Child("type"), "must specify a metric source type");
  CheckOneOf(type, kTypes, path.Child("type"), errors);
  std::vector<std::string_view> present;
  for (std::string_view name : {"object", "external", "pods", "resource", "containerResource"}) {
    if (!metric.Get(name)) continue;
    present.push_back(name);
    if (present.size() == 1) CheckSource(name, metric.Get(name), rules, path.Child(name), errors);
  }
  for (auto [named, field] : {std::pair("Object", "object"), std::pair("Pods", "pods"), std::pair("Resource", "resource"),
                              std::pair("External", "external"), std::pair("ContainerResource", "containerResource")}) {
    if (type == named) expected = field;
  }
  if (expected.empty()) {
    errors.NotSupported(path.Child("type"), type, kTypes);
  } else if (!metric.Get(expected)) {
    errors.Required(path.Child(expected), "must populate information for the given metric source");
  }
  if (present.size() == 1) return;
  for (std::string_view name : present) {
    if (name != expected) errors.Forbidden(path.Child(name), "must populate the given metric source only");
  }
}

void CheckMetrics(const Value& spec, ReferenceRules rules, const FieldPath& path, FieldErrors& errors) {
  Value metrics = spec.Get("metrics"), least = spec.Get("minReplicas");
  bool counts_work = false;
  for (size_t i = 0; i < metrics.size(); ++i) {
    CheckMetric(metrics.At(i), rules, path.Index(i), errors);
    counts_work |= IsOneOf(metrics.At(i).Get("type").AsString(), {"Object", "External"});
  }
  if (least && least.AsInt() == 0 && !counts_work) {
    errors.Forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas");
  }
}

void CheckPolicy(const Value& policy, const FieldPath& path, FieldErrors& errors) {
  CheckOneOf(policy.Get("type").AsString(), {"Percent", "Pods"}, path.Child("type"), errors);
  CheckPositive(policy.Get("value").AsInt(), path.Child("value"), errors);
  int64_t period = policy.Get("periodSeconds").AsInt();
  CheckPositive(period, path.Child("periodSeconds"), errors);
  if (period > kMaxPeriod) errors.Invalid(path.Child("periodSeconds"), period, "must be less than or equal to 1800");
}

void CheckScalingRules(const Value& rules, const FieldPath& path, FieldErrors& errors) {
  if (!rules) return;
  Value window = rules.Get("stabilizationWindowSeconds"), policies = rules.Get("policies");
  FieldPath window_path = path.Child("stabilizationWindowSeconds"), policies_path = path.Child("policies");
  if (window.AsInt() < 0) errors.Invalid(window_path, window, "must be greater than or equal to zero");
  if (window.AsInt() > kMaxWindow) errors.Invalid(window_path, window, "must be less than or equal to 3600");
  if (Value select = rules.Get("selectPolicy")) {
    CheckOneOf(select.AsString(), {"Disabled", "Max", "Min"}, path.Child("selectPolicy"), errors);
  }
  // Defaults are for those who say nothing.
  const bool none = policies.empty() || errors.CameEmpty(policies_path);
  if (none) errors.Required(policies_path, "must specify at least one Policy");
  for (size_t i = 0; !none && i < policies.size(); ++i) CheckPolicy(policies.At(i), policies_path.Index(i), errors);
  if (Value tolerance = rules.Get("tolerance")) CheckNonNegativeQuantity(tolerance, path.Child("tolerance"), errors);
}

void CheckSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  Value least = spec.Get("minReplicas"), old_least = old_spec.Get("minReplicas"), target = spec.Get("scaleTargetRef");
  int64_t bound = old_least && old_least.AsInt() == 0 ? 0 : 1, most = spec.Get("maxReplicas").AsInt();
  if (least && least.AsInt() < bound) {
    errors.Invalid(path.Child("minReplicas"), least, "must be greater than or equal to " + std::to_string(bound));
  }
  if (most == 0) {
    errors.Required(path.Child("maxReplicas"), "must be set and greater than 0");
  } else if (most < 0) {
    errors.Invalid(path.Child("maxReplicas"), most, "must be greater than or equal to 1");
  }
  if (least && most < least.AsInt()) errors.Invalid(path.Child("maxReplicas"), most, "must be greater than or equal to `minReplicas`");
  Value old_target = old_spec.Get("scaleTargetRef");
  ReferenceRules rules, object_rules{.no_group = true};
  if (old_target && old_target.Get("apiVersion").AsString() == target.Get("apiVersion").AsString() &&
      old_target.Get("kind").AsString() == target.Get("kind").AsString()) {
    rules.any_version = true;
  } else if (target.Get("kind").AsString() == "ReplicationController") {
    rules.no_group = true;
  }
  for (const Value& metric : old_spec.Get("metrics").items()) {
    Value described = metric.Path({"object", "describedObject"});
    if (described && !VersionFault(described.Get("apiVersion").AsString(), object_rules).empty()) object_rules.any_version = true;
  }
  CheckReference(target, rules, path.Child("scaleTargetRef"), errors);
  CheckMetrics(spec, object_rules, path.Child("metrics"), errors);
  Value behavior = spec.Get("behavior");
  CheckScalingRules(behavior.Get("scaleUp"), path.Child("behavior", "scaleUp"), errors);
  CheckScalingRules(behavior.Get("scaleDown"), path.Child("behavior", "scaleDown"), errors);
}

void CheckNew(RuleContext&, Value autoscaler, FieldErrors& errors) { CheckSpec(autoscaler.Get("spec"), Value(), errors); }

void CheckUpdate(RuleContext& context, Value autoscaler, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    return CheckNonNegativeFields(autoscaler.Get("status"), {"currentReplicas", "desiredReplicas"}, FieldPath("status"), errors);
  }
  CheckSpec(autoscaler.Get("spec"), old.Get("spec"), errors);
}

Value PrepareUpdate(RuleContext& context, Value autoscaler, Value) { return WithoutSavedFields(context, autoscaler); }

std::string Shown(const Value& value, std::string_view fallback, std::string_view suffix = "") {
  if (!value) return std::string(fallback);
  return (value.IsString() ? std::string(value.AsString()) : std::to_string(value.AsInt())) + std::string(suffix);
}

std::string MetricText(const Value& metric, const Value& status) {
  std::string_view type = metric.Get("type").AsString();
  std::string_view name = type == "External" ? "external" : type == "Pods" ? "pods" : type == "Object" ? "object"
                          : type == "Resource" ? "resource" : type == "ContainerResource" ? "containerResource" : "";
  if (name.empty()) return "<unknown type>";
  Value source = metric.Get(name), target = source.Get("target"), current = status.Get(name).Get("current");
  bool average = static_cast<bool>(target.Get("averageValue"));
  bool of_resource = name == "resource" || name == "containerResource";
  std::string prefix = of_resource ? std::string(source.Get("name").AsString()) + ": " : "";
  if (of_resource && !average) {
    return prefix + Shown(current.Get("averageUtilization"), "<unknown>", "%") + "/" + Shown(target.Get("averageUtilization"), "<auto>", "%");
  }
  std::string_view field = average || name == "pods" ? "averageValue" : "value";
  std::string suffix = average && (name == "external" || name == "object") ? " (avg)" : "";
  return prefix + Shown(current.Get(field), "<unknown>") + "/" + Shown(target.Get(field), "0") + suffix;
}

std::string TargetsText(const Value& autoscaler) {
  Value metrics = autoscaler.Path({"spec", "metrics"}), current = autoscaler.Path({"status", "currentMetrics"});
  if (metrics.empty()) return "<none>";
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(metrics.size(), kShownMetrics); ++i) {
    text += (i == 0 ? "" : ", ") + MetricText(metrics.At(i), current.At(i));
  }
  if (metrics.size() > kShownMetrics) text += " + " + std::to_string(metrics.size() - kShownMetrics) + " more...";
  return text;
}

Value Cell(object::Arena& arena, std::string_view cell, Value autoscaler, WallTime) {
  if (cell == "targets") return TextCell(arena, TargetsText(autoscaler));
  Value target = autoscaler.Path({"spec", "scaleTargetRef"});
  return TextCell(arena, std::string(target.Get("kind").AsString()) + "/" + std::string(target.Get("name").AsString()));
}

}  // namespace

const Behaviour kHorizontalPodAutoscaler{.group = "autoscaling", .kind = "HorizontalPodAutoscaler", .prepare_create = WithoutSavedFields,
                                         .prepare_update = PrepareUpdate, .validate_create = CheckNew, .validate_update = CheckUpdate,
                                         .cell = Cell, .convert = ConvertAutoscaler};

}  // namespace homeostat::kinds
