// StatefulSet and ControllerRevision. Source of the rules: pkg/apis/apps/validation, pkg/registry/apps/statefulset.
#include <algorithm>
#include <set>

#include "homeostat/api/apps/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/diff.h"
#include "kinds/apps/apps.h"
#include "kinds/cells.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/volumes.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::apps::v1;

struct SetRules {
  bool any_service_name = false, any_template = false, any_claims = false;
};

void CheckRollingUpdate(const Value& update, const FieldPath& path, FieldErrors& errors) {
  CheckNonNegativeFields(update, {"partition"}, path, errors);
  Value unavailable = update.Get("maxUnavailable");
  if (!unavailable) return;
  CheckPositiveIntOrPercent(unavailable, path.Child("maxUnavailable"), errors);
  if (IntOrPercent(unavailable) == 0) errors.Invalid(path.Child("maxUnavailable"), unavailable, "cannot be 0");
  CheckNotMoreThanHundredPercent(unavailable, path.Child("maxUnavailable"), errors);
}

void CheckStrategies(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::string_view management = spec.Get("podManagementPolicy").AsString();
  if (management.empty()) {
    errors.Required(path.Child("podManagementPolicy"));
  } else if (management != "OrderedReady" && management != "Parallel") {
    errors.Invalid(path.Child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'");
  }
  Value strategy = spec.Get("updateStrategy"), update = strategy.Get("rollingUpdate");
  std::string_view type = strategy.Get("type").AsString();
  FieldPath strategy_path = path.Child("updateStrategy");
  if (type.empty()) {
    errors.Required(strategy_path);
  } else if (type == "OnDelete") {
    if (update) {
      errors.Invalid(strategy_path.Child("rollingUpdate"), InternalValue(v1::RollingUpdateStatefulSetStrategy::SchemaType(), update),
                     "only allowed for updateStrategy 'RollingUpdate'");
    }
  } else if (type == "RollingUpdate") {
    if (update) CheckRollingUpdate(update, strategy_path.Child("rollingUpdate"), errors);
  } else {
    errors.Invalid(strategy_path, InternalValue(v1::StatefulSetUpdateStrategy::SchemaType(), strategy),
                   "must be 'RollingUpdate' or 'OnDelete'");
  }
  Value retention = spec.Get("persistentVolumeClaimRetentionPolicy");
  if (!retention) return;
  for (std::string_view when : {"whenDeleted", "whenScaled"}) {
    CheckOneOf(retention.Get(when).AsString(), {"Retain", "Delete"}, path.Child("persistentVolumeClaimRetentionPolicy").Child(when), errors);
  }
}

// The template as its pods get it: with a volume for each claim, named for themselves.
Value EffectiveTemplate(RuleContext& context, const Value& spec) {
  Value claims = spec.Get("volumeClaimTemplates");
  const schema::Type& pod_type = api::core::v1::PodSpec::SchemaType();
  return Edited(context.arena, api::core::v1::PodTemplateSpec::SchemaType(), spec.Get("template"), [&](Edit& pods) {
    pods.In("spec", [&](Edit& pod) {
      pod.Erase("subdomain");
      pod.Erase("hostname");
      if (claims.empty()) return;
      const schema::Type& volume_type = *pod_type.FindField("volumes")->type->element;
      object::ListBuilder volumes(context.arena);
      std::set<std::string_view> names;  // of several claims of one name there is one volume
      for (const Value& claim : claims.items()) {
        if (!names.insert(claim.Path({"metadata", "name"}).AsString()).second) continue;
        Edit volume(context.arena, volume_type, Value());
        volume.Set("name", claim.Path({"metadata", "name"}));
        volume.In("persistentVolumeClaim", [&](Edit& source) { source.Set("claimName", claim.Path({"metadata", "name"})); });
        volume.Fill("persistentVolumeClaim", Value::EmptyObject());
        volumes.Append(volume.Build());
      }
      for (const Value& volume : pod.Get("volumes").items()) {
        bool replaced = std::ranges::any_of(claims.items(), [&](const Value& claim) {
          return claim.Path({"metadata", "name"}).AsString() == volume.Get("name").AsString();
        });
        if (!replaced) volumes.Append(volume);
      }
      pod.Set("volumes", volumes.Build());
    });
  });
}

void CheckTemplate(RuleContext& context, const Value& spec, const Value& old_spec, SetRules rules, const FieldPath& path,
                   FieldErrors& errors) {
  Value pods = EffectiveTemplate(context, spec), labels = pods.Path({"metadata", "labels"});
  Value annotations = pods.Path({"metadata", "annotations"});
  if (Selects(spec.Get("selector"), labels) == std::optional(false)) {
    errors.Invalid(path.Child("metadata", "labels"), labels, "`selector` does not match template `labels`");
  }
  Value old_pods = old_spec ? old_spec.Get("template") : Value();
  if (!rules.any_template) CheckPodTemplateSpec(pods, old_pods, path, errors);
  CheckLabels(labels, path.Child("labels"), errors);
  CheckAnnotations(annotations, path.Child("annotations"), errors);
  CheckPodAnnotations(annotations, pods.Get("spec"), path.Child("annotations"), PodRules::ForTemplate(old_pods), errors);
}

void CheckSpec(RuleContext& context, const Value& spec, const Value& old_spec, SetRules rules, FieldErrors& errors) {
  FieldPath path("spec");
  CheckStrategies(spec, path, errors);
  if (!rules.any_claims) {
    Value claims = spec.Get("volumeClaimTemplates");
    for (size_t i = 0; i < claims.size(); ++i) {
      CheckClaimSpec(claims.At(i).Get("spec"), path.Child("volumeClaimTemplates").Index(i).Child("spec"), errors);
    }
  }
  CheckNonNegativeFields(spec, {"replicas", "minReadySeconds"}, path, errors);
  CheckNonNegative(spec.Path({"ordinals", "start"}).AsInt(), path.Child("ordinals.start"), errors);
  std::string_view service = spec.Get("serviceName").AsString();
  if (!rules.any_service_name && !service.empty()) CheckDns1123Label(service, path.Child("serviceName"), errors);
  Value selector = spec.Get("selector");
  BadValue shown = selector ? BadValue(api::meta::v1::LabelSelector::SchemaType(), selector) : BadValue::Null();
  if (!selector) {
    errors.Required(path.Child("selector"));
  } else {
    CheckLabelSelector(selector, path.Child("selector"), errors);
    if (SelectsEverything(selector)) errors.Invalid(path.Child("selector"), shown, "empty selector is invalid for statefulset");
  }
  if (!Selects(selector, Value())) {
    errors.Invalid(path.Child("selector"), shown, "");
  } else {
    CheckTemplate(context, spec, old_spec, rules, path.Child("template"), errors);
  }
  FieldPath pod_path = path.Child("template", "spec");
  Value pod = spec.Path({"template", "spec"});
  CheckOneOf(pod.Get("restartPolicy").AsString(), {"Always"}, pod_path.Child("restartPolicy"), errors);
  if (pod.Get("activeDeadlineSeconds")) {
    errors.Forbidden(pod_path.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in StatefulSet is not Supported");
  }
}

void CheckStatus(const Value& status, const Value& old_status, FieldErrors& errors) {
  FieldPath path("status");
  CheckNonNegativeFields(status, {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
                                  "observedGeneration", "collisionCount"}, path, errors);
  CheckNotGreater(status, {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}, "replicas", "status.replicas",
                  path, errors);
  CheckNotGreater(status, {"availableReplicas"}, "readyReplicas", "status.readyReplicas", path, errors);
  CheckNotDecremented(status, old_status, "collisionCount", path, errors);
}

void CheckNew(RuleContext& context, Value set, FieldErrors& errors) { CheckSpec(context, set.Get("spec"), Value(), {}, errors); }

void CheckUpdate(RuleContext& context, Value set, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatus(set.Get("status"), old.Get("status"), errors);
  Value spec = set.Get("spec"), old_spec = old.Get("spec");
  SetRules rules{.any_service_name = true, .any_claims = true};
  rules.any_template = Fails([&](FieldErrors& faults) { CheckSpec(context, old_spec, old_spec, rules, faults); });
  CheckSpec(context, spec, old_spec, rules, errors);
  const schema::Type& type = v1::StatefulSetSpec::SchemaType();
  for (uint16_t index : schema::ChangedFields(type, spec, old_spec)) {
    if (IsOneOf(type.fields[index].name, {"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
                                          "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"})) {
      continue;
    }
    errors.Forbidden(FieldPath("spec"),
                     "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
                     "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
    break;
  }
}

void Warn(RuleContext& context, Value set, Value old) {
  if (context.subresource == "status") return;
  FieldPath path("spec");
  Value spec = set.Get("spec"), claims = spec.Get("volumeClaimTemplates");
  if (!old || GenerationChanged(set, old)) {
    WarnOfPodTemplate(spec.Get("template"), old.Path({"spec", "template"}), path.Child("template"), *context.warnings);
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    WarnOfClaimSpec(claims.At(i).Get("spec"), path.Child("volumeClaimTemplates").Index(i), *context.warnings);
  }
  if (spec.Get("revisionHistoryLimit").AsInt() < 0) {
    context.warnings->push_back(
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended");
  }
}

Value SetCell(object::Arena& arena, std::string_view, Value set, WallTime) {
  return CountOf(arena, set.Path({"status", "readyReplicas"}), set.Path({"spec", "replicas"}));
}

void CheckNewRevision(RuleContext&, Value revision, FieldErrors& errors) {
  CheckNonNegativeFields(revision, {"revision"}, FieldPath(), errors);
  Value data = revision.Get("data");
  if (!data) {
    errors.Required(FieldPath("data"), "data is mandatory");
  } else if (!data.IsObject()) {
    errors.Required(FieldPath("data"), "data must be a valid JSON object");
  }
}

void CheckRevisionUpdate(RuleContext&, Value revision, Value old, FieldErrors& errors) {
  CheckNonNegativeFields(revision, {"revision"}, FieldPath(), errors);
  if (!schema::IsSameText(revision.Get("data"), old.Get("data"))) errors.Invalid(FieldPath("data"), revision.Get("data"), kImmutable);
}

Value RevisionCell(object::Arena& arena, std::string_view, Value revision, WallTime) {
  for (const Value& owner : revision.Path({"metadata", "ownerReferences"}).items()) {
    if (!owner.Get("controller").AsBool()) continue;
    std::string_view group = schema::ParseApiVersion(owner.Get("apiVersion").AsString()).group;
    std::string text(owner.Get("kind").AsString());
    if (!group.empty()) text += "." + std::string(group);
    return TextCell(arena, LowerCase(text) + "/" + std::string(owner.Get("name").AsString()));
  }
  return Value::StringRef("<none>");
}

Value EmptySet(object::Arena& arena, Value object) { return WithZeroReplicas(arena, v1::StatefulSet::SchemaType(), object); }

}  // namespace

const Behaviour kStatefulSet{.group = "apps", .kind = "StatefulSet", .validate_name = object::NameIsDNSLabel,
                             .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = Warn, .cell = SetCell,
                             .shown_when_empty = EmptySet};
const Behaviour kControllerRevision{.group = "apps", .kind = "ControllerRevision", .validate_create = CheckNewRevision,
                                    .validate_update = CheckRevisionUpdate, .cell = RevisionCell};

}  // namespace homeostat::kinds
