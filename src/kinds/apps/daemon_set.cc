// DaemonSet. Source of the rules: pkg/apis/apps/validation, pkg/registry/apps/daemonset. How often the template changed is kept
// in an annotation, as apps/v1 has no field for it any more.
#include <charconv>

#include "homeostat/api/apps/v1.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/schema/diff.h"
#include "kinds/apps/apps.h"
#include "kinds/core/pod_template.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::apps::v1;

constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

int64_t TemplateGeneration(const Value& set) {
  std::string_view text = set.Path({"metadata", "annotations"}).Get(kTemplateGeneration).AsString();
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Value WithTemplateGeneration(RuleContext& context, const Value& set, int64_t generation) {
  return Edited(context.arena, v1::DaemonSet::SchemaType(), set, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) {
      metadata.SetEntry("annotations", kTemplateGeneration, Value::String(context.arena, std::to_string(generation)));
    });
  });
}

Value PrepareNew(RuleContext& context, Value set) {
  return WithTemplateGeneration(context, set, std::max<int64_t>(TemplateGeneration(set), 1));
}

Value PrepareUpdate(RuleContext& context, Value set, Value old) {
  int64_t generation = TemplateGeneration(old);
  const schema::Type& type = api::core::v1::PodTemplateSpec::SchemaType();
  bool changed = !schema::IsEqual(type, set.Path({"spec", "template"}), old.Path({"spec", "template"}));
  if (changed && context.subresource != "status") ++generation;
  return WithTemplateGeneration(context, set, generation);
}

void CheckRollingUpdate(const Value& update, const FieldPath& path, FieldErrors& errors) {
  Value unavailable = update.Get("maxUnavailable"), surge = update.Get("maxSurge");
  CheckPositiveIntOrPercent(unavailable, path.Child("maxUnavailable"), errors);
  CheckPositiveIntOrPercent(surge, path.Child("maxSurge"), errors);
  CheckNotMoreThanHundredPercent(unavailable, path.Child("maxUnavailable"), errors);
  CheckNotMoreThanHundredPercent(surge, path.Child("maxSurge"), errors);
  bool some_unavailable = IntOrPercent(unavailable) != 0, some_surge = IntOrPercent(surge) != 0;
  if (some_unavailable && some_surge) {
    errors.Invalid(path.Child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero");
  } else if (!some_unavailable && !some_surge) {
    errors.Required(path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
  }
}

void CheckUpdateStrategy(const Value& strategy, const FieldPath& path, FieldErrors& errors) {
  std::string_view type = strategy.Get("type").AsString();
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") {
    return errors.NotSupported(path, InternalValue(v1::DaemonSetUpdateStrategy::SchemaType(), strategy), {"RollingUpdate", "OnDelete"});
  }
  if (!strategy.Get("rollingUpdate")) return errors.Required(path.Child("rollingUpdate"));
  CheckRollingUpdate(strategy.Get("rollingUpdate"), path.Child("rollingUpdate"), errors);
}

void CheckSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  Value selector = spec.Get("selector"), pods = spec.Get("template"), labels = pods.Path({"metadata", "labels"});
  CheckLabelSelector(selector, path.Child("selector"), errors, {.allow_invalid_values = HasInvalidLabelValue(old_spec.Get("selector"))});
  std::optional<bool> selects = Selects(selector, labels);
  if (selects && !*selects) {
    errors.Invalid(path.Child("template", "metadata", "labels"), labels, "`selector` does not match template `labels`");
  }
  if (SelectsEverything(selector)) {
    errors.Invalid(path.Child("selector"), BadValue(api::meta::v1::LabelSelector::SchemaType(), selector),
                   "empty selector is invalid for daemonset");
  }
  CheckPodTemplateSpec(pods, old_spec.Get("template"), path.Child("template"), errors);
  FieldPath pod_path = path.Child("template", "spec");
  CheckOneOf(pods.Path({"spec", "restartPolicy"}).AsString(), {"Always"}, pod_path.Child("restartPolicy"), errors);
  if (pods.Path({"spec", "activeDeadlineSeconds"})) {
    errors.Forbidden(pod_path.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in DaemonSet is not Supported");
  }
  CheckNonNegativeFields(spec, {"minReadySeconds"}, path, errors);
  CheckUpdateStrategy(spec.Get("updateStrategy"), path.Child("updateStrategy"), errors);
  CheckNonNegativeFields(spec, {"revisionHistoryLimit"}, path, errors);
}

void CheckNew(RuleContext&, Value set, FieldErrors& errors) { CheckSpec(set.Get("spec"), Value(), errors); }

void CheckUpdate(RuleContext& context, Value set, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    FieldPath path("status");
    Value status = set.Get("status");
    CheckNonNegativeFields(status, {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
                                    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
                                    "collisionCount"}, path, errors);
    return CheckNotDecremented(status, old.Get("status"), "collisionCount", path, errors);
  }
  CheckImmutableField(v1::DaemonSetSpec::SchemaType(), "selector", set.Get("spec"), old.Get("spec"), FieldPath("spec"), errors);
  CheckSpec(set.Get("spec"), old.Get("spec"), errors);
}

void Warn(RuleContext& context, Value set, Value old) {
  if (context.subresource == "status" || (old && !GenerationChanged(set, old))) return;
  WarnOfPodTemplate(set.Path({"spec", "template"}), old.Path({"spec", "template"}), FieldPath("spec").Child("template"),
                    *context.warnings);
}

// Upstream has a field for it but in the versions that clients see.
Value ShownMetadata(object::Arena& arena, Value metadata) {
  if (metadata.Get("annotations").Find(kTemplateGeneration) == nullptr) return metadata;
  return Edited(arena, api::meta::v1::ObjectMeta::SchemaType(), metadata,
                [](Edit& edit) { edit.SetEntry("annotations", kTemplateGeneration, Value()); });
}

// The generation of the template is a field of upstream's internal form.
Value EmptySet(object::Arena& arena, Value object) {
  return Edited(arena, v1::DaemonSet::SchemaType(), object, [](Edit& edit) {
    edit.In("metadata", [](Edit& metadata) { metadata.SetEntry("annotations", kTemplateGeneration, Value::StringRef("0")); });
  });
}

}  // namespace

const Behaviour kDaemonSet{.group = "apps", .kind = "DaemonSet", .prepare_create = PrepareNew, .prepare_update = PrepareUpdate,
                           .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = Warn, .shown_metadata = ShownMetadata,
                           .shown_when_empty = EmptySet};

}  // namespace homeostat::kinds
