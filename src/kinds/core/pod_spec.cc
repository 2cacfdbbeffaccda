// The whole spec of a pod, in the order in which faults are reported.
#include <algorithm>
#include <limits>

#include "kinds/core/containers.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/security.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxNameservers = 3, kMaxSearches = 32, kMaxSearchCharacters = 2048, kMaxHostname = 64;
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

void CheckOptionalName(const Value& spec, std::string_view field, Messages (*check)(std::string_view), const FieldPath& path, FieldErrors& errors) {
  std::string_view name = spec.Get(field).AsString();
  if (!name.empty()) AddInvalid(errors, path.Child(field), name, check(name));
}

// A struct of Go without JSON names.
BadValue ShownClaim(const Value& claim) {
  auto text = [&](std::string_view field) { return claim.Get(field) ? BadValue(claim.Get(field)).text() : std::string("null"); };
  return BadValue::Json("{\"Name\":" + BadValue(claim.Get("name").AsString()).text() + ",\"ResourceClaimName\":" + text("resourceClaimName") +
                        ",\"ResourceClaimTemplateName\":" + text("resourceClaimTemplateName") + "}");
}

void CheckResourceClaims(const Value& claims, const Value& metadata, const FieldPath& path, FieldErrors& errors) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < claims.size(); ++i) {
    Value claim = claims.At(i);
    FieldPath at = path.Index(i);
    if (metadata.Get("annotations").Get(kMirror)) {
      errors.Forbidden(FieldPath(""), "static pods do not support resource claims");
      continue;
    }
    std::string_view name = claim.Get("name").AsString();
    if (name.empty()) {
      errors.Required(at.Child("name"));
    } else if (std::ranges::find(names, name) != names.end()) {
      errors.Duplicate(at.Child("name"), name);
    } else {
      CheckDns1123Label(name, at.Child("name"), errors);
      names.push_back(name);
    }
    Value by_name = claim.Get("resourceClaimName"), by_template = claim.Get("resourceClaimTemplateName");
    if (by_name && by_template) {
      errors.Invalid(at, ShownClaim(claim), "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    }
    if (!by_name && !by_template) {
      errors.Invalid(at, ShownClaim(claim), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    if (by_name) CheckDns1123Subdomain(by_name.AsString(), at.Child("resourceClaimName"), errors);
    if (by_template) CheckDns1123Subdomain(by_template.AsString(), at.Child("resourceClaimTemplateName"), errors);
  }
}

void CheckHostNetworkPorts(const Value& spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  if (!spec.Get("hostNetwork").AsBool()) return;
  Value containers = spec.Get("containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    Value ports = containers.At(i).Get("ports");
    for (size_t j = 0; j < ports.size(); ++j) {
      int64_t host = ports.At(j).Get("hostPort").AsInt(), own = ports.At(j).Get("containerPort").AsInt();
      if ((host == 0 && !rules.is_pod) || host == own) continue;
      errors.Invalid(path.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), host,
                     "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

std::string_view WithoutLastDot(std::string_view name) { return name.ends_with('.') ? name.substr(0, name.size() - 1) : name; }

void CheckDnsSearches(const Value& searches, const FieldPath& path, FieldErrors& errors) {
  if (searches.size() > kMaxSearches) errors.Invalid(path, searches, "must not have more than 32 search paths");
  size_t characters = searches.empty() ? 0 : searches.size() - 1;
  for (const Value& search : searches.items()) characters += search.AsString().size();
  if (characters > kMaxSearchCharacters) {
    errors.Invalid(path, searches, "must not have more than 2048 characters (including spaces) in the search list");
  }
  for (size_t i = 0; i < searches.size(); ++i) {
    std::string_view search = searches.At(i).AsString();
    if (search == ".") continue;
    search = WithoutLastDot(search);
    AddInvalid(errors, path.Index(i), search, object::IsDNS1123SubdomainWithUnderscore(search));
  }
}

void CheckDnsConfig(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value config = spec.Get("dnsConfig"), servers = config.Get("nameservers");
  if (spec.Get("dnsPolicy").AsString() == "None") {
    if (!config) return errors.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
    if (servers.empty()) {
      return errors.Required(path.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
  }
  if (servers.size() > kMaxNameservers) errors.Invalid(path.Child("nameservers"), servers, "must not have more than 3 nameservers");
  for (size_t i = 0; i < servers.size(); ++i) CheckLegacyIp(servers.At(i).AsString(), path.Child("nameservers").Index(i), errors);
  CheckDnsSearches(config.Get("searches"), path.Child("searches"), errors);
  Value options = config.Get("options");
  for (size_t i = 0; i < options.size(); ++i) {
    if (options.At(i).Get("name").AsString().empty()) errors.Required(path.Child("options").Index(i), "must not be empty");
  }
}

void CheckGates(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value readiness = spec.Get("readinessGates"), scheduling = spec.Get("schedulingGates");
  for (size_t i = 0; i < readiness.size(); ++i) {
    CheckQualifiedName(readiness.At(i).Get("conditionType").AsString(), path.Child("readinessGates").Index(i).Child("conditionType"), errors);
  }
  std::vector<std::string_view> names;
  for (size_t i = 0; i < scheduling.size(); ++i) {
    std::string_view name = scheduling.At(i).Get("name").AsString();
    FieldPath at = path.Child("schedulingGates").Index(i);
    CheckQualifiedName(name, at, errors);
    if (std::ranges::find(names, name) != names.end()) errors.Duplicate(at, name);
    names.push_back(name);
  }
}

void CheckHostnameOverride(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value name = spec.Get("hostnameOverride");
  if (!name) return;
  FieldPath at = path.Child("hostnameOverride");
  if (spec.Get("setHostnameAsFQDN").AsBool()) errors.Forbidden(at, "may not be specified when setHostnameAsFQDN is true");
  if (spec.Get("hostNetwork").AsBool()) errors.Forbidden(at, "may not be specified when hostNetwork is true");
  if (name.AsString().size() > kMaxHostname) errors.TooLong(at, kMaxHostname);
  CheckDns1123Subdomain(name.AsString(), at, errors);
}

void CheckHostAliases(const Value& aliases, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < aliases.size(); ++i) {
    CheckLegacyIp(aliases.At(i).Get("ip").AsString(), path.Index(i).Child("ip"), errors);
    Value names = aliases.At(i).Get("hostnames");
    for (size_t j = 0; j < names.size(); ++j) {
      CheckDns1123Subdomain(names.At(j).AsString(), path.Index(i).Child("hostnames").Index(j), errors);
    }
  }
}

// Environment read from a file: of a volume that the pod itself fills.
void CheckEnvFiles(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& at) {
    Value env = container.Get("env");
    for (size_t i = 0; i < env.size(); ++i) {
      Value file = env.At(i).Get("valueFrom").Get("fileKeyRef");
      if (!file) continue;
      std::string_view name = file.Get("volumeName").AsString();
      FieldPath name_path = at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName");
      auto volumes = spec.Get("volumes").items();
      auto volume = std::ranges::find_if(volumes, [&](const Value& v) { return v.Get("name").AsString() == name; });
      if (volume == volumes.end()) {
        errors.NotFound(name_path, name);
      } else if (!volume->Get("emptyDir")) {
        errors.Invalid(name_path, name, "referenced volume must be of type emptyDir");
      }
    }
  });
}

// What stands at the end: single fields, each checked if it is there.
void CheckSingleFields(const Value& spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  CheckOptionalName(spec, "serviceAccountName", object::IsDNS1123Subdomain, path, errors);
  CheckOptionalName(spec, "nodeName", object::IsDNS1123Subdomain, path, errors);
  if (Value deadline = spec.Get("activeDeadlineSeconds")) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (deadline.AsInt() < 1 || deadline.AsInt() > kMost) {
      errors.Invalid(path.Child("activeDeadlineSeconds"), deadline, object::InclusiveRangeError(1, kMost));
    }
  }
  CheckOptionalName(spec, "hostname", object::IsDNS1123Label, path, errors);
  CheckOptionalName(spec, "subdomain", object::IsDNS1123Label, path, errors);
  CheckTolerations(spec.Get("tolerations"), rules, path.Child("tolerations"), errors);
  CheckHostAliases(spec.Get("hostAliases"), path.Child("hostAliases"), errors);
  CheckOptionalName(spec, "priorityClassName", object::IsDNS1123Subdomain, path, errors);
  if (Value name = spec.Get("runtimeClassName")) CheckDns1123Subdomain(name.AsString(), path.Child("runtimeClassName"), errors);
  if (Value policy = spec.Get("preemptionPolicy")) {
    RequireOneOf(policy.AsString(), {"PreemptLowerPriority", "Never"}, path.Child("preemptionPolicy"), errors);
  }
  if (Value overhead = spec.Get("overhead")) {
    object::Arena arena;
    object::ObjectBuilder limits(arena);
    limits.Append("limits", overhead);
    CheckResourceRequirements(limits.Build(), ResourceLevel::kContainer, {}, path.Child("overhead"), rules, errors);
  }
  CheckOperatingSystem(spec, path, errors);
}

}  // namespace

void CheckPodSpec(const Value& spec, const Value& metadata, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  if (!spec.Get("terminationGracePeriodSeconds")) errors.Required(path.Child("terminationGracePeriodSeconds"));
  Value users = spec.Get("hostUsers");
  Volumes volumes = CheckVolumes(spec.Get("volumes"), metadata.Get("name").AsString(), path.Child("volumes"), rules, errors);
  CheckResourceClaims(spec.Get("resourceClaims"), metadata, path.Child("resourceClaims"), errors);
  std::vector<std::string_view> claims;
  for (const Value& claim : spec.Get("resourceClaims").items()) {
    if (!claim.Get("name").AsString().empty()) claims.push_back(claim.Get("name").AsString());
  }
  ContainerContext context{spec, volumes, claims, rules, !users || users.AsBool()};
  CheckContainers(context, path, errors);
  CheckInitContainers(context, path, errors);
  CheckEphemeralContainers(context, path, errors);
  CheckPodResources(spec, claims, path, rules, errors);
  CheckHostNetworkPorts(spec, path, rules, errors);
  RequireOneOf(spec.Get("restartPolicy").AsString(), {"Always", "OnFailure", "Never"}, path.Child("restartPolicy"), errors);
  RequireOneOf(spec.Get("dnsPolicy").AsString(), {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, path.Child("dnsPolicy"), errors);
  CheckLabels(spec.Get("nodeSelector"), path.Child("nodeSelector"), errors);
  CheckPodSecurityContext(spec, path.Child("securityContext"), rules, errors);
  CheckAffinity(spec.Get("affinity"), rules, path.Child("affinity"), errors);
  CheckDnsConfig(spec, path.Child("dnsConfig"), errors);
  CheckGates(spec, path, errors);
  CheckTopologySpread(spec.Get("topologySpreadConstraints"), rules, path.Child("topologySpreadConstraints"), errors);
  CheckHostProcesses(spec, path, errors);
  CheckHostUsers(spec, path, rules, errors);
  CheckHostnameOverride(spec, path, errors);
  CheckSingleFields(spec, path, rules, errors);
  CheckEnvFiles(spec, path, errors);
}

void CheckPodTemplateSpec(const Value& pod_template, const Value& old, const FieldPath& path, FieldErrors& errors) {
  PodRules rules = PodRules::ForTemplate(old);
  Value metadata = pod_template.Get("metadata"), spec = pod_template.Get("spec");
  CheckLabels(metadata.Get("labels"), path.Child("labels"), errors);
  CheckAnnotations(metadata.Get("annotations"), path.Child("annotations"), errors);
  CheckPodAnnotations(metadata.Get("annotations"), spec, path.Child("annotations"), rules, errors);
  CheckPodSpec(spec, Value(), path.Child("spec"), rules, errors);
  CheckAnnotationsMatchFields(metadata.Get("annotations"), spec, path.Child("spec"), errors);
  if (!spec.Get("ephemeralContainers").empty()) {
    errors.Forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template");
  }
}

}  // namespace homeostat::kinds
