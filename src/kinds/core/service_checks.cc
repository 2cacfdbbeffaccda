// Checks of services.
// Source of the rules: validateService and what it calls, pkg/apis/core/validation.
#include <algorithm>
#include <set>

#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "kinds/core/addresses.h"
#include "kinds/core/service.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxAffinitySeconds = 86400;
constexpr std::string_view kTopologyMode = "service.kubernetes.io/topology-mode";
constexpr std::string_view kTopologyHints = "service.kubernetes.io/topology-aware-hints";
constexpr std::string_view kSourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr std::string_view kNotChanged = "may not change once set";

BadValue Shown(const Value& list) { return list ? BadValue(list) : BadValue::Null(); }

bool IsV6(std::string_view text) {
  auto ip = object::ParseIp(text);
  return ip && ip->IsV6();
}

void CheckTopologyAnnotations(const Value& annotations, FieldErrors& errors) {
  Value mode = annotations.Get(kTopologyMode), hints = annotations.Get(kTopologyHints);
  if (!mode || !hints || mode.AsString() == hints.AsString()) return;
  FieldPath metadata("metadata");
  errors.Invalid(metadata.Child("annotations").Key(kTopologyMode), mode,
                 "must match annotations[" + std::string(kTopologyHints) + "] when both are specified");
}

void CheckByType(const Value& service, const FieldPath& path, FieldErrors& errors) {
  Value spec = service.Get("spec");
  std::string_view type = ServiceType(service);
  if (spec.Get("ports").empty() && !IsHeadless(service) && type != "ExternalName") errors.Required(path.Child("ports"));
  if ((type == "LoadBalancer" || type == "NodePort") && IsHeadless(service)) {
    errors.Invalid(path.Child("clusterIPs").Index(0), "None", "may not be set to 'None' for " + std::string(type) + " services");
  }
  if (type != "ExternalName") return;
  for (std::string_view field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (spec.Get(field)) errors.Forbidden(path.Child(field), "may not be set for ExternalName services");
  }
  std::string_view name = spec.Get("externalName").AsString();
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) errors.Required(path.Child("externalName")); else CheckDns1123Subdomain(name, path.Child("externalName"), errors);
}

void CheckPort(const Value& port, bool needs_name, std::set<std::string_view>& names, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = port.Get("name").AsString();
  if (name.empty()) {
    if (needs_name) errors.Required(path.Child("name"));
  } else {
    CheckDns1123Label(name, path.Child("name"), errors);
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
  }
  int64_t number = port.Get("port").AsInt();
  AddInvalid(errors, path.Child("port"), number, object::IsValidPortNum(number));
  RequireOneOf(port.Get("protocol").AsString(), {"SCTP", "TCP", "UDP"}, path.Child("protocol"), errors);
  CheckPortNumberOrName(port.Get("targetPort"), path.Child("targetPort"), errors);
  if (Value protocol = port.Get("appProtocol")) CheckQualifiedName(protocol.AsString(), path.Child("appProtocol"), errors);
}

void CheckPorts(const Value& ports, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < ports.size(); ++i) CheckPort(ports.At(i), ports.size() > 1, names, path.Index(i), errors);
}

void CheckAffinity(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::string_view affinity = spec.Get("sessionAffinity").AsString();
  RequireOneOf(affinity, {"ClientIP", "None"}, path.Child("sessionAffinity"), errors);
  Value config = spec.Get("sessionAffinityConfig");
  FieldPath at = path.Child("sessionAffinityConfig");
  if (affinity == "None" && config) errors.Forbidden(at, "must not be set when session affinity is None");
  if (affinity != "ClientIP") return;
  static constexpr std::string_view kWhen = "when session affinity type is ClientIP";
  if (!config) return errors.Required(at, kWhen);
  if (!config.Get("clientIP")) return errors.Required(at.Child("clientIP"), kWhen);
  Value timeout = config.Get("clientIP").Get("timeoutSeconds");
  if (!timeout) return errors.Required(at.Child("clientIP", "timeoutSeconds"), kWhen);
  if (timeout.AsInt() <= 0 || timeout.AsInt() > kMaxAffinitySeconds) {
    errors.Invalid(at.Child("clientIP", "timeoutSeconds"), timeout, "must be greater than 0 and less than 86400");
  }
}

void CheckExternalIps(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  std::vector<std::string_view> before;
  for (const Value& ip : old_spec.Get("externalIPs").items()) before.push_back(ip.AsString());
  Value ips = spec.Get("externalIPs");
  for (size_t i = 0; i < ips.size(); ++i) {
    size_t faults = errors.size();
    CheckLegacyIp(ips.At(i).AsString(), path.Index(i), errors, before);
    if (errors.size() == faults) CheckEndpointIp(ips.At(i).AsString(), path.Index(i), errors);
  }
}

// One port of the nodes, and one of the service, for each protocol.
void CheckPortUses(const Value& service, const FieldPath& path, FieldErrors& errors) {
  Value ports = service.Get("spec").Get("ports");
  if (ServiceType(service) == "ClusterIP") {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports.At(i).Get("nodePort").AsInt() != 0) errors.Forbidden(path.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'");
    }
  }
  std::set<std::pair<std::string_view, int64_t>> node_ports, own_ports;
  for (size_t i = 0; i < ports.size(); ++i) {
    int64_t port = ports.At(i).Get("nodePort").AsInt();
    if (port != 0 && !node_ports.emplace(ports.At(i).Get("protocol").AsString(), port).second) {
      errors.Duplicate(path.Index(i).Child("nodePort"), port);
    }
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string_view protocol = ports.At(i).Get("protocol").AsString();
    int64_t port = ports.At(i).Get("port").AsInt();
    if (own_ports.emplace(protocol, port).second) continue;
    errors.Duplicate(path.Index(i), BadValue::Json("{\"Name\":\"\",\"Protocol\":" + BadValue(protocol).text() + ",\"AppProtocol\":null,\"Port\":" +
                                                   std::to_string(port) + ",\"TargetPort\":0,\"NodePort\":0}"));
  }
}

void CheckSourceRanges(const Value& service, const Value& old, const FieldPath& path, FieldErrors& errors) {
  static constexpr std::string_view kOnlyBalanced = "may only be used when `type` is 'LoadBalancer'";
  bool balanced = ServiceType(service) == "LoadBalancer";
  Value ranges = service.Get("spec").Get("loadBalancerSourceRanges");
  if (!ranges.empty()) {
    FieldPath at = path.Child("LoadBalancerSourceRanges");
    if (!balanced) errors.Forbidden(at, kOnlyBalanced);
    std::vector<std::string_view> before;
    for (const Value& range : old.Get("spec").Get("loadBalancerSourceRanges").items()) before.push_back(TrimSpace(range.AsString()));
    for (size_t i = 0; i < ranges.size(); ++i) CheckLegacyCidr(TrimSpace(ranges.At(i).AsString()), at.Index(i), errors, before);
    return;
  }
  Value annotation = service.Path({"metadata", "annotations", kSourceRanges});
  if (!annotation) return;
  FieldPath metadata("metadata");
  FieldPath at = metadata.Child("annotations").Key(kSourceRanges);
  if (!balanced) errors.Forbidden(at, kOnlyBalanced);
  Value before = old.Path({"metadata", "annotations", kSourceRanges});
  std::string_view rest = TrimSpace(annotation.AsString());
  if (rest.empty() || (before && before.AsString() == annotation.AsString())) return;
  while (true) {
    size_t comma = rest.find(',');
    CheckLegacyCidr(TrimSpace(rest.substr(0, comma)), at, errors);
    if (comma == rest.npos) return;
    rest.remove_prefix(comma + 1);
  }
}

void CheckBalancerFields(const Value& service, const FieldPath& path, FieldErrors& errors) {
  Value spec = service.Get("spec"), allocates = spec.Get("allocateLoadBalancerNodePorts");
  bool balanced = ServiceType(service) == "LoadBalancer";
  if (allocates && !balanced) errors.Forbidden(path.Child("allocateLoadBalancerNodePorts"), "may only be used when `type` is 'LoadBalancer'");
  if (!allocates && balanced) errors.Required(FieldPath("allocateLoadBalancerNodePorts"));
  if (Value name = spec.Get("loadBalancerClass")) {
    if (balanced) CheckQualifiedName(name.AsString(), path.Child("loadBalancerClass"), errors);
    else errors.Forbidden(path.Child("loadBalancerClass"), "may only be used when `type` is 'LoadBalancer'");
  }
}

void CheckTraffic(const Value& service, const FieldPath& path, FieldErrors& errors) {
  Value spec = service.Get("spec");
  std::string_view external = spec.Get("externalTrafficPolicy").AsString(), type = ServiceType(service);
  if (IsExternallyAccessible(service)) {
    RequireOneOf(external, {"Cluster", "Local"}, path.Child("externalTrafficPolicy"), errors);
  } else if (!external.empty()) {
    errors.Invalid(path.Child("externalTrafficPolicy"), external, "may only be set for externally-accessible services");
  }
  int64_t health_port = spec.Get("healthCheckNodePort").AsInt();
  FieldPath health_path = path.Child("healthCheckNodePort");
  if (!NeedsHealthCheck(service)) {
    if (health_port != 0) {
      errors.Invalid(health_path, health_port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
    }
  } else if (health_port == 0) {
    errors.Required(health_path);
  } else {
    AddInvalid(errors, health_path, health_port, object::IsValidPortNum(health_port));
  }
  Value internal = spec.Get("internalTrafficPolicy");
  if (internal) CheckOneOf(internal.AsString(), {"Cluster", "Local"}, path.Child("internalTrafficPolicy"), errors);
  else if (IsOneOf(type, {"NodePort", "LoadBalancer", "ClusterIP"})) errors.Required(path.Child("internalTrafficPolicy"));
  if (Value distribution = spec.Get("trafficDistribution")) {
    const std::initializer_list<std::string_view> kKnown = {"PreferClose", "PreferSameZone", "PreferSameNode"};
    if (!IsOneOf(distribution.AsString(), kKnown)) errors.NotSupportedText(path.Child("trafficDistribution"), distribution.AsString(), kKnown);
  }
}

// A list of up to two, of which the second may come and, as a single-stack service, go.
void CheckTwoStackChange(const Value& service, const Value& old, std::string_view field, std::string_view what, bool by_item, FieldErrors& errors) {
  Value spec = service.Get("spec"), now = spec.Get(field), before = old.Get("spec").Get(field);
  FieldPath root("spec");
  FieldPath path = root.Child(field);
  // What is shown of families that differ are the addresses: so clients know it.
  auto first_changed = [&] { return !now.empty() && !before.empty() && now.At(0).AsString() != before.At(0).AsString(); };
  BadValue shown_first = Shown(by_item ? now : spec.Get("clusterIPs"));
  if (now.size() == before.size()) {
    for (size_t i = 0; i < before.size(); ++i) {
      if (now.At(i).AsString() != before.At(i).AsString()) errors.Invalid(path.Index(by_item ? i : 0), Shown(now), kNotChanged);
    }
  } else if (before.size() > now.size()) {
    if (spec.Get("clusterIPs").empty()) errors.Invalid(path.Index(0), Shown(now), "primary " + std::string(what) + " can not be unset");
    if (first_changed()) errors.Invalid(path.Index(0), shown_first, kNotChanged);
    Value policy = spec.Get("ipFamilyPolicy");
    if (now.size() == 1 && policy.AsString() != "SingleStack") {
      errors.Invalid(root.Child("ipFamilyPolicy"), policy, "must be set to 'SingleStack' when releasing the secondary " + std::string(what));
    }
  } else if (first_changed()) {
    errors.Invalid(path.Index(0), shown_first, kNotChanged);
  }
}

}  // namespace

bool IsExternallyAccessible(const Value& service) {
  std::string_view type = ServiceType(service);
  return type == "LoadBalancer" || type == "NodePort" || (type == "ClusterIP" && !service.Get("spec").Get("externalIPs").empty());
}

bool NeedsHealthCheck(const Value& service) {
  return ServiceType(service) == "LoadBalancer" && service.Get("spec").Get("externalTrafficPolicy").AsString() == "Local";
}

void CheckServiceAddresses(const Value& service, const Value& old, FieldErrors& errors) {
  if (ServiceType(service) == "ExternalName") return;
  Value spec = service.Get("spec"), ips = spec.Get("clusterIPs"), families = spec.Get("ipFamilies");
  std::string_view first = spec.Get("clusterIP").AsString();
  FieldPath root("spec");
  FieldPath path = root.Child("clusterIPs");
  if (first.empty()) {
    if (!ips.empty()) errors.Invalid(path, ips, "must be empty when `clusterIP` is not specified");
  } else if (ips.empty()) {
    errors.Required(path);
  } else if (ips.At(0).AsString() != first) {
    errors.Invalid(path, ips, "first value must match `clusterIP`");
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < families.size(); ++i) {
    std::string_view family = families.At(i).AsString();
    FieldPath at = root.Child("ipFamilies").Index(i);
    CheckOneOf(family, {"IPv4", "IPv6"}, at, errors);
    if (!seen.insert(family).second) errors.Duplicate(at, family);
  }
  if (Value policy = spec.Get("ipFamilyPolicy")) {
    CheckOneOf(policy.AsString(), {"PreferDualStack", "RequireDualStack", "SingleStack"}, root.Child("ipFamilyPolicy"), errors);
  }
  std::vector<std::string_view> before;
  for (const Value& ip : old.Get("spec").Get("clusterIPs").items()) before.push_back(ip.AsString());
  bool invalid = false;
  for (size_t i = 0; i < ips.size(); ++i) {
    if (i == 0 && ips.At(0).AsString() == "None") {
      if (ips.size() > 1) errors.Invalid(path, ips, "'None' must be the first and only value");
      invalid = invalid || ips.size() > 1;
      continue;
    }
    size_t faults = errors.size();
    CheckLegacyIp(ips.At(i).AsString(), path.Index(i), errors, before);
    invalid = invalid || errors.size() != faults;
  }
  if (ips.size() > 2) errors.Invalid(path, ips, "may only hold up to 2 values");
  if (invalid) return;
  if (ips.size() > 1) {
    auto v6 = std::ranges::count_if(ips.items(), [](const Value& ip) { return IsV6(ip.AsString()); });
    if (v6 == 0 || v6 == static_cast<ptrdiff_t>(ips.size())) errors.Invalid(path, ips, "may specify no more than one IP for each IP family");
  }
  if (IsHeadless(service)) return;
  for (size_t i = 0; i < std::min(ips.size(), families.size()); ++i) {
    std::string_view family = families.At(i).AsString();
    bool v6 = IsV6(ips.At(i).AsString());
    if ((family == "IPv4" && v6) || (family == "IPv6" && !v6)) {
      errors.Invalid(path.Index(i), ips.At(i), "expected an " + std::string(family) + " value as indicated by `ipFamilies[" + std::to_string(i) + "]`");
    }
  }
}

void CheckService(const Value& service, const Value& old, FieldErrors& errors) {
  Value spec = service.Get("spec");
  FieldPath path("spec");
  CheckTopologyAnnotations(service.Get("metadata").Get("annotations"), errors);
  CheckByType(service, path, errors);
  CheckPorts(spec.Get("ports"), path.Child("ports"), errors);
  CheckLabels(spec.Get("selector"), path.Child("selector"), errors);
  CheckAffinity(spec, path, errors);
  CheckServiceAddresses(service, old, errors);
  CheckExternalIps(spec, old.Get("spec"), path.Child("externalIPs"), errors);
  RequireOneOf(ServiceType(service), {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, path.Child("type"), errors);
  CheckPortUses(service, path.Child("ports"), errors);
  CheckSourceRanges(service, old, path, errors);
  CheckBalancerFields(service, path, errors);
  CheckTraffic(service, path, errors);
}

void CheckServiceUpdate(const Value& service, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  bool named = ServiceType(service) == "ExternalName" || ServiceType(old) == "ExternalName";
  bool headless = IsHeadless(service), was_headless = IsHeadless(old);
  if (!named && !(headless && was_headless)) CheckTwoStackChange(service, old, "clusterIPs", "clusterIP", true, errors);
  if (!named && !headless && !was_headless) CheckTwoStackChange(service, old, "ipFamilies", "ipFamily", false, errors);
  bool balanced = ServiceType(service) == "LoadBalancer";
  Value name = service.Get("spec").Get("loadBalancerClass"), old_name = old.Get("spec").Get("loadBalancerClass");
  if (balanced && ServiceType(old) == "LoadBalancer" && !object::Equal(name, old_name)) {
    errors.Invalid(path.Child("loadBalancerClass"), name, kNotChanged);
  }
  if (name) {
    if (balanced) CheckQualifiedName(name.AsString(), path.Child("loadBalancerClass"), errors);
    else errors.Forbidden(path.Child("loadBalancerClass"), "may only be used when `type` is 'LoadBalancer'");
  }
  if (NeedsHealthCheck(service) && NeedsHealthCheck(old) &&
      service.Get("spec").Get("healthCheckNodePort").AsInt() != old.Get("spec").Get("healthCheckNodePort").AsInt()) {
    errors.Forbidden(path.Child("healthCheckNodePort"), kImmutable);
  }
  CheckService(service, old, errors);
}

void CheckServiceStatusUpdate(const Value& service, const Value& old, FieldErrors& errors) {
  FieldPath status("status");
  FieldPath path = status.Child("loadBalancer", "ingress");
  Value ingress = service.Path({"status", "loadBalancer", "ingress"});
  if (ServiceType(service) != "LoadBalancer" && !ingress.empty()) {
    return errors.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
  }
  std::vector<std::string_view> before;
  for (const Value& entry : old.Path({"status", "loadBalancer", "ingress"}).items()) {
    if (!entry.Get("ip").AsString().empty()) before.push_back(entry.Get("ip").AsString());
  }
  for (size_t i = 0; i < ingress.size(); ++i) {
    FieldPath at = path.Index(i);
    std::string_view ip = ingress.At(i).Get("ip").AsString(), host = ingress.At(i).Get("hostname").AsString();
    Value mode = ingress.At(i).Get("ipMode");
    if (!ip.empty()) CheckLegacyIp(ip, at.Child("ip"), errors, before);
    if (!mode) {
      if (!ip.empty()) errors.Required(at.Child("ipMode"), "must be specified when `ip` is set");
    } else if (ip.empty()) {
      errors.Forbidden(at.Child("ipMode"), "may not be specified when `ip` is not set");
    } else {
      CheckOneOf(mode.AsString(), {"Proxy", "VIP"}, at.Child("ipMode"), errors);
    }
    if (host.empty()) continue;
    CheckDns1123Subdomain(host, at.Child("hostname"), errors);
    if (object::ParseIp(host)) errors.Invalid(at.Child("hostname"), host, "must be a DNS name, not an IP address");
  }
}

}  // namespace homeostat::kinds
