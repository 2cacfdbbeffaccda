#include "node/pod_facts.h"

#include <set>

#include "homeostat/base/text.h"
#include "node/errors.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

void AddVolumeNames(core::Volume volume, std::set<std::string>& config_maps, std::set<std::string>& secrets) {
  if (volume.has_config_map()) config_maps.emplace(volume.config_map().name());
  if (volume.has_secret()) secrets.emplace(volume.secret().secret_name());
  for (core::VolumeProjection source : volume.projected().sources()) {
    if (source.has_config_map()) config_maps.emplace(source.config_map().name());
    if (source.has_secret()) secrets.emplace(source.secret().name());
  }
}

// metadata.labels['key'] → the key; nullopt for a path without subscript.
std::optional<std::string_view> Subscript(std::string_view path, std::string_view base) {
  if (!path.starts_with(base)) return std::nullopt;
  path.remove_prefix(base.size());
  if (!path.starts_with("['") || !path.ends_with("']")) return std::nullopt;
  return path.substr(2, path.size() - 4);
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

// key="value" lines, sorted.
std::string ShownMap(schema::MapView<std::string_view> map) {
  std::map<std::string_view, std::string_view> sorted;
  for (auto [key, value] : map) sorted[key] = value;
  std::string out;
  for (const auto& [key, value] : sorted) {
    if (!out.empty()) out += '\n';
    out += std::string(key) + "=" + GoQuote(value);
  }
  return out;
}

int64_t DividedUp(int64_t value, int64_t divisor) { return divisor <= 0 ? value : (value + divisor - 1) / divisor; }

}  // namespace

ReferencedNames NamesOf(core::PodSpec spec) {
  std::set<std::string> config_maps, secrets;
  for (const ContainerSpec& item : AllContainers(spec)) {
    for (core::EnvFromSource source : item.container.env_from()) {
      if (source.has_config_map_ref()) config_maps.emplace(source.config_map_ref().name());
      if (source.has_secret_ref()) secrets.emplace(source.secret_ref().name());
    }
    for (core::EnvVar variable : item.container.env()) {
      if (variable.value_from().has_config_map_key_ref()) config_maps.emplace(variable.value_from().config_map_key_ref().name());
      if (variable.value_from().has_secret_key_ref()) secrets.emplace(variable.value_from().secret_key_ref().name());
    }
  }
  for (core::Volume volume : spec.volumes()) AddVolumeNames(volume, config_maps, secrets);
  return {{config_maps.begin(), config_maps.end()}, {secrets.begin(), secrets.end()}};
}

Result<std::string> FieldValue(core::Pod pod, std::string_view path, const PodSurroundings& around, bool for_volume) {
  if (auto key = Subscript(path, "metadata.labels")) return std::string(pod.metadata().labels().Get(*key));
  if (auto key = Subscript(path, "metadata.annotations")) return std::string(pod.metadata().annotations().Get(*key));
  if (path == "metadata.labels" && for_volume) return ShownMap(pod.metadata().labels());
  if (path == "metadata.annotations" && for_volume) return ShownMap(pod.metadata().annotations());
  if (path == "metadata.name") return std::string(pod.metadata().name());
  if (path == "metadata.namespace") return std::string(pod.metadata().namespace_());
  if (path == "metadata.uid") return std::string(pod.metadata().uid());
  if (path == "spec.nodeName") return around.node_name;
  if (path == "spec.serviceAccountName") return std::string(pod.spec().service_account_name());
  if (path == "status.hostIP") return around.host_ips.empty() ? std::string() : around.host_ips[0];
  if (path == "status.hostIPs") return Join(around.host_ips, ",");
  if (path == "status.podIP") return around.pod_ips.empty() ? std::string() : around.pod_ips[0];
  if (path == "status.podIPs") return Join(around.pod_ips, ",");
  return Fail(NodeError("unsupported fieldPath: " + std::string(path)));
}

Result<std::string> ResourceValue(core::Container container, core::ResourceFieldSelector selector,
                                  const PodSurroundings& around) {
  std::string_view resource = selector.resource();
  size_t dot = resource.find('.');
  std::string_view list_name = resource.substr(0, dot), name = dot == std::string_view::npos ? "" : resource.substr(dot + 1);
  if ((list_name != "limits" && list_name != "requests") || name.empty()) {
    return Fail(NodeError("unsupported container resource : " + std::string(resource)));
  }
  bool cpu = name == "cpu";
  auto number = [&](std::string_view quantity) { return cpu ? MilliValue(quantity) : UnitValue(quantity); };
  bool limit = list_name == "limits";
  auto list = limit ? container.resources().limits() : container.resources().requests();
  int64_t value = number(list.Get(name));
  if (value == 0 && limit) {
    auto found = around.allocatable.find(std::string(name));
    if (found != around.allocatable.end()) value = found->second;
  }
  int64_t divisor = number(selector.divisor());
  if (divisor == 0) divisor = cpu ? 1000 : 1;
  return std::to_string(DividedUp(value, divisor));
}

PodHostname HostnameOf(core::Pod pod, std::string_view cluster_domain) {
  PodHostname result;
  core::PodSpec spec = pod.spec();
  result.name = pod.metadata().name();
  if (!spec.hostname().empty()) result.name = spec.hostname();
  if (!spec.hostname_override().empty()) result.name = spec.hostname_override();
  constexpr size_t kLongestHostname = 63;
  if (result.name.size() > kLongestHostname) {
    result.name.resize(kLongestHostname);
    while (result.name.ends_with('-') || result.name.ends_with('.')) result.name.pop_back();
  }
  if (!spec.subdomain().empty() && spec.hostname_override().empty()) {
    result.domain = std::string(spec.subdomain()) + "." + std::string(pod.metadata().namespace_()) + ".svc." +
                    std::string(cluster_domain);
  }
  return result;
}

std::string HostsAliases(core::PodSpec spec) {
  if (spec.host_aliases().empty()) return "";
  std::string out = "\n# Entries added by HostAliases.\n";
  for (core::HostAlias alias : spec.host_aliases()) {
    out += alias.ip();
    for (std::string_view name : alias.hostnames()) out += "\t" + std::string(name);
    out += '\n';
  }
  return out;
}

std::string HostsFile(core::Pod pod, const PodSurroundings& around) {
  PodHostname host = HostnameOf(pod, around.cluster_domain);
  std::string out =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
      "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
  for (const std::string& ip : around.pod_ips) {
    out += ip + "\t";
    if (!host.domain.empty()) out += host.name + "." + host.domain + "\t";
    out += host.name + "\n";
  }
  return out + HostsAliases(pod.spec());
}

Status MissingReference(std::string_view kind, std::string_view name) {
  return Status(404, "NotFound", std::string(kind) + " " + GoQuote(name) + " not found");
}

}  // namespace homeostat::node
