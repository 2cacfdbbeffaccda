// Node: how it is prepared, checked and shown.
// Source of the rules: pkg/registry/core/node/strategy.go, ValidateNode of pkg/apis/core/validation.
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "kinds/cells.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/scheduling.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kTaintsAnnotation = "scheduler.alpha.kubernetes.io/taints";
constexpr std::string_view kAvoidPodsAnnotation = "scheduler.alpha.kubernetes.io/preferAvoidPods";
constexpr size_t kMaxFeatureName = 253;

void CheckTaints(const Value& taints, const FieldPath& path, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    Value taint = taints.At(i);
    FieldPath at = path.Index(i);
    std::string_view key = taint.Get("key").AsString(), value = taint.Get("value").AsString(), effect = taint.Get("effect").AsString();
    CheckQualifiedName(key, at.Child("key"), errors);
    std::string faults;
    for (const std::string& message : object::IsValidLabelValue(value)) faults += (faults.empty() ? "" : ";") + message;
    if (!faults.empty()) errors.Invalid(at.Child("value"), value, faults);
    CheckTaintEffect(effect, false, at.Child("effect"), errors);
    if (seen.emplace(effect, key).second) continue;
    errors.Add({"FieldValueDuplicate",
                "Duplicate value: " + InternalValue(types::kTaint, taint).text() + ": taints must be unique by key and effect pair", at.String()});
  }
}

// JSON in an annotation, read as that type; the fault is reported under the annotation's name.
Value ParseAnnotation(Arena& arena, const Value& text, const schema::Type& type, std::string_view key, const FieldPath& path, FieldErrors& errors) {
  auto parsed = object::ParseJson(arena, text.AsString());
  schema::ConformReport report;
  auto typed = parsed ? schema::Conform(arena, *parsed, type, report) : parsed;
  if (typed) return *typed;
  errors.Invalid(path, key, typed.error().message());
  return {};
}

void CheckAnnotations(const Value& node, FieldErrors& errors) {
  FieldPath metadata("metadata");
  FieldPath path = metadata.Child("annotations");
  Value annotations = node.Get("metadata").Get("annotations");
  Arena arena;
  if (Value text = annotations.Get(kTaintsAnnotation); !text.AsString().empty()) {
    const schema::Type& type = *types::kNodeSpec.FindField("taints")->type;
    CheckTaints(ParseAnnotation(arena, text, type, kTaintsAnnotation, path, errors), path.Child(kTaintsAnnotation), errors);
  }
  if (Value text = annotations.Get(kAvoidPodsAnnotation); !text.AsString().empty()) {
    Value avoid = ParseAnnotation(arena, text, types::kAvoidPods, kAvoidPodsAnnotation, path.Child("AvoidPods"), errors);
    Value entries = avoid.Get("preferAvoidPods");
    for (size_t i = 0; i < entries.size(); ++i) {
      FieldPath at = path.Child(kAvoidPodsAnnotation).Index(i).Child("PodSignature");
      Value controller = entries.At(i).Get("podSignature").Get("podController");
      if (!controller) errors.Required(at);
      else if (!controller.Get("controller").AsBool()) errors.Invalid(at.Child("PodController", "Controller"), false, "must point to a controller");
    }
  }
}

void CheckResources(const Value& node, FieldErrors& errors) {
  FieldPath status("status");
  for (std::string_view list : {"capacity", "allocatable"}) {
    for (const object::Member& entry : node.Get("status").Get(list).members()) {
      CheckResourceQuantity(entry.name(), entry.value.AsString(), status.Child(list, entry.name()), errors);
    }
  }
}

void CheckFeatures(const Value& node, FieldErrors& errors) {
  static const RE2 pattern("^[A-Z][a-zA-Z0-9]*(\\/[a-zA-Z][a-zA-Z0-9]*)*$");
  FieldPath status("status");
  FieldPath path = status.Child("declaredFeatures");
  Value features = node.Get("status").Get("declaredFeatures");
  for (size_t i = 0; i < features.size(); ++i) {
    std::string_view name = features.At(i).AsString();
    if (name.size() > kMaxFeatureName) {
      errors.Invalid(path.Index(i), name, "invalid feature name " + GoQuote(name) + ": must be no more than 253 characters");
    } else if (!RE2::FullMatch(re2::StringPiece(name.data(), name.size()), pattern)) {
      errors.Invalid(path.Index(i), name,
                     "invalid feature name " + GoQuote(name) + ": must start with an UpperCamelCase segment, with subsequent segments separated by "
                     "'/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes");
    }
    if (i + 1 == features.size()) break;
    std::string_view next = features.At(i + 1).AsString();
    if (name == next) errors.Duplicate(path.Index(i + 1), next);
    if (name > next) errors.Invalid(path.Index(i + 1), next, "list must be sorted alphabetically");
  }
}

void CheckPodRanges(const Value& node, FieldErrors& errors) {
  FieldPath spec("spec");
  FieldPath path = spec.Child("podCIDRs");
  Value ranges = node.Get("spec").Get("podCIDRs");
  bool v4 = false, v6 = false;
  std::string unreadable;
  for (size_t i = 0; i < ranges.size(); ++i) {
    std::string text(ranges.At(i).AsString());
    CheckLegacyCidr(text, path.Index(i), errors);
    auto cidr = object::ParseCidr(text);
    if (!cidr && unreadable.empty()) unreadable = "invalid CIDR[" + std::to_string(i) + "]: <nil> (invalid CIDR address: " + text + ")";
    v4 = v4 || (cidr && cidr->v4);
    v6 = v6 || (cidr && !cidr->v4);
  }
  if (ranges.size() > 1 && !unreadable.empty()) {
    errors.Internal(path, "invalid PodCIDRs. failed to check with dual stack with error:" + unreadable);
  }
  if (ranges.size() > 1 && (!unreadable.empty() || !v4 || !v6 || ranges.size() > 2)) errors.Invalid(path, ranges, "may specify no more than one CIDR for each IP family");
}

void CheckNode(const Value& node, FieldErrors& errors) {
  FieldPath metadata("metadata");
  CheckAnnotations(node, errors);
  CheckTaints(node.Get("spec").Get("taints"), metadata.Child("taints"), errors);
  CheckResources(node, errors);
  if (Value swap = node.Path({"status", "nodeInfo", "swap", "capacity"})) CheckPositive(swap.AsInt(), metadata.Child("nodeSwapStatus", "capacity"), errors);
  CheckFeatures(node, errors);
  CheckPodRanges(node, errors);
}

void CheckUpdate(const Value& node, const Value& old, FieldErrors& errors) {
  FieldPath metadata("metadata"), spec("spec"), status("status");
  CheckAnnotations(node, errors);
  CheckResources(node, errors);
  CheckFeatures(node, errors);
  std::set<std::pair<std::string_view, std::string_view>> seen;
  Value addresses = node.Get("status").Get("addresses");
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (seen.emplace(addresses.At(i).Get("type").AsString(), addresses.At(i).Get("address").AsString()).second) continue;
    errors.Duplicate(status.Child("addresses").Index(i), InternalValue(types::kNodeAddress, addresses.At(i)));
  }
  Value ranges = node.Get("spec").Get("podCIDRs"), old_ranges = old.Get("spec").Get("podCIDRs");
  static constexpr std::string_view kRangeChanged = "node updates may not change podCIDR except from \"\" to valid";
  if (!old_ranges.empty() && old_ranges.size() != ranges.size()) {
    errors.Forbidden(spec.Child("podCIDRs"), kRangeChanged);
  } else {
    for (size_t i = 0; i < old_ranges.size(); ++i) {
      if (ranges.At(i).AsString() != old_ranges.At(i).AsString()) errors.Forbidden(spec.Child("podCIDRs"), kRangeChanged);
    }
  }
  std::string_view provider = old.Get("spec").Get("providerID").AsString();
  if (!provider.empty() && provider != node.Get("spec").Get("providerID").AsString()) {
    errors.Forbidden(spec.Child("providerID"), "node updates may not change providerID except from \"\" to valid");
  }
  CheckTaints(node.Get("spec").Get("taints"), metadata.Child("taints"), errors);
  if (node.Get("spec").Get("externalID").AsString() != old.Get("spec").Get("externalID").AsString()) {
    errors.Forbidden(spec.Child("externalID"), "may not be updated");
  }
}

// Configuration by reference is no longer there; what an old node still has may stay.
void DropConfig(Edit& node, const Value& old) {
  if (node.Get("spec").Get("configSource") && !old.Get("spec").Get("configSource")) {
    node.In("spec", [](Edit& spec) { spec.Erase("configSource"); });
  }
  if (node.Get("status").Get("config") && !old.Get("status").Get("config")) {
    node.In("status", [](Edit& status) { status.Erase("config"); });
  }
}

Value PrepareCreate(RuleContext& context, Value node) {
  return Edited(context.arena, types::kNode, node, [](Edit& edit) { DropConfig(edit, Value()); });
}

Value PrepareUpdate(RuleContext& context, Value node, Value old) {
  return Edited(context.arena, types::kNode, node, [&](Edit& edit) { DropConfig(edit, old); });
}

void ValidateCreate(RuleContext&, Value node, FieldErrors& errors) { CheckNode(node, errors); }

void ValidateUpdate(RuleContext& context, Value node, Value old, FieldErrors& errors) {
  if (context.subresource.empty()) CheckNode(node, errors);
  CheckRestOfMetadata(context, errors);
  CheckUpdate(node, old, errors);
}

void Warn(RuleContext& context, Value node, Value) {
  if (context.warnings == nullptr || !context.subresource.empty()) return;
  Value spec = node.Get("spec");
  if (spec.Get("configSource")) context.warnings->push_back("spec.configSource: the feature is removed");
  if (!spec.Get("externalID").AsString().empty()) {
    context.warnings->push_back("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  }
  Value ranges = spec.Get("podCIDRs");
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (std::string& text : object::GetWarningsForCIDR("spec.podCIDRs[" + std::to_string(i) + "]", ranges.At(i).AsString())) {
      context.warnings->push_back(std::move(text));
    }
  }
}

std::string StatusText(const Value& node) {
  std::string text = "Unknown";
  for (const Value& condition : node.Get("status").Get("conditions").items()) {
    if (condition.Get("type").AsString() == "Ready") text = condition.Get("status").AsString() == "True" ? "Ready" : "NotReady";
  }
  return node.Get("spec").Get("unschedulable").AsBool() ? text + ",SchedulingDisabled" : text;
}

std::string Roles(const Value& node) {
  static constexpr std::string_view kPrefix = "node-role.kubernetes.io/", kOther = "kubernetes.io/role";
  std::set<std::string_view> roles;
  for (const object::Member& label : node.Get("metadata").Get("labels").members()) {
    if (label.name().starts_with(kPrefix) && label.name().size() > kPrefix.size()) roles.insert(label.name().substr(kPrefix.size()));
    else if (label.name() == kOther && !label.value.AsString().empty()) roles.insert(label.value.AsString());
  }
  std::string text;
  for (std::string_view role : roles) text += (text.empty() ? "" : ",") + std::string(role);
  return text;
}

std::string_view Address(const Value& node, std::string_view type) {
  for (const Value& address : node.Get("status").Get("addresses").items()) {
    if (address.Get("type").AsString() == type) return address.Get("address").AsString();
  }
  return {};
}

std::string Kernel(const Value& node) {
  Value info = node.Get("status").Get("nodeInfo");
  std::string version(info.Get("kernelVersion").AsString("<unknown>")), architecture(info.Get("architecture").AsString());
  return architecture.empty() ? version : version + " (" + architecture + ")";
}

Value Cell(object::Arena& arena, std::string_view cell, Value node, WallTime) {
  if (cell == "roles") return TextOrNone(arena, Roles(node));
  if (cell == "internal_ip") return TextOrNone(arena, Address(node, "InternalIP"));
  if (cell == "external_ip") return TextOrNone(arena, Address(node, "ExternalIP"));
  return TextCell(arena, cell == "kernel_version" ? Kernel(node) : StatusText(node));
}

std::optional<std::string> Selectable(Value node, std::string_view field) {
  if (field == "spec.unschedulable") return node.Get("spec").Get("unschedulable").AsBool() ? "true" : "false";
  return std::nullopt;
}

}  // namespace

const Behaviour kNodeBehaviour = {
    .group = "",
    .kind = "Node",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = Cell,
    .selectable = Selectable,
};

}  // namespace homeostat::kinds
