// What of a pod and its surroundings is put into containers: fields (the downward API), resources, names, addresses. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/pod_spec.h"

namespace homeostat::node {

// What the node knows that is not in the pod's specification.
struct PodSurroundings {
  std::string node_name;
  std::vector<std::string> pod_ips, host_ips;
  // Of the node: what a container without a limit may use. cpu in thousandths, the others in units.
  std::map<std::string, int64_t> allocatable;
  std::string cluster_domain = "cluster.local";
};

// ConfigMaps and Secrets that a pod refers to, by name; null for one that does not exist.
struct PodReferences {
  std::map<std::string, object::DocumentPtr, std::less<>> config_maps, secrets;
};

// The names a pod refers to, in env, envFrom and volumes.
struct ReferencedNames {
  std::vector<std::string> config_maps, secrets;   // sorted, each once
};
ReferencedNames NamesOf(core::PodSpec spec);

// metadata.labels['x'], status.podIP and so on. `for_volume`: all labels and all annotations may be had as well.
Result<std::string> FieldValue(core::Pod pod, std::string_view path, const PodSurroundings& around, bool for_volume);

// limits.cpu, requests.memory …, divided by the divisor and rounded up. A limit that isn't set is the node's allocatable.
Result<std::string> ResourceValue(core::Container container, core::ResourceFieldSelector selector, const PodSurroundings& around);

// The pod's host name and, with a subdomain, its domain ("" without).
struct PodHostname {
  std::string name, domain;
};
PodHostname HostnameOf(core::Pod pod, std::string_view cluster_domain);

// /etc/hosts of a pod with a network of its own; and what is added to the node's for one that shares it.
std::string HostsFile(core::Pod pod, const PodSurroundings& around);
std::string HostsAliases(core::PodSpec spec);

// "not found" errors as the API words them: configmap "x" not found.
Status MissingReference(std::string_view kind, std::string_view name);

}  // namespace homeostat::node
