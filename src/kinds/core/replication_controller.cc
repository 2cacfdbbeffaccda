// ReplicationController, PodTemplate, ComponentStatus.
// Source of the rules: pkg/registry/core, ValidateReplicationController of pkg/apis/core/validation.
#include "homeostat/object/selectors.h"
#include "kinds/cells.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/pod_template.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

void CheckTemplate(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  Value pod_template = spec.Get("template"), selector = spec.Get("selector");
  if (!pod_template) return errors.Required(path);
  Value labels = pod_template.Get("metadata").Get("labels");
  if (!selector.empty() && !object::LabelSelector::FromMap(selector).Matches(labels)) {
    errors.Invalid(path.Child("metadata", "labels"), labels ? BadValue(labels) : BadValue::Null(), "`selector` does not match template `labels`");
  }
  CheckPodTemplateSpec(pod_template, old_spec.Get("template"), path, errors);
  Value pod = pod_template.Get("spec");
  std::string_view restart = pod.Get("restartPolicy").AsString();
  if (restart != "Always") errors.NotSupported(path.Child("spec", "restartPolicy"), restart, {"Always"});
  if (pod.Get("activeDeadlineSeconds")) {
    errors.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicationController is not Supported");
  }
}

void CheckSpec(const Value& controller, const Value& old, FieldErrors& errors) {
  Value spec = controller.Get("spec");
  FieldPath path("spec");
  CheckNonNegative(spec.Get("minReadySeconds").AsInt(), path.Child("minReadySeconds"), errors);
  if (spec.Get("selector").empty()) errors.Required(path.Child("selector"));
  if (!spec.Get("replicas")) errors.Required(path.Child("replicas"));
  else CheckNonNegative(spec.Get("replicas").AsInt(), path.Child("replicas"), errors);
  CheckTemplate(spec, old.Get("spec"), path.Child("template"), errors);
}

void CheckStatus(const Value& status, FieldErrors& errors) {
  FieldPath path("status");
  for (std::string_view field : {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"}) {
    CheckNonNegative(status.Get(field).AsInt(), path.Child(field), errors);
  }
  int64_t all = status.Get("replicas").AsInt();
  for (std::string_view field : {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"}) {
    int64_t count = status.Get(field).AsInt();
    if (count > all) errors.Invalid(path.Child(field), count, "cannot be greater than status.replicas");
  }
  int64_t available = status.Get("availableReplicas").AsInt();
  if (available > status.Get("readyReplicas").AsInt()) errors.Invalid(path.Child("availableReplicas"), available, "cannot be greater than readyReplicas");
}

void ValidateCreate(RuleContext&, Value controller, FieldErrors& errors) { CheckSpec(controller, Value(), errors); }

void ValidateUpdate(RuleContext& context, Value controller, Value old, FieldErrors& errors) {
  if (context.subresource == "status") CheckStatus(controller.Get("status"), errors);
  else CheckSpec(controller, old, errors);
}

// Of an update that changes something, what is said is said of the old template.
void Warn(RuleContext& context, Value controller, Value old) {
  if (context.warnings == nullptr || !context.subresource.empty()) return;
  FieldPath spec("spec");
  FieldPath path = spec.Child("template");
  if (old) {
    bool changed = controller.Path({"metadata", "generation"}).AsInt() != old.Path({"metadata", "generation"}).AsInt();
    if (changed) WarnOfPodTemplate(old.Get("spec").Get("template"), controller.Get("spec").Get("template"), path, *context.warnings);
    return;
  }
  Messages messages = object::IsDNS1123Label(controller.Get("metadata").Get("name").AsString());
  if (!messages.empty()) {
    std::string joined;
    for (const std::string& message : messages) joined += (joined.empty() ? "" : " ") + message;
    context.warnings->push_back("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is "
                                "recommended: [" + joined + "]");
  }
  WarnOfPodTemplate(controller.Get("spec").Get("template"), Value(), path, *context.warnings);
}

void ValidateTemplate(RuleContext&, Value holder, FieldErrors& errors) {
  CheckPodTemplateSpec(holder.Get("template"), Value(), FieldPath("template"), errors);
}

void ValidateTemplateUpdate(RuleContext&, Value holder, Value old, FieldErrors& errors) {
  CheckPodTemplateSpec(holder.Get("template"), old.Get("template"), FieldPath("template"), errors);
}

void WarnOfTemplate(RuleContext& context, Value holder, Value old) {
  if (context.warnings == nullptr) return;
  if (old && object::Equal(holder.Get("template"), old.Get("template"))) return;
  WarnOfPodTemplate(holder.Get("template"), old.Get("template"), FieldPath("template"), *context.warnings);
}

Value ComponentCell(object::Arena& arena, std::string_view cell, Value component, WallTime) {
  for (const Value& condition : component.Get("conditions").items()) {
    if (condition.Get("type").AsString() != "Healthy") continue;
    if (cell == "status") return Value::StringRef(condition.Get("status").AsString() == "True" ? "Healthy" : "Unhealthy");
    return TextCell(arena, condition.Get(cell).AsString());
  }
  return Value::StringRef(cell == "status" ? "Unknown" : "");
}

}  // namespace

const Behaviour kReplicationControllerBehaviour = {
    .group = "",
    .kind = "ReplicationController",
    .validate_name = LongName,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
};

const Behaviour kPodTemplateBehaviour = {
    .group = "",
    .kind = "PodTemplate",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateTemplate,
    .validate_update = ValidateTemplateUpdate,
    .warn = WarnOfTemplate,
};

const Behaviour kComponentStatusBehaviour = {
    .group = "",
    .kind = "ComponentStatus",
    .cell = ComponentCell,
};

}  // namespace homeostat::kinds
