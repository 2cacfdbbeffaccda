// Deployment and ReplicaSet. Source of the rules: pkg/apis/apps/validation, pkg/registry/apps/{deployment,replicaset}.
#include "homeostat/api/apps/v1.h"
#include "kinds/apps/apps.h"
#include "kinds/cells.h"
#include "kinds/core/pod_template.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::apps::v1;

void CheckSelector(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value selector = spec.Get("selector");
  if (!selector) return errors.Required(path.Child("selector"));
  CheckLabelSelector(selector, path.Child("selector"), errors);
  if (SelectsEverything(selector)) {
    errors.Invalid(path.Child("selector"), BadValue(api::meta::v1::LabelSelector::SchemaType(), selector),
                   "empty selector is invalid for deployment");
  }
}

// A template whose pods the selector has to find, and which run until they are deleted.
void CheckTemplate(const Value& spec, const Value& old_spec, const FieldPath& spec_path, FieldErrors& errors) {
  Value selector = spec.Get("selector"), pods = spec.Get("template");
  Value labels = pods.Path({"metadata", "labels"});
  std::optional<bool> selects = Selects(selector, labels);
  if (!selects) {
    return errors.Invalid(spec_path.Child("selector"), BadValue(api::meta::v1::LabelSelector::SchemaType(), selector),
                          "invalid label selector");
  }
  FieldPath path = spec_path.Child("template");
  if (!*selects) errors.Invalid(path.Child("metadata", "labels"), labels, "`selector` does not match template `labels`");
  CheckPodTemplateSpec(pods, old_spec.Get("template"), path, errors);
  Value pod = pods.Get("spec");
  CheckOneOf(pod.Get("restartPolicy").AsString(), {"Always"}, path.Child("spec", "restartPolicy"), errors);
  if (pod.Get("activeDeadlineSeconds")) {
    errors.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported");
  }
}

void CheckRollingUpdate(const Value& update, const FieldPath& path, FieldErrors& errors) {
  Value unavailable = update.Get("maxUnavailable"), surge = update.Get("maxSurge");
  CheckPositiveIntOrPercent(unavailable, path.Child("maxUnavailable"), errors);
  CheckPositiveIntOrPercent(surge, path.Child("maxSurge"), errors);
  if (IntOrPercent(unavailable) == 0 && IntOrPercent(surge) == 0) {
    errors.Invalid(path.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0");
  }
  CheckNotMoreThanHundredPercent(unavailable, path.Child("maxUnavailable"), errors);
}

void CheckStrategy(const Value& strategy, const FieldPath& path, FieldErrors& errors) {
  std::string_view type = strategy.Get("type").AsString();
  Value update = strategy.Get("rollingUpdate");
  if (type == "Recreate") {
    if (update) errors.Forbidden(path.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'");
  } else if (type == "RollingUpdate") {
    if (!update) {
      errors.Required(path.Child("rollingUpdate"), "this should be defaulted and never be nil");
    } else {
      CheckRollingUpdate(update, path.Child("rollingUpdate"), errors);
    }
  } else {
    errors.NotSupported(path, InternalValue(v1::DeploymentStrategy::SchemaType(), strategy), {"Recreate", "RollingUpdate"});
  }
}

void CheckDeploymentSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  CheckNonNegativeFields(spec, {"replicas"}, path, errors);
  CheckSelector(spec, path, errors);
  CheckTemplate(spec, old_spec, path, errors);
  CheckStrategy(spec.Get("strategy"), path.Child("strategy"), errors);
  CheckNonNegativeFields(spec, {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}, path, errors);
  Value deadline = spec.Get("progressDeadlineSeconds");
  if (deadline && deadline.AsInt() <= spec.Get("minReadySeconds").AsInt()) {
    errors.Invalid(path.Child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds");
  }
}

void CheckDeploymentStatus(const Value& status, const Value& old_status, FieldErrors& errors) {
  FieldPath path("status");
  CheckNonNegativeFields(status, {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
                                  "unavailableReplicas", "terminatingReplicas", "collisionCount"}, path, errors);
  CheckNotGreater(status, {"updatedReplicas", "readyReplicas", "availableReplicas"}, "replicas", "status.replicas", path, errors);
  CheckNotGreater(status, {"availableReplicas"}, "readyReplicas", "readyReplicas", path, errors);
  CheckNotDecremented(status, old_status, "collisionCount", path, errors);
}

void CheckNewDeployment(RuleContext&, Value deployment, FieldErrors& errors) {
  CheckDeploymentSpec(deployment.Get("spec"), Value(), errors);
}

void CheckDeploymentUpdate(RuleContext& context, Value deployment, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckDeploymentStatus(deployment.Get("status"), old.Get("status"), errors);
  CheckDeploymentSpec(deployment.Get("spec"), old.Get("spec"), errors);
  CheckImmutableField(v1::DeploymentSpec::SchemaType(), "selector", deployment.Get("spec"), old.Get("spec"), FieldPath("spec"), errors);
}

void CheckReplicaSetSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  CheckNonNegativeFields(spec, {"replicas", "minReadySeconds"}, path, errors);
  CheckSelector(spec, path, errors);
  CheckTemplate(spec, old_spec, path, errors);
}

void CheckReplicaSetStatus(const Value& status, FieldErrors& errors) {
  FieldPath path("status");
  CheckNonNegativeFields(status, {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
                                  "terminatingReplicas"}, path, errors);
  CheckNotGreater(status, {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"}, "replicas", "status.replicas", path, errors);
  CheckNotGreater(status, {"availableReplicas"}, "readyReplicas", "readyReplicas", path, errors);
}

void CheckNewReplicaSet(RuleContext&, Value set, FieldErrors& errors) { CheckReplicaSetSpec(set.Get("spec"), Value(), errors); }

void CheckReplicaSetUpdate(RuleContext& context, Value set, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckReplicaSetStatus(set.Get("status"), errors);
  CheckReplicaSetSpec(set.Get("spec"), old.Get("spec"), errors);
  CheckImmutableField(v1::ReplicaSetSpec::SchemaType(), "selector", set.Get("spec"), old.Get("spec"), FieldPath("spec"), errors);
}

void Warn(RuleContext& context, Value object, Value old) {
  if (context.subresource == "status") return;
  if (!old) {
    WarnOfPodNames(object, *context.warnings);
  } else if (!GenerationChanged(object, old)) {
    return;
  }
  WarnOfPodTemplate(object.Path({"spec", "template"}), old.Path({"spec", "template"}), FieldPath("spec").Child("template"),
                    *context.warnings);
}

Value DeploymentCell(object::Arena& arena, std::string_view, Value deployment, WallTime) {
  return CountOf(arena, deployment.Path({"status", "readyReplicas"}), deployment.Path({"spec", "replicas"}));
}

}  // namespace

Value WithZeroReplicas(object::Arena& arena, const schema::Type& type, Value object) {
  return Edited(arena, type, object, [](Edit& edit) { edit.In("spec", [](Edit& spec) { spec.Fill("replicas", Value::Int(0)); }); });
}

namespace {

Value EmptyDeployment(object::Arena& arena, Value object) { return WithZeroReplicas(arena, v1::Deployment::SchemaType(), object); }
Value EmptyReplicaSet(object::Arena& arena, Value object) { return WithZeroReplicas(arena, v1::ReplicaSet::SchemaType(), object); }

}  // namespace

Value CountOf(object::Arena& arena, const Value& ready, const Value& wanted) {
  return TextCell(arena, std::to_string(ready.AsInt()) + "/" + std::to_string(wanted.AsInt()));
}

const Behaviour kDeployment{.group = "apps", .kind = "Deployment", .validate_create = CheckNewDeployment,
                            .validate_update = CheckDeploymentUpdate, .warn = Warn, .cell = DeploymentCell, .shown_when_empty = EmptyDeployment};
const Behaviour kReplicaSet{.group = "apps", .kind = "ReplicaSet", .validate_create = CheckNewReplicaSet,
                            .validate_update = CheckReplicaSetUpdate, .warn = Warn, .shown_when_empty = EmptyReplicaSet};

}  // namespace homeostat::kinds
