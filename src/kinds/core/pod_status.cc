// Changes of a pod's status: what its node reports.
#include <algorithm>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/quantity.h"
#include "kinds/core/pod_update.h"
#include "kinds/core/resource_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

void CheckConditions(const Value& conditions, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < conditions.size(); ++i) {
    int64_t generation = conditions.At(i).Get("observedGeneration").AsInt();
    if (generation < 0) errors.Invalid(path.Index(i).Child("observedGeneration"), generation, "must be a non-negative integer");
    std::string_view type = conditions.At(i).Get("type").AsString();
    if (!IsOneOf(type, {"PodScheduled", "Ready", "Initialized"})) CheckQualifiedName(type, path.Index(i).Child("Type"), errors);
  }
}

bool MatchesRule(const Value& container, int64_t exit_code) {
  for (const Value& rule : container.Get("restartPolicyRules").items()) {
    auto codes = rule.Get("exitCodes").Get("values").items();
    bool listed = std::ranges::any_of(codes, [&](const Value& code) { return code.AsInt() == exit_code; });
    std::string_view op = rule.Get("exitCodes").Get("operator").AsString();
    if ((op == "In" && listed) || (op == "NotIn" && !listed)) return true;
  }
  return false;
}

// Whether a container that ended so is started again.
bool Restarts(const Value& container, const Value& spec, int64_t exit_code) {
  std::string_view policy = container.Get("restartPolicy").AsString();
  if (!policy.empty() && MatchesRule(container, exit_code)) return true;
  if (!IsOneOf(policy, {"Always", "OnFailure", "Never"})) policy = spec.Get("restartPolicy").AsString();
  if (policy == "OnFailure") return exit_code != 0;
  return policy != "Never";
}

bool RestartsAll(const Value& spec) {
  for (std::string_view list : {"initContainers", "containers"}) {
    for (const Value& container : spec.Get(list).items()) {
      for (const Value& rule : container.Get("restartPolicyRules").items()) {
        if (rule.Get("action").AsString() == "RestartAllContainers") return true;
      }
    }
  }
  return false;
}

const Value* FindNamed(const Value& list, std::string_view name) {
  for (const Value& item : list.items()) if (item.Get("name").AsString() == name) return &item;
  return nullptr;
}

// What has ended for good doesn't come back. containers: those the statuses are of; absent if none is ever restarted.
void CheckTransitions(const Value& statuses, const Value& old, const Value& containers, const Value& spec, const FieldPath& path,
                      FieldErrors& errors) {
  if (!containers.IsAbsent() && RestartsAll(spec)) return;
  for (size_t i = 0; i < old.size(); ++i) {
    Value ended = old.At(i).Path({"state", "terminated"});
    if (!ended) continue;
    std::string_view name = old.At(i).Get("name").AsString();
    const Value* now = FindNamed(statuses, name);
    if (now == nullptr || now->Path({"state", "terminated"})) continue;
    const Value* container = FindNamed(containers, name);
    if (container != nullptr && Restarts(*container, spec, ended.Get("exitCode").AsInt())) continue;
    errors.Forbidden(path.Index(i).Child("state"), "may not be transitioned to non-terminated state");
  }
}

void CheckClaimStatuses(const Value& statuses, const Value& claims, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < statuses.size(); ++i) {
    std::string_view name = statuses.At(i).Get("name").AsString();
    FieldPath at = path.Index(i);
    if (FindNamed(claims, name) == nullptr) {
      errors.Invalid(at.Child("name"), name, "must match the name of an entry in `spec.resourceClaims`");
    }
    if (!names.insert(name).second) errors.Duplicate(at.Child("name"), name);
    if (Value claim = statuses.At(i).Get("resourceClaimName")) CheckDns1123Subdomain(claim.AsString(), at.Child("resourceClaimName"), errors);
  }
}

void CheckExtendedClaim(const Value& status, const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!status) return;
  Value mappings = status.Get("requestMappings");
  FieldPath list = path.Child("requestMappings");
  if (mappings.empty()) errors.Required(list, "at least one request mapping is required");
  std::set<std::string> seen;
  for (size_t i = 0; i < mappings.size(); ++i) {
    FieldPath at = list.Index(i);
    std::string container(mappings.At(i).Get("containerName").AsString()), resource(mappings.At(i).Get("resourceName").AsString());
    std::string request(mappings.At(i).Get("requestName").AsString());
    const Value* known = FindNamed(spec.Get("containers"), container);
    if (known == nullptr) known = FindNamed(spec.Get("initContainers"), container);
    if (known == nullptr) {
      errors.Invalid(at.Child("containerName"), container, "must match the name of an entry in spec.initContainers.name or spec.containers.name");
    } else if (!known->Get("resources").Get("requests").Get(resource)) {
      errors.Invalid(at.Child("resourceName"), resource,
                     "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
                     "spec.containers.resources.requests");
    }
    CheckDns1123Label(request, path.Child("requestName"), errors);
    if (!seen.insert(container + "\n" + resource + "\n" + request).second) {
      errors.Duplicate(at.Child("containerName"), container);
      errors.Duplicate(at.Child("resourceName"), resource);
      errors.Duplicate(at.Child("requestName"), request);
    }
  }
  std::string_view name = status.Get("resourceClaimName").AsString();
  if (name.empty()) errors.Required(path.Child("resourceClaimName")); else CheckDns1123Subdomain(name, path.Child("resourceClaimName"), errors);
}

// At most one address of each family.
void CheckAddresses(const Value& addresses, const Value& old, const schema::Type& list_type, const FieldPath& path, FieldErrors& errors) {
  std::vector<std::string_view> before;
  for (const Value& address : old.items()) before.push_back(address.Get("ip").AsString());
  bool v4 = false, v6 = false;
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::string_view text = addresses.At(i).Get("ip").AsString();
    CheckLegacyIp(text, path.Index(i), errors, before);
    auto ip = object::ParseIp(text);
    if (!ip) continue;
    v4 = v4 || ip->IsV4();
    v6 = v6 || ip->IsV6();
  }
  if (addresses.size() > 1 && (!v4 || !v6 || addresses.size() > 2)) {
    errors.Invalid(path, InternalValue(list_type, addresses), "may specify no more than one IP for each IP family");
  }
}

void CheckUsers(const Value& statuses, std::string_view os, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < statuses.size(); ++i) {
    Value user = statuses.At(i).Get("user").Get("linux");
    if (!user) continue;
    FieldPath at = path.Index(i).Child("user", "linux");
    if (os == "windows") {
      errors.Forbidden(at, "cannot be set for a windows pod");
    } else if (os.empty() || os == "linux") {
      int64_t uid = user.Get("uid").AsInt(), gid = user.Get("gid").AsInt();
      AddInvalid(errors, at.Child("uid"), uid, object::IsValidUserID(uid));
      AddInvalid(errors, at.Child("gid"), gid, object::IsValidGroupID(gid));
      Value groups = user.Get("supplementalGroups");
      for (size_t j = 0; j < groups.size(); ++j) {
        AddInvalid(errors, at.Child("supplementalGroups").Index(j), groups.At(j), object::IsValidGroupID(groups.At(j).AsInt()));
      }
    }
  }
}

bool IsAllocated(const Value& container, std::string_view name) {
  if (!name.starts_with("claim:")) return static_cast<bool>(container.Get("resources").Get("requests").Get(name));
  return std::ranges::any_of(container.Get("resources").Get("claims").items(), [&](const Value& claim) {
    std::string request(claim.Get("request").AsString());
    return name == "claim:" + std::string(claim.Get("name").AsString()) + (request.empty() ? "" : "/" + request);
  });
}

void CheckAllocations(const Value& statuses, const Value& containers, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < statuses.size(); ++i) {
    Value allocated = statuses.At(i).Get("allocatedResourcesStatus");
    const Value* container = FindNamed(containers, statuses.At(i).Get("name").AsString());
    for (size_t j = 0; j < allocated.size(); ++j) {
      FieldPath at = path.Index(i).Child("allocatedResourcesStatus").Index(j);
      std::string_view name = allocated.At(j).Get("name").AsString();
      if (container != nullptr && !IsAllocated(*container, name)) {
        errors.Invalid(at.Child("name"), name,
                       name.starts_with("claim:")
                           ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
                             "'claim:<claimName>' if request is empty"
                           : "must match one of the container's resource requests");
      }
      Value resources = allocated.At(j).Get("resources");
      std::set<std::string_view> ids;
      for (size_t k = 0; k < resources.size(); ++k) {
        FieldPath item = at.Child("resources").Index(k);
        CheckOneOf(resources.At(k).Get("health").AsString(), {"Healthy", "Unhealthy", "Unknown"}, item.Child("health"), errors);
        std::string_view id = resources.At(k).Get("resourceID").AsString();
        if (!ids.insert(id).second) errors.Duplicate(item.Child("resourceID"), id);
      }
    }
  }
}

}  // namespace

void CheckPodStatusUpdate(const Value& pod, const Value& old, FieldErrors& errors) {
  Value status = pod.Get("status"), old_status = old.Get("status"), spec = pod.Get("spec"), old_spec = old.Get("spec");
  FieldPath path("status");
  CheckPodAnnotationUpdate(pod, old, errors);
  CheckConditions(status.Get("conditions"), path.Child("conditions"), errors);
  std::string_view nominated = status.Get("nominatedNodeName").AsString();
  if (!nominated.empty() && nominated != old_status.Get("nominatedNodeName").AsString()) {
    CheckDns1123Subdomain(nominated, path.Child("nominatedNodeName"), errors);
    if (!old_spec.Get("nodeName").AsString().empty()) {
      errors.Forbidden(path.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node");
    }
  }
  int64_t generation = status.Get("observedGeneration").AsInt();
  if (generation < 0) errors.Invalid(path.Child("observedGeneration"), generation, "must be a non-negative integer");
  std::string_view qos = status.Get("qosClass").AsString();
  if (qos != old_status.Get("qosClass").AsString()) errors.Invalid(path.Child("qosClass"), qos, kImmutable);
  CheckTransitions(status.Get("containerStatuses"), old_status.Get("containerStatuses"), old_spec.Get("containers"), old_spec,
                   path.Child("containerStatuses"), errors);
  Value init = old_spec.Get("initContainers");
  CheckTransitions(status.Get("initContainerStatuses"), old_status.Get("initContainerStatuses"), init ? init : Value::EmptyList(), old_spec,
                   path.Child("initContainerStatuses"), errors);
  CheckTransitions(status.Get("ephemeralContainerStatuses"), old_status.Get("ephemeralContainerStatuses"), Value(), old_spec,
                   path.Child("ephemeralContainerStatuses"), errors);
  CheckClaimStatuses(status.Get("resourceClaimStatuses"), spec.Get("resourceClaims"), path.Child("resourceClaimStatuses"), errors);
  CheckExtendedClaim(status.Get("extendedResourceClaimStatus"), spec, path.Child("extendedResourceClaimStatus"), errors);
  CheckAddresses(status.Get("podIPs"), old_status.Get("podIPs"), *types::kPodStatus.FindField("podIPs")->type, path.Child("podIPs"), errors);
  Value hosts = status.Get("hostIPs");
  if (!hosts.empty() && hosts.At(0).Get("ip").AsString() != status.Get("hostIP").AsString()) {
    errors.Invalid(path.Child("hostIPs").Index(0).Child("ip"), hosts.At(0).Get("ip").AsString(), "must be equal to `hostIP`");
  }
  CheckAddresses(hosts, old_status.Get("hostIPs"), *types::kPodStatus.FindField("hostIPs")->type, path.Child("hostIPs"), errors);
  std::string_view os = spec.Get("os").Get("name").AsString();
  for (std::string_view list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    CheckUsers(status.Get(list), os, path.Child(list), errors);
  }
  CheckAllocations(status.Get("containerStatuses"), spec.Get("containers"), path.Child("containerStatuses"), errors);
  CheckAllocations(status.Get("initContainerStatuses"), spec.Get("initContainers"), path.Child("initContainerStatuses"), errors);
  Value ephemeral = status.Get("ephemeralContainerStatuses");
  for (size_t i = 0; i < ephemeral.size(); ++i) {
    if (ephemeral.At(i).Get("allocatedResourcesStatus").empty()) continue;
    errors.Forbidden(path.Child("ephemeralContainerStatuses").Index(i).Child("allocatedResourcesStatus"), "must not be specified in container status");
  }
}

}  // namespace homeostat::kinds
