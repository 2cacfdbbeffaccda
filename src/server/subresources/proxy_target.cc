#include "server/subresources/proxy_target.h"

#include <algorithm>
#include <charconv>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/host_port.h"
#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"

namespace homeostat::server {
namespace {

using api::core::v1::EndpointAddress;
using api::core::v1::Endpoints;
using api::core::v1::EndpointSubset;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;

// A machine's own addresses and those of no single one can't be reached through the API server.
bool IsAllowed(std::string_view text) {
  auto ip = object::ParseIp(text);
  return ip && !ip->IsUnspecified() && !ip->IsLoopback() && !ip->IsLinkLocalUnicast() && !ip->IsMulticast() &&
         ip->ToString() != "255.255.255.255";
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<ProxyTarget> FindPod(RequestContext& context, const ProxyName& asked) {
  object::DocumentPtr document = context.parts.objects.Get("", "pods", context.info.ns, asked.name);
  if (!document) return Fail(NotFoundError("", "pods", asked.name));
  Pod pod(document->root());
  ProxyTarget target{asked.scheme == "https", "", asked.port, ""};
  for (auto container : pod.spec().containers()) {
    if (!target.port.empty() || container.ports().empty()) continue;
    target.port = std::to_string(container.ports()[0].container_port());
  }
  target.host = pod.status().pod_ips().empty() ? pod.status().pod_ip() : pod.status().pod_ips()[0].ip();
  if (!IsAllowed(target.host)) return Fail(BadRequestError("address not allowed"));
  return target;
}

// Only pods are asked, under an address that is theirs.
bool IsPodsAddress(RequestContext& context, const EndpointAddress& address) {
  if (!address.has_target_ref()) return false;
  auto reference = address.target_ref();
  if (reference.namespace_() != context.info.ns || (!reference.kind().empty() && reference.kind() != "Pod")) return false;
  object::DocumentPtr pod = context.parts.objects.Get("", "pods", reference.namespace_(), reference.name());
  if (!pod) return false;
  for (auto ip : Pod(pod->root()).status().pod_ips()) if (ip.ip() == address.ip()) return true;
  return false;
}

std::optional<ProxyTarget> FindIn(RequestContext& context, const EndpointSubset& subset, std::string_view port_name) {
  for (auto port : subset.ports()) {
    if (port.name() != port_name || subset.addresses().empty()) continue;
    size_t count = subset.addresses().size(), first = context.runtime().Random() % count;
    for (size_t i = 0; i < count; ++i) {
      EndpointAddress address = subset.addresses()[static_cast<ptrdiff_t>((first + i) % count)];
      if (IsPodsAddress(context, address)) return ProxyTarget{false, std::string(address.ip()), std::to_string(port.port()), ""};
    }
  }
  return std::nullopt;
}

Result<ProxyTarget> FindService(RequestContext& context, const ProxyName& asked) {
  std::string port = asked.port;
  auto none = [&](std::string_view name) {
    return Fail(ServiceUnavailableError("no endpoints available for service " + GoQuote(name)));
  };
  if (auto number = Number(port)) {
    object::DocumentPtr service = context.parts.objects.Get("", "services", context.info.ns, asked.name);
    if (!service) return Fail(NotFoundError("", "services", asked.name));
    bool found = false;
    for (auto declared : Service(service->root()).spec().ports()) {
      if (found || declared.port() != *number) continue;
      port = declared.name();
      found = true;
    }
    if (!found) {
      return Fail(ServiceUnavailableError("no service port " + std::to_string(*number) + " found for service " + GoQuote(asked.name)));
    }
  }
  object::DocumentPtr document = context.parts.objects.Get("", "endpoints", context.info.ns, asked.name);
  if (!document) return Fail(NotFoundError("", "services", asked.name));  // as upstream calls it
  Endpoints endpoints(document->root());
  size_t count = endpoints.subsets().size();
  if (count == 0) return none(asked.name);
  size_t first = context.runtime().Random() % count;
  for (size_t i = 0; i < count; ++i) {
    auto found = FindIn(context, endpoints.subsets()[static_cast<ptrdiff_t>((first + i) % count)], port);
    if (!found) continue;
    found->tls = asked.scheme == "https";
    if (!IsAllowed(found->host)) return Fail(BadRequestError("address not allowed"));
    return *found;
  }
  return none(context.info.name);
}

// The node's own API, or a port of its machine.
Result<ProxyTarget> FindNode(RequestContext& context, const ProxyName& asked) {
  object::DocumentPtr document = context.parts.objects.Get("", "nodes", "", asked.name);
  if (!document) return Fail(NotFoundError("", "nodes", asked.name));
  auto status = Node(document->root()).status();
  const Status nowhere(500, "", "no preferred addresses found; known addresses: []");
  if (status.addresses().empty()) return Fail(nowhere);
  int32_t own_port = status.daemon_endpoints().kubelet_endpoint().port();
  if (own_port <= 0) own_port = 10250;
  if (asked.port.empty() || asked.port == std::to_string(own_port)) return ProxyTarget{true, "", "", asked.name};
  for (std::string_view type : {"InternalIP", "ExternalIP"}) {
    for (auto address : status.addresses()) {
      if (address.type() != type) continue;
      if (!IsAllowed(address.address())) return Fail(BadRequestError("address not allowed"));
      return ProxyTarget{asked.scheme == "https", std::string(address.address()), asked.port, ""};
    }
  }
  return Fail(nowhere);
}

}  // namespace

std::optional<ProxyName> ParseProxyName(std::string_view text) {
  std::vector<std::string> parts(1);
  for (char c : text) if (c == ':') parts.emplace_back(); else parts.back() += c;
  if (parts.size() > 3) return std::nullopt;
  ProxyName name;
  if (parts.size() == 3) name.scheme = parts[0];
  name.name = parts[parts.size() == 3 ? 1 : 0];
  if (parts.size() > 1) name.port = parts.back();
  bool known = name.scheme.empty() || name.scheme == "http" || name.scheme == "https";
  return known && !name.name.empty() ? std::optional(name) : std::nullopt;
}

std::string ProxyTarget::Authority() const {
  return JoinHostPort(host, !port.empty() ? port : tls ? "443" : "80");
}

Result<ProxyTarget> FindProxyTarget(RequestContext& context) {
  auto asked = ParseProxyName(context.info.name);
  std::string_view resource = context.kind().plural;
  if (!asked) {
    std::string singular(resource.substr(0, resource.size() - 1));
    return Fail(BadRequestError("invalid " + singular + " request " + GoQuote(context.info.name)));
  }
  if (resource == "pods") return FindPod(context, *asked);
  return resource == "services" ? FindService(context, *asked) : FindNode(context, *asked);
}

}  // namespace homeostat::server
