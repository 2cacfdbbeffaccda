// Defaults of the groups beside core.
#include <limits>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/api/autoscaling/v2.h"
#include "homeostat/api/batch/v1.h"
#include "homeostat/api/networking/v1.h"
#include "homeostat/api/rbac/v1.h"
#include "homeostat/api/resource/v1.h"
#include "homeostat/api/resource/v1beta1.h"
#include "homeostat/api/resource/v1beta2.h"
#include "homeostat/base/text.h"
#include "kinds/defaults/hooks.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace apps = api::apps::v1::types;
namespace autoscaling = api::autoscaling::v2::types;
namespace batch = api::batch::v1::types;
namespace crd = api::apiextensions::v1::types;
namespace networking = api::networking::v1::types;
namespace rbac = api::rbac::v1::types;

// apps

Value DefaultDeploymentStrategy(Arena& arena, const Value& strategy) {
  if (strategy.Get("type").AsString() != "RollingUpdate") return strategy;
  return Edited(arena, apps::kDeploymentStrategy, strategy, [](Edit& edit) {
    edit.In("rollingUpdate", [](Edit& rolling) {
      rolling.Fill("maxUnavailable", Value::StringRef("25%"));
      rolling.Fill("maxSurge", Value::StringRef("25%"));
    });
  });
}

// One that says how to roll without doing so gets what upstream's unversioned form knows no absence of.
Value DefaultDaemonSetUpdateStrategy(Arena& arena, const Value& strategy) {
  bool rolls = strategy.Get("type").AsString() == "RollingUpdate";
  if (!rolls && !strategy.Get("rollingUpdate")) return strategy;
  return Edited(arena, apps::kDaemonSetUpdateStrategy, strategy, [rolls](Edit& edit) {
    edit.In("rollingUpdate", [rolls](Edit& rolling) {
      rolling.Fill("maxUnavailable", Value::Int(rolls ? 1 : 0));
      rolling.Fill("maxSurge", Value::Int(0));
    });
  });
}

// Only a strategy that was left out altogether gets its rolling part: one that names the type is complete without.
Value DefaultStatefulSetSpec(Arena& arena, const Value& spec) {
  return Edited(arena, apps::kStatefulSetSpec, spec, [](Edit& edit) {
    edit.In("updateStrategy", [](Edit& strategy) {
      if (!strategy.Get("type")) {
        strategy.Set("type", Value::StringRef("RollingUpdate"));
        strategy.Fill("rollingUpdate", Value::EmptyObject());
      }
      if (strategy.Get("type").AsString() != "RollingUpdate" || !strategy.Get("rollingUpdate")) return;
      strategy.In("rollingUpdate", [](Edit& rolling) { rolling.Fill("partition", Value::Int(0)); });
    });
    edit.In("persistentVolumeClaimRetentionPolicy", [](Edit& policy) {
      policy.Fill("whenDeleted", Value::StringRef("Retain"));
      policy.Fill("whenScaled", Value::StringRef("Retain"));
    });
    edit.Each("volumeClaimTemplates", [](Edit& claim) {
      auto say = [&](std::string_view field, std::string_view text) {
        if (claim.Get(field).AsString() != text) claim.Set(field, Value::StringRef(text));
      };
      say("kind", "PersistentVolumeClaim");
      say("apiVersion", "v1");
    });
  });
}

// batch

// Of a Job, not of the template of one.
// The count of template changes is an annotation of every daemon set; what it counts is kept by the kind's behaviour.
Value DefaultDaemonSet(Arena& arena, const Value& set) {
  constexpr std::string_view kGeneration = "deprecated.daemonset.template.generation";
  if (set.Path({"metadata", "annotations"}).Find(kGeneration) != nullptr) return set;
  return Edited(arena, apps::kDaemonSet, set, [](Edit& edit) {
    edit.In("metadata", [](Edit& metadata) { metadata.SetEntry("annotations", kGeneration, Value::StringRef("0")); });
  });
}

Value DefaultJob(Arena& arena, const Value& job) {
  return Edited(arena, batch::kJob, job, [](Edit& edit) {
    edit.In("spec", [](Edit& spec) {
      if (!spec.Get("completions") && !spec.Get("parallelism")) spec.Set("completions", Value::Int(1));
      spec.Fill("parallelism", Value::Int(1));
      bool per_index = static_cast<bool>(spec.Get("backoffLimitPerIndex"));
      spec.Fill("backoffLimit", Value::Int(per_index ? std::numeric_limits<int32_t>::max() : 6));
      spec.Fill("completionMode", Value::StringRef("NonIndexed"));
      spec.Fill("suspend", Value::Bool(false));
      spec.Fill("podReplacementPolicy", Value::StringRef(spec.Get("podFailurePolicy") ? "Failed" : "TerminatingOrFailed"));
      spec.Fill("manualSelector", Value::Bool(false));
    });
    Value labels = edit.Get("spec").Path({"template", "metadata", "labels"});
    if (labels.empty() || !edit.Get("metadata").Get("labels").empty()) return;
    edit.In("metadata", [&](Edit& metadata) { metadata.Set("labels", labels); });
  });
}

// autoscaling

Value Policy(Arena& arena, std::string_view type, int64_t value) {
  return Edited(arena, autoscaling::kHPAScalingPolicy, Value(), [&](Edit& policy) {
    policy.Set("type", Value::StringRef(type));
    policy.Set("value", Value::Int(value));
    policy.Set("periodSeconds", Value::Int(15));
  });
}

Value DefaultBehavior(Arena& arena, const Value& behavior) {
  return Edited(arena, autoscaling::kHorizontalPodAutoscalerBehavior, behavior, [&](Edit& edit) {
    edit.In("scaleUp", [&](Edit& rules) {
      rules.Fill("stabilizationWindowSeconds", Value::Int(0));
      rules.Fill("selectPolicy", Value::StringRef("Max"));
      object::ListBuilder policies(arena);
      policies.Append(Policy(arena, "Pods", 4));
      policies.Append(Policy(arena, "Percent", 100));
      rules.Fill("policies", policies.Build());
    });
    edit.In("scaleDown", [&](Edit& rules) {
      rules.Fill("selectPolicy", Value::StringRef("Max"));
      object::ListBuilder policies(arena);
      policies.Append(Policy(arena, "Percent", 100));
      rules.Fill("policies", policies.Build());
    });
  });
}

// networking

Value DefaultNetworkPolicySpec(Arena& arena, const Value& spec) {
  if (!spec.Get("policyTypes").empty()) return spec;
  object::ListBuilder types(arena);
  types.Append(Value::StringRef("Ingress"));
  if (!spec.Get("egress").empty()) types.Append(Value::StringRef("Egress"));
  Edit edit(arena, networking::kNetworkPolicySpec, spec);
  edit.Set("policyTypes", types.Build());
  return edit.Build();
}

Value DefaultIngressClassParameters(Arena& arena, const Value& parameters) {
  Edit edit(arena, networking::kIngressClassParametersReference, parameters);
  edit.Fill("scope", Value::StringRef("Cluster"));
  return edit.Build();
}

// rbac.authorization.k8s.io

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

Value DefaultRoleRef(Arena& arena, const Value& reference) {
  Edit edit(arena, rbac::kRoleRef, reference);
  edit.Fill("apiGroup", Value::StringRef(kRbacGroup));
  return edit.Build();
}

Value DefaultSubject(Arena& arena, const Value& subject) {
  std::string_view kind = subject.Get("kind").AsString();
  if (kind != "User" && kind != "Group") return subject;
  Edit edit(arena, rbac::kSubject, subject);
  edit.Fill("apiGroup", Value::StringRef(kRbacGroup));
  return edit.Build();
}

// apiextensions.k8s.io

Value DefaultDefinition(Arena& arena, const Value& definition) {
  return Edited(arena, crd::kCustomResourceDefinition, definition, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) {
      spec.In("names", [&](Edit& names) {
        std::string kind(names.Get("kind").AsString());
        if (kind.empty()) return;
        names.Fill("listKind", Value::String(arena, kind + "List"));
        names.Fill("singular", Value::String(arena, LowerCase(kind)));
      });
    });
    if (!edit.Get("status").Get("storedVersions").empty()) return;
    for (const Value& version : edit.Get("spec").Get("versions").items()) {
      if (!version.Get("storage").AsBool()) continue;
      object::ListBuilder stored(arena);
      stored.Append(version.Get("name") ? version.Get("name") : Value::StringRef(""));
      edit.In("status", [&](Edit& status) { status.Set("storedVersions", stored.Build()); });
      break;
    }
  });
}

// resource.k8s.io

template <const schema::Type& kType>
Value DefaultCount(Arena& arena, const Value& request) {
  if (request.Get("allocationMode").AsString() != "ExactCount") return request;
  Edit edit(arena, kType, request);
  edit.Fill("count", Value::Int(1));
  return edit.Build();
}

// The oldest version has its one request inline, and none if it lists alternatives.
Value DefaultInlineRequest(Arena& arena, const Value& request) {
  if (!request.Get("deviceClassName")) return request;
  Edit edit(arena, api::resource::v1beta1::types::kDeviceRequest, request);
  edit.Fill("allocationMode", Value::StringRef("ExactCount"));
  return DefaultCount<api::resource::v1beta1::types::kDeviceRequest>(arena, edit.Build());
}

template <const schema::Type& kType>
Value DefaultMappings(Arena& arena, const Value& device) {
  Value mappings = device.Get("nodeAllocatableResourceMappings");
  if (mappings.empty()) return device;
  const schema::Type& element = *kType.FindField("nodeAllocatableResourceMappings")->type->element;
  Edit edit(arena, kType, device);
  for (const object::Member& entry : mappings.members()) {
    Edit mapping(arena, element, entry.value);
    mapping.Fill("allocationMultiplier", Value::StringRef("1"));
    if (mapping.changed()) edit.SetEntry("nodeAllocatableResourceMappings", entry.name(), mapping.Build());
  }
  return edit.Build();
}

namespace dra = api::resource;

constexpr schema::DefaultHookEntry kHooks[] = {
    {"io.k8s.api.apps.v1.DeploymentStrategy", DefaultDeploymentStrategy},
    {"io.k8s.api.apps.v1.DaemonSetUpdateStrategy", DefaultDaemonSetUpdateStrategy},
    {"io.k8s.api.apps.v1.DaemonSet", DefaultDaemonSet},
    {"io.k8s.api.apps.v1.StatefulSetSpec", DefaultStatefulSetSpec},
    {"io.k8s.api.batch.v1.Job", DefaultJob},
    {"io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior", DefaultBehavior},
    {"io.k8s.api.networking.v1.NetworkPolicySpec", DefaultNetworkPolicySpec},
    {"io.k8s.api.networking.v1.IngressClassParametersReference", DefaultIngressClassParameters},
    {"io.k8s.api.rbac.v1.RoleRef", DefaultRoleRef},
    {"io.k8s.api.rbac.v1.Subject", DefaultSubject},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", DefaultDefinition},
    {"io.k8s.api.resource.v1.ExactDeviceRequest", DefaultCount<dra::v1::types::kExactDeviceRequest>},
    {"io.k8s.api.resource.v1.DeviceSubRequest", DefaultCount<dra::v1::types::kDeviceSubRequest>},
    {"io.k8s.api.resource.v1beta1.DeviceRequest", DefaultInlineRequest},
    {"io.k8s.api.resource.v1beta1.DeviceSubRequest", DefaultCount<dra::v1beta1::types::kDeviceSubRequest>},
    {"io.k8s.api.resource.v1beta2.ExactDeviceRequest", DefaultCount<dra::v1beta2::types::kExactDeviceRequest>},
    {"io.k8s.api.resource.v1beta2.DeviceSubRequest", DefaultCount<dra::v1beta2::types::kDeviceSubRequest>},
    {"io.k8s.api.resource.v1.Device", DefaultMappings<dra::v1::types::kDevice>},
    {"io.k8s.api.resource.v1beta1.BasicDevice", DefaultMappings<dra::v1beta1::types::kBasicDevice>},
    {"io.k8s.api.resource.v1beta2.Device", DefaultMappings<dra::v1beta2::types::kDevice>},
};

}  // namespace

std::span<const schema::DefaultHookEntry> GroupDefaults() { return kHooks; }

}  // namespace homeostat::kinds
