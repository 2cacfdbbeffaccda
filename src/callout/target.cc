#include "callout/target.h"

#include <algorithm>
#include <vector>

#include "homeostat/base/text.h"

namespace homeostat::callout {
namespace {

using object::Value;

// Without empty segments, "." and "..", beginning with a slash and ending with none: Go's path.Join.
std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> kept;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view segment = path.substr(0, slash);
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") kept.push_back(segment);
    else if (!kept.empty()) kept.pop_back();
  }
  std::string clean;
  for (std::string_view segment : kept) clean.append("/").append(segment);
  return clean.empty() ? "/" : clean;
}

// Where the port of an authority begins, with its colon; npos without one. An IPv6 address stands in brackets.
size_t PortAt(std::string_view authority) {
  size_t colon = authority.rfind(':');
  size_t bracket = authority.rfind(']');
  return colon == authority.npos || (bracket != authority.npos && colon < bracket) ? authority.npos : colon;
}

std::string Joined(std::string_view host, int64_t port) {
  bool bare = host.find(':') == host.npos;
  return (bare ? std::string(host) : "[" + std::string(host) + "]") + ":" + std::to_string(port);
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

Status NoEndpoints(std::string_view name) {
  return ServiceUnavailableError("no endpoints available for service " + GoQuote(name));
}

// A ready endpoint of the slice at the port of that name; "" if there is none.
std::string ReadyEndpoint(Runtime& runtime, const Value& slice, std::string_view port_name) {
  for (const Value& port : slice.Get("ports").items()) {
    if (port.Get("name").AsString() != port_name || !port.Get("port")) continue;
    Value endpoints = slice.Get("endpoints");
    size_t count = endpoints.size(), first = count == 0 ? 0 : runtime.Random() % count;
    for (size_t i = 0; i < count; ++i) {
      Value endpoint = endpoints.At((first + i) % count), ready = endpoint.Path({"conditions", "ready"});
      if ((ready && !ready.AsBool()) || endpoint.Get("addresses").empty()) continue;
      return Joined(endpoint.Get("addresses").At(0).AsString(), port.Get("port").AsInt());
    }
  }
  return {};
}

Result<std::string> EndpointOf(Runtime& runtime, const kinds::ObjectReader& objects, const Value& service, std::string_view port_name) {
  std::string_view ns = service.Path({"metadata", "namespace"}).AsString(), name = service.Path({"metadata", "name"}).AsString();
  std::vector<object::DocumentPtr> slices = objects.List("discovery.k8s.io", "endpointslices", ns);
  std::erase_if(slices, [&](const object::DocumentPtr& slice) {
    return slice->root().Path({"metadata", "labels", "kubernetes.io/service-name"}).AsString() != name;
  });
  // Those of the service's first family come first.
  std::string_view family = service.Path({"spec", "ipFamilies"}).At(0).AsString();
  std::ranges::stable_partition(slices, [&](const object::DocumentPtr& slice) {
    return slice->root().Get("addressType").AsString() == family;
  });
  for (const object::DocumentPtr& slice : slices) {
    std::string address = ReadyEndpoint(runtime, slice->root(), port_name);
    if (!address.empty()) return address;
  }
  return Fail(NoEndpoints(name));
}

Result<std::string> ResolveService(Runtime& runtime, const kinds::ObjectReader& objects, const ServiceReference& reference) {
  object::DocumentPtr document = objects.Get("", "services", reference.ns, reference.name);
  if (!document) return Fail(NotFoundError("", "service", reference.name));
  Value service = document->root(), spec = service.Get("spec");
  if (spec.Get("type").AsString() == "ExternalName") return Joined(spec.Get("externalName").AsString(), reference.port);
  for (const Value& port : spec.Get("ports").items()) {
    if (port.Get("port").AsInt() == reference.port) return EndpointOf(runtime, objects, service, port.Get("name").AsString());
  }
  return Fail(ServiceUnavailableError("no service port " + std::to_string(reference.port) + " found for service " +
                                      GoQuote(reference.name)));
}

}  // namespace

Target TargetOfService(ServiceReference service, std::string_view path) {
  Target target;
  target.server_name = service.name + "." + service.ns + ".svc";
  target.authority = Joined(target.server_name, service.port);
  target.path = CleanPath(path);
  target.service = std::move(service);
  return target;
}

Result<Target> ReadClientConfig(const Value& client_config) {
  Target target;
  if (Value service = client_config.Get("service")) {
    Value port = service.Get("port");
    target = TargetOfService({std::string(service.Get("namespace").AsString()), std::string(service.Get("name").AsString()),
                              static_cast<int32_t>(port.AsInt() == 0 ? 443 : port.AsInt())},
                             service.Get("path").AsString());
  } else {
    constexpr std::string_view kScheme = "https://";
    std::string_view url = client_config.Get("url").AsString();
    if (url.empty()) return Fail(SystemError("webhook configuration must have either service or URL"));
    if (!url.starts_with(kScheme)) return Fail(SystemError("Unparsable URL: " + GoQuote(url)));
    url.remove_prefix(kScheme.size());
    size_t slash = url.find('/');
    target.authority = url.substr(0, slash);
    target.path = CleanPath(slash == url.npos ? std::string_view() : url.substr(slash));
    std::string_view host = std::string_view(target.authority).substr(0, PortAt(target.authority));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty()) return Fail(SystemError("Unparsable URL: no host"));
    target.server_name = host;
  }
  std::string_view ca = client_config.Get("caBundle").AsString();
  if (!IsBlank(ca)) target.ca = ca;
  return target;
}

Result<std::string> AddressOf(Runtime& runtime, const kinds::ObjectReader& objects, const Target& target) {
  if (target.service) return ResolveService(runtime, objects, *target.service);
  return PortAt(target.authority) == std::string::npos ? target.authority + ":443" : target.authority;
}

}  // namespace homeostat::callout
