#include "kinds/core/pod_rules.h"

#include <algorithm>

#include "kinds/core/containers.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/resources.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/security.h"

namespace homeostat::kinds {
namespace {

bool AnyContainer(const Value& spec, bool (*test)(const Value& container)) {
  bool found = false;
  ForEachContainer(spec, FieldPath(), [&](const Value& container, const FieldPath&) { found = found || test(container); });
  return found;
}

bool HasPartialPages(const Value& container) {
  for (std::string_view list : {"limits", "requests"}) {
    for (const object::Member& entry : container.Get("resources").Get(list).members()) {
      if (IsHugePages(entry.name()) && !IsWholePages(entry.name(), entry.value.AsString())) return true;
    }
  }
  return false;
}

bool HasDevices(const Value& container) { return !container.Get("volumeDevices").empty(); }

bool HasInvalidAffinitySelector(const Value& spec) {
  for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    Value affinity = spec.Get("affinity").Get(kind);
    auto bad = [](const Value& term) {
      return HasInvalidLabelValue(term.Get("labelSelector")) || HasInvalidLabelValue(term.Get("namespaceSelector"));
    };
    for (const Value& term : affinity.Get("requiredDuringSchedulingIgnoredDuringExecution").items()) if (bad(term)) return true;
    for (const Value& term : affinity.Get("preferredDuringSchedulingIgnoredDuringExecution").items()) {
      if (bad(term.Get("podAffinityTerm"))) return true;
    }
  }
  return false;
}

bool AnySpread(const Value& spec, bool (*test)(const Value& constraint)) {
  return std::ranges::any_of(spec.Get("topologySpreadConstraints").items(), test);
}

bool HasNonLocalTokenPath(const Value& spec) {
  for (const Value& volume : spec.Get("volumes").items()) {
    for (const Value& source : volume.Get("projected").Get("sources").items()) {
      Value token = source.Get("serviceAccountToken");
      if (token && Fails([&](FieldErrors& errors) { CheckLocalPath(token.Get("path").AsString(), FieldPath(), errors); })) return true;
    }
  }
  return false;
}

bool UsesHostSysctls(const Value& spec) {
  return std::ranges::any_of(spec.Get("securityContext").Get("sysctls").items(), [&](const Value& sysctl) {
    return !HostSysctlFault(sysctl.Get("name").AsString(), spec).empty();
  });
}

bool ComparesTolerations(const Value& spec) {
  return std::ranges::any_of(spec.Get("tolerations").items(), [](const Value& toleration) {
    return IsOneOf(toleration.Get("operator").AsString(), {"Lt", "Gt"});
  });
}

bool RestartsInitContainers(const Value& spec) {
  for (const Value& container : spec.Get("initContainers").items()) {
    if (IsSidecar(container)) continue;
    for (const Value& policy : container.Get("resizePolicy").items()) {
      if (policy.Get("restartPolicy").AsString() == "RestartContainer") return true;
    }
  }
  return false;
}

PodRules FromOld(const Value& spec, const Value& metadata) {
  PodRules rules;
  if (!spec) return rules;
  Value users = spec.Get("hostUsers");
  bool own_users = users && !users.AsBool();
  Value cost = metadata.Get("annotations").Get("controller.kubernetes.io/pod-deletion-cost");
  rules.allow_invalid_deletion_cost = cost && !IsDeletionCost(cost.AsString());
  rules.allow_invalid_selector_values = HasInvalidAffinitySelector(spec);
  rules.allow_invalid_node_affinity_values = HasInvalidNodeSelectorValues(
      spec.Path({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}));
  rules.allow_invalid_spread_selector = AnySpread(spec, [](const Value& constraint) {
    return Fails([&](FieldErrors& errors) { CheckLabelSelector(constraint.Get("labelSelector"), FieldPath(), errors); });
  });
  rules.old_match_label_keys_invalid = AnySpread(spec, [](const Value& constraint) {
    return Fails([&](FieldErrors& errors) {
      CheckMergedLabelKeys(constraint.Get("matchLabelKeys"), Value(), constraint.Get("labelSelector"), FieldPath(), errors);
    });
  });
  rules.allow_indivisible_huge_pages = AnyContainer(spec, HasPartialPages);
  rules.allow_non_local_token_path = HasNonLocalTokenPath(spec);
  rules.allow_namespaced_sysctls = UsesHostSysctls(spec);
  rules.allow_comparing_tolerations = ComparesTolerations(spec);
  rules.allow_any_selinux_change_policy = static_cast<bool>(spec.Get("securityContext").Get("seLinuxChangePolicy"));
  rules.allow_host_network_with_user_namespace = own_users && spec.Get("hostNetwork").AsBool();
  rules.allow_volume_devices_with_user_namespace = own_users && AnyContainer(spec, HasDevices);
  rules.allow_restart_container_resize = RestartsInitContainers(spec);
  return rules;
}

}  // namespace

PodRules PodRules::ForPod(const Value& old_spec, const Value& old_metadata) {
  PodRules rules = FromOld(old_spec, old_metadata);
  rules.is_pod = true;
  return rules;
}

PodRules PodRules::ForTemplate(const Value& old_template) {
  return FromOld(old_template.Get("spec"), old_template.Get("metadata"));
}

}  // namespace homeostat::kinds
