// Pod: how it is prepared, checked, deleted and shown.
// Source of the rules: pkg/registry/core/pod/strategy.go.
#include <algorithm>
#include <map>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/containers.h"
#include "kinds/core/pod_cells.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/pod_update.h"
#include "kinds/core/pod_warnings.h"
#include "kinds/core/resources.h"
#include "kinds/core/security.h"
#include "kinds/edit.h"
#include "kinds/write_helpers.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

// Conditions on labels of the pod itself, by their keys, as they stand at creation.
void MergeLabelKeys(Edit& holder, std::string_view keys_field, std::string_view op, const Value& labels) {
  if (!holder.Get("labelSelector")) return;
  for (const Value& key : holder.Get(keys_field).items()) {
    Value label = labels.Get(key.AsString());
    if (!label) continue;
    holder.In("labelSelector", [&](Edit& selector) {
      object::ListBuilder values(selector.arena());
      values.Append(label);
      const schema::Type& list = *api::meta::v1::LabelSelector::SchemaType().FindField("matchExpressions")->type;
      Edit expression(selector.arena(), *list.element, Value());
      expression.Set("key", key);
      expression.Set("operator", Value::StringRef(op));
      expression.Set("values", values.Build());
      object::ListBuilder expressions(selector.arena(), selector.Get("matchExpressions"));
      expressions.Append(expression.Build());
      selector.Set("matchExpressions", expressions.Build());
    });
  }
}

void MergeTerm(Edit& term, const Value& labels) {
  MergeLabelKeys(term, "matchLabelKeys", "In", labels);
  MergeLabelKeys(term, "mismatchLabelKeys", "NotIn", labels);
}

void MergeSelectors(Edit& spec, const Value& labels) {
  for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    if (!spec.Get("affinity").Get(kind)) continue;
    spec.In("affinity", [&](Edit& affinity) {
      affinity.In(kind, [&](Edit& terms) {
        terms.Each("preferredDuringSchedulingIgnoredDuringExecution",
                   [&](Edit& weighted) { weighted.In("podAffinityTerm", [&](Edit& term) { MergeTerm(term, labels); }); });
        terms.Each("requiredDuringSchedulingIgnoredDuringExecution", [&](Edit& term) { MergeTerm(term, labels); });
      });
    });
  }
  spec.Each("topologySpreadConstraints", [&](Edit& constraint) { MergeLabelKeys(constraint, "matchLabelKeys", "In", labels); });
}

// A profile that was given by annotation becomes a field, where it differs from the pod's.
void TakeAppArmorAnnotation(RuleContext& context, Edit& container, const Value& annotations, const Value& of_pod) {
  std::string key = std::string(kAppArmorAnnotation) + std::string(container.Get("name").AsString());
  Value annotation = annotations.Get(key);
  if (!annotation || container.Get("securityContext").Get("appArmorProfile")) return;
  Value profile = AppArmorProfileOf(context.arena, annotation.AsString());
  if (profile && Fails([&](FieldErrors& errors) { CheckAppArmorProfile(profile, FieldPath(), errors); })) profile = Value();
  bool differs = profile && !object::Equal(profile, of_pod);
  if (differs) container.In("securityContext", [&](Edit& security) { security.Set("appArmorProfile", profile); });
  if ((!profile || differs) && context.warnings != nullptr) {
    context.warnings->push_back("metadata.annotations[" + key + "]: deprecated since v1.30; use the \"appArmorProfile\" field instead");
  }
}

void TakeAppArmorAnnotations(RuleContext& context, Edit& spec, const Value& annotations) {
  if (annotations.empty() || spec.Get("os").Get("name").AsString() == "windows") return;
  Value of_pod = spec.Get("securityContext").Get("appArmorProfile");
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    spec.Each(list, [&](Edit& container) { TakeAppArmorAnnotation(context, container, annotations, of_pod); });
  }
}

// Admission may have named another account: the old field follows.
void SyncServiceAccount(Edit& spec) {
  Value name = spec.Get("serviceAccountName");
  if (spec.Get("serviceAccount").AsString() != name.AsString()) spec.Set("serviceAccount", name);
}

Value NewStatus(RuleContext& context, const Value& spec) {
  return Edited(context.arena, types::kPodStatus, Value(), [&](Edit& status) {
    status.Set("phase", Value::StringRef("Pending"));
    status.Set("qosClass", Value::StringRef(ComputeQosClass(spec)));
    if (spec.Get("schedulingGates").empty()) return;
    Edit condition(context.arena, types::kPodCondition, Value());
    condition.Set("type", Value::StringRef("PodScheduled"));
    condition.Set("status", Value::StringRef("False"));
    condition.Set("reason", Value::StringRef("SchedulingGated"));
    condition.Set("message", Value::StringRef("Scheduling is blocked due to non-empty scheduling gates"));
    condition.Set("lastTransitionTime", Now(context));
    object::ListBuilder conditions(context.arena);
    conditions.Append(condition.Build());
    status.Set("conditions", conditions.Build());
  });
}

Value PrepareCreate(RuleContext& context, Value pod) {
  return Edited(context.arena, types::kPod, pod, [&](Edit& edit) {
    Value metadata = edit.Get("metadata");
    edit.In("spec", [&](Edit& spec) {
      SyncServiceAccount(spec);
      MergeSelectors(spec, metadata.Get("labels"));
      TakeAppArmorAnnotations(context, spec, metadata.Get("annotations"));
    });
    edit.Set("status", NewStatus(context, edit.Get("spec")));
  });
}

// A writer that knows nothing of generations doesn't take them away.
void KeepObservedGenerations(Edit& status, const Value& old) {
  status.Fill("observedGeneration", old.Get("observedGeneration"));
  std::map<std::string_view, std::vector<Value>> by_type;
  for (const Value& condition : old.Get("conditions").items()) {
    by_type[condition.Get("type").AsString()].push_back(condition.Get("observedGeneration"));
  }
  status.Each("conditions", [&](Edit& condition) {
    std::vector<Value>& before = by_type[condition.Get("type").AsString()];
    if (before.empty()) return;
    condition.Fill("observedGeneration", before.front());
    before.erase(before.begin());
  });
}

// The old pod with the new one's labels and the like: what a write of a part may carry beside that part.
Value OldWithNewMetadata(RuleContext& context, const Value& pod, const Value& old, const std::function<void(Edit& spec)>& change) {
  return Edited(context.arena, types::kPod, old, [&](Edit& edit) {
    edit.In("spec", change);
    edit.Set("metadata", MetadataForPartialWrite(context.arena, pod.Get("metadata"), old.Get("metadata")));
  });
}

// Containers as they were, but for what they may use. As sent if they are not the same containers: the checks then refuse it.
Value ResizedContainers(RuleContext& context, const Value& containers, const Value& old) {
  if (containers.empty()) return containers;
  object::ListBuilder merged(context.arena, old);
  for (size_t i = 0; i < containers.size(); ++i) {
    if (containers.At(i).Get("name").AsString() != old.At(i).Get("name").AsString()) return containers;
    merged.items()[i] = Edited(context.arena, types::kContainer, old.At(i), [&](Edit& container) {
      for (std::string_view field : {"resources", "resizePolicy"}) container.Set(field, containers.At(i).Get(field));
    });
  }
  return merged.Build();
}

Value PrepareResize(RuleContext& context, const Value& pod, const Value& old) {
  Value spec = pod.Get("spec"), old_spec = old.Get("spec");
  for (std::string_view list : {"containers", "initContainers"}) {
    if (spec.Get(list).size() != old_spec.Get(list).size()) return pod;
  }
  return OldWithNewMetadata(context, pod, old, [&](Edit& edit) {
    edit.Set("resources", spec.Get("resources"));
    for (std::string_view list : {"containers", "initContainers"}) {
      edit.Set(list, ResizedContainers(context, spec.Get(list), old_spec.Get(list)));
    }
  });
}

Value PrepareUpdate(RuleContext& context, Value pod, Value old) {
  if (context.subresource == "status") {
    return Edited(context.arena, types::kPod, pod, [&](Edit& edit) {
      edit.In("status", [&](Edit& status) {
        status.Fill("qosClass", old.Get("status").Get("qosClass"));
        KeepObservedGenerations(status, old.Get("status"));
      });
    });
  }
  if (context.subresource == "ephemeralcontainers") {
    return OldWithNewMetadata(context, pod, old, [&](Edit& spec) { spec.Set("ephemeralContainers", pod.Get("spec").Get("ephemeralContainers")); });
  }
  if (context.subresource == "resize") return PrepareResize(context, pod, old);
  return Edited(context.arena, types::kPod, pod, [](Edit& edit) { edit.In("spec", SyncServiceAccount); });
}

void ValidateCreate(RuleContext&, Value pod, FieldErrors& errors) {
  Value spec = pod.Get("spec");
  FieldPath path("spec");
  CheckPodMetadataAndSpec(pod, PodRules::ForPod(Value(), Value()), errors);
  if (!spec.Get("ephemeralContainers").empty()) errors.Forbidden(path.Child("ephemeralContainers"), "cannot be set on create");
  if (!spec.Get("nodeName").AsString().empty() && !spec.Get("schedulingGates").empty()) {
    errors.Forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared");
  }
  CheckAnnotationsMatchFields(pod.Get("metadata").Get("annotations"), spec, path, errors);
}

void ValidateUpdate(RuleContext& context, Value pod, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    CheckPodStatusUpdate(pod, old, errors);
  } else if (context.subresource == "ephemeralcontainers") {
    CheckPodEphemeralContainersUpdate(pod, old, errors);
  } else if (context.subresource == "resize") {
    CheckPodResize(context, pod, old, errors);
  } else if (context.subresource != "binding") {
    CheckPodUpdate(context, pod, old, errors);
  }
}

// New pods only: updates are frequent and seldom made by people.
void Warn(RuleContext& context, Value pod, Value old) {
  if (context.warnings == nullptr || old) {
    if (context.warnings != nullptr && context.subresource == "status") WarnOfAddresses(pod, *context.warnings);
    return;
  }
  std::string_view name = pod.Get("metadata").Get("name").AsString();
  Messages messages = object::IsDNS1123Label(name);
  if (!messages.empty()) {
    std::string joined;
    for (const std::string& message : messages) joined += (joined.empty() ? "" : " ") + message;
    context.warnings->push_back("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
                                "recommended: [" + joined + "]");
  }
  WarnOfPod(pod.Get("metadata"), pod.Get("spec"), FieldPath(), false, *context.warnings);
}

std::optional<GracefulDeletion> Graceful(RuleContext&, Value pod, std::optional<int64_t> requested) {
  Value spec = pod.Get("spec");
  std::string_view phase = pod.Get("status").Get("phase").AsString();
  int64_t period = requested ? *requested : spec.Get("terminationGracePeriodSeconds").AsInt();
  // Nobody is there who would have to stop it.
  if (spec.Get("nodeName").AsString().empty() || phase == "Failed" || phase == "Succeeded") period = 0;
  return GracefulDeletion{period < 0 ? 1 : period};
}

std::optional<Completion> Completed(Value pod) {
  std::string_view phase = pod.Get("status").Get("phase").AsString();
  if (phase == "Succeeded") return Completion{"Succeeded", "The pod has completed successfully."};
  if (phase == "Failed") return Completion{"Failed", "The pod failed."};
  return std::nullopt;
}

std::optional<std::string> Selectable(Value pod, std::string_view field) {
  if (field == "spec.hostNetwork") return pod.Get("spec").Get("hostNetwork").AsBool() ? "true" : "false";
  if (field == "status.podIP") return std::string(pod.Get("status").Get("podIPs").At(0).Get("ip").AsString());
  if (field == "status.podIPs") return std::string();
  return std::nullopt;
}

}  // namespace

const Behaviour kPodBehaviour = {
    .group = "",
    .kind = "Pod",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .graceful = Graceful,
    .cell = PodCell,
    .completed = Completed,
    .selectable = Selectable,
};

}  // namespace homeostat::kinds
