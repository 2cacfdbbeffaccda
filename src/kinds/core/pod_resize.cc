// Changing what a running pod's containers may use.
#include "homeostat/api/core/v1.h"
#include "homeostat/schema/diff.h"
#include "kinds/core/containers.h"
#include "kinds/core/pod_update.h"
#include "kinds/core/resources.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

bool Removes(const Value& amounts, const Value& old) {
  if (old.size() > amounts.size()) return true;
  for (const object::Member& entry : old.members()) if (!amounts.Get(entry.name())) return true;
  return false;
}

// Whether a node that runs the pod can do it: it then says what its containers use.
bool IsSupported(const Value& pod) {
  for (const Value& status : pod.Get("status").Get("containerStatuses").items()) {
    if (status.Get("state").Get("running")) return static_cast<bool>(status.Get("resources"));
  }
  return true;
}

// False if containers came, went or changed places.
bool CheckOrder(const Value& pod, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  size_t before = errors.size();
  for (std::string_view list : {"containers", "initContainers"}) {
    Value now = pod.Get("spec").Get(list), then = old.Get("spec").Get(list);
    if (now.size() != then.size()) {
      errors.Forbidden(path.Child(list), std::string(list) + " may not be added or removed on resize");
      continue;
    }
    for (size_t i = 0; i < then.size(); ++i) {
      if (now.At(i).Get("name").AsString() == then.At(i).Get("name").AsString()) continue;
      errors.Forbidden(path.Child(list).Index(i).Child("name"), std::string(list) + " may not be renamed or reordered on resize");
    }
  }
  return errors.size() == before;
}

// Requests and limits with cpu and memory as they were.
void TakeOldComputeResources(Edit& resources, const Value& old) {
  for (std::string_view list : {"limits", "requests"}) {
    for (std::string_view name : {"cpu", "memory"}) {
      resources.SetEntry(list, name, old.Get(list).Get(name));
    }
  }
}

void CheckPodLevel(RuleContext& context, const Value& pod, const Value& old, Edit& spec, FieldErrors& errors) {
  Value now = pod.Get("spec").Get("resources"), before = old.Get("spec").Get("resources");
  FieldPath spec_path("spec");
  FieldPath path = spec_path.Child("resources");
  if (before && !now) return errors.Forbidden(path, "pod-level resources cannot be removed");
  if (before) {
    if (Removes(now.Get("requests"), before.Get("requests"))) errors.Forbidden(path.Child("requests"), "pod-level resource requests cannot be removed");
    if (Removes(now.Get("limits"), before.Get("limits"))) errors.Forbidden(path.Child("limits"), "pod-level resource limits cannot be removed");
  }
  Edit resources(context.arena, types::kResourceRequirements, now);
  TakeOldComputeResources(resources, before);
  Value rest = resources.Build();
  spec.Set("resources", !before && rest.empty() ? Value() : rest);
  if (!schema::IsEqual(types::kResourceRequirements, rest, before)) {
    errors.Forbidden(spec_path, "only cpu and memory resources are mutable at pod-level");
  }
}

void CheckRemovals(const Value& pod, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  for (std::string_view list : {"initContainers", "containers"}) {
    Value now = pod.Get("spec").Get(list), before = old.Get("spec").Get(list);
    for (size_t i = 0; i < before.size(); ++i) {
      FieldPath at = path.Child(list).Index(i).Child("resources");
      for (std::string_view kind : {"requests", "limits"}) {
        if (!Removes(now.At(i).Get("resources").Get(kind), before.At(i).Get("resources").Get(kind))) continue;
        errors.Forbidden(at.Child(kind), "resource " + std::string(kind) + " cannot be removed");
      }
    }
  }
}

Value WithoutComputeChange(RuleContext& context, const Value& container, const Value& old) {
  Edit edit(context.arena, types::kContainer, container);
  edit.In("resources", [&](Edit& resources) {
    resources.Erase("claims");
    TakeOldComputeResources(resources, old.Get("resources"));
  });
  if (edit.Get("resources").empty() && !old.Get("resources")) edit.Erase("resources");
  return edit.Build();
}

void CheckContainersOnly(RuleContext& context, const Value& pod, const Value& old, Edit& spec, FieldErrors& errors) {
  FieldPath path("spec");
  object::ListBuilder containers(context.arena), init_containers(context.arena);
  Value now = pod.Get("spec").Get("containers"), before = old.Get("spec").Get("containers");
  for (size_t i = 0; i < now.size(); ++i) {
    Value rest = WithoutComputeChange(context, now.At(i), before.At(i));
    if (!schema::IsEqual(types::kContainer, rest, before.At(i))) errors.Forbidden(path, "only cpu and memory resources are mutable");
    containers.Append(rest);
  }
  spec.Set("containers", containers.Build());
  now = pod.Get("spec").Get("initContainers");
  before = old.Get("spec").Get("initContainers");
  for (size_t i = 0; i < now.size(); ++i) {
    FieldPath at = path.Child("initContainers").Index(i);
    Value rest = WithoutComputeChange(context, now.At(i), before.At(i));
    if (!schema::IsEqual(types::kContainer, rest, before.At(i))) {
      errors.Forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable");
    }
    bool changed = !schema::IsEqual(types::kContainer, now.At(i), before.At(i));
    for (const Value& policy : rest.Get("resizePolicy").items()) {
      if (!changed || IsSidecar(rest) || policy.Get("restartPolicy").AsString() != "RestartContainer") continue;
      errors.Forbidden(at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
    }
    init_containers.Append(rest);
  }
  if (!init_containers.empty()) spec.Set("initContainers", init_containers.Build());
}

bool HasAmounts(const Value& pod) {
  Value resources = pod.Get("spec").Get("resources");
  return !resources.Get("requests").empty() || !resources.Get("limits").empty();
}

}  // namespace

void CheckPodResize(RuleContext& context, const Value& pod, const Value& old, FieldErrors& errors) {
  Value old_spec = old.Get("spec");
  FieldPath path("spec");
  if (old.Get("metadata").Get("annotations").Get("kubernetes.io/config.mirror")) {
    return errors.Forbidden(FieldPath(""), "static pods cannot be resized");
  }
  if (old_spec.Get("os").Get("name").AsString() == "windows") return errors.Forbidden(FieldPath(""), "windows pods cannot be resized");
  CheckPodMetadataAndSpec(pod, PodRules::ForPod(old_spec, old.Get("metadata")), errors);
  std::string_view stored = old.Get("status").Get("qosClass").AsString();
  std::string_view before = stored.empty() ? ComputeQosClass(old_spec) : stored;
  if (before != ComputeQosClass(pod.Get("spec"))) {
    errors.Invalid(path, pod.Get("status").Get("qosClass").AsString(), "Pod QOS Class may not change as a result of resizing");
  }
  if (!IsSupported(old)) errors.Forbidden(path, "Pod running on node without support for resize");
  Edit spec(context.arena, types::kPodSpec, pod.Get("spec"));
  if (HasAmounts(old) || HasAmounts(pod)) CheckPodLevel(context, pod, old, spec, errors);
  if (!old.Get("status").Get("nodeAllocatableResourceClaimStatuses").empty()) {
    errors.Forbidden(path, "pods with node allocatable resource claims cannot be resized");
  }
  if (!CheckOrder(pod, old, errors)) return;
  CheckRemovals(pod, old, errors);
  CheckContainersOnly(context, pod, old, spec, errors);
  if (errors.empty() && !schema::IsEqual(types::kPodSpec, spec.Build(), old_spec)) {
    errors.Forbidden(path, "only cpu and memory resources are mutable");
  }
}

}  // namespace homeostat::kinds
