// Defaults of pods and what they are made of.
#include "homeostat/api/core/v1.h"
#include "kinds/core/image_reference.h"
#include "kinds/core/resources.h"
#include "kinds/defaults/hooks.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

Value FillPullPolicy(Arena& arena, const schema::Type& type, const Value& holder, std::string_view image, std::string_view policy) {
  if (holder.Get(policy)) return holder;
  Edit edit(arena, type, holder);
  edit.Set(policy, Value::StringRef(DefaultPullPolicy(holder.Get(image).AsString())));
  return edit.Build();
}

Value DefaultContainer(Arena& arena, const Value& container) {
  return FillPullPolicy(arena, types::kContainer, container, "image", "imagePullPolicy");
}

Value DefaultEphemeralContainer(Arena& arena, const Value& container) {
  return FillPullPolicy(arena, types::kEphemeralContainer, container, "image", "imagePullPolicy");
}

Value DefaultImageVolume(Arena& arena, const Value& source) {
  return FillPullPolicy(arena, types::kImageVolumeSource, source, "reference", "pullPolicy");
}

// A volume without any source is an empty directory.
Value DefaultVolume(Arena& arena, const Value& volume) {
  for (const object::Member& member : volume.members()) {
    if (member.name() != "name") return volume;
  }
  Edit edit(arena, types::kVolume, volume);
  edit.Set("emptyDir", Value::EmptyObject());
  return edit.Build();
}

// Two names for one field: the old one always shows what the new one says.
Value DefaultPodSpec(Arena& arena, const Value& spec) {
  std::string_view name = spec.Get("serviceAccountName").AsString(), alias = spec.Get("serviceAccount").AsString();
  if (name == alias) return spec;
  Edit edit(arena, types::kPodSpec, spec);
  if (name.empty()) {
    edit.Set("serviceAccountName", spec.Get("serviceAccount"));
  } else {
    edit.Set("serviceAccount", spec.Get("serviceAccountName"));
  }
  return edit.Build();
}

// Long gone annotations that once carried what are fields now.
void DropOldAnnotations(Edit& holder) {
  Value annotations = holder.Get("metadata").Get("annotations");
  for (std::string_view key :
       {"pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-container-statuses", "pod.alpha.kubernetes.io/init-container-statuses"}) {
    if (annotations.Get(key)) holder.In("metadata", [&](Edit& metadata) { metadata.SetEntry("annotations", key, Value()); });
  }
}

// What is limited but not asked for is asked for to the limit.
void RequestLimits(Edit& container) {
  Value limits = container.Get("resources").Get("limits"), requests = container.Get("resources").Get("requests");
  for (const object::Member& limit : limits.members()) {
    if (requests.Get(limit.name())) continue;
    container.In("resources", [&](Edit& resources) { resources.SetEntry("requests", limit.name(), limit.value); });
  }
}

void UseHostPorts(Edit& container) {
  container.Each("ports", [](Edit& port) { port.Fill("hostPort", port.Get("containerPort")); });
}

// Pod-level huge page limits follow the containers' where the pod says something of its resources but not this.
void FillPodLimits(Edit& spec) {
  Value own = spec.Get("resources"), limits = own.Get("limits"), requests = own.Get("requests");
  if (limits.empty() && requests.empty()) return;
  for (const auto& [name, amount] : AggregateContainers(spec.Build(), "limits")) {
    if (!IsHugePages(name) || requests.Get(name) || limits.Get(name)) continue;
    Value text = Value::String(spec.arena(), amount.ToString());
    spec.In("resources", [&](Edit& resources) { resources.SetEntry("limits", name, text); });
  }
}

// Pod-level requests: what the containers ask for together, else the pod's own limit.
void FillPodRequests(Edit& spec) {
  Value limits = spec.Get("resources").Get("limits");
  if (limits.empty()) return;
  auto fill = [&](std::string_view name, Value amount) {
    if (spec.Get("resources").Get("requests").Get(name)) return;
    spec.In("resources", [&](Edit& resources) { resources.SetEntry("requests", name, amount); });
  };
  for (const auto& [name, amount] : AggregateContainers(spec.Build(), "requests")) {
    if (IsPodLevelResource(name) && !IsHugePages(name)) fill(name, Value::String(spec.arena(), amount.ToString()));
  }
  for (const object::Member& limit : limits.members()) {
    if (IsPodLevelResource(limit.name())) fill(limit.name(), limit.value);
  }
}

Value DefaultPod(Arena& arena, const Value& pod) {
  Edit edit(arena, types::kPod, pod);
  DropOldAnnotations(edit);
  edit.In("spec", [](Edit& spec) {
    spec.Each("containers", RequestLimits);
    spec.Each("initContainers", RequestLimits);
    if (spec.Get("resources")) {
      FillPodLimits(spec);
      FillPodRequests(spec);
    }
    spec.Fill("enableServiceLinks", Value::Bool(true));
    if (spec.Get("hostNetwork").AsBool()) {
      spec.Each("containers", UseHostPorts);
      spec.Each("initContainers", UseHostPorts);
    }
    if (spec.Get("terminationGracePeriodSeconds").AsInt() < 0) spec.Set("terminationGracePeriodSeconds", Value::Int(1));
  });
  return edit.Build();
}

Value DefaultPodTemplateSpec(Arena& arena, const Value& pod_template) {
  Edit edit(arena, types::kPodTemplateSpec, pod_template);
  DropOldAnnotations(edit);
  return edit.Build();
}

// The first of several addresses is also the one address that older clients know.
Value DefaultPodStatus(Arena& arena, const Value& status) {
  std::string_view first = status.Get("podIPs").At(0).Get("ip").AsString(), one = status.Get("podIP").AsString();
  if (first == one) return status;
  Edit edit(arena, types::kPodStatus, status);
  if (one.empty()) {
    edit.SetText("podIP", first);
  } else {
    Edit address(arena, types::kPodIP, Value());
    address.Set("ip", status.Get("podIP"));
    object::ListBuilder list(arena);
    list.Append(address.Build());
    edit.Set("podIPs", list.Build());
  }
  return edit.Build();
}

constexpr schema::DefaultHookEntry kHooks[] = {
    {"io.k8s.api.core.v1.Container", DefaultContainer},
    {"io.k8s.api.core.v1.EphemeralContainer", DefaultEphemeralContainer},
    {"io.k8s.api.core.v1.ImageVolumeSource", DefaultImageVolume},
    {"io.k8s.api.core.v1.Volume", DefaultVolume},
    {"io.k8s.api.core.v1.PodSpec", DefaultPodSpec},
    {"io.k8s.api.core.v1.Pod", DefaultPod},
    {"io.k8s.api.core.v1.PodTemplateSpec", DefaultPodTemplateSpec},
    {"io.k8s.api.core.v1.PodStatus", DefaultPodStatus},
};

}  // namespace

std::span<const schema::DefaultHookEntry> CorePodDefaults() { return kHooks; }

}  // namespace homeostat::kinds
