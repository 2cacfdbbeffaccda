#include "callout/service_location.h"

#include <algorithm>
#include <optional>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/base/host_port.h"
#include "homeostat/base/text.h"

namespace homeostat::callout {
namespace {

using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointPort;
using api::discovery::v1::EndpointSlice;

bool IsReady(const Endpoint& endpoint) { return !endpoint.conditions().has_ready() || endpoint.conditions().ready(); }

// A ready endpoint with that port; which one is left to chance.
std::optional<ServiceLocation> FindIn(Runtime& runtime, const EndpointSlice& slice, std::string_view port_name) {
  for (EndpointPort port : slice.ports()) {
    size_t count = slice.endpoints().size();
    if (!port.has_name() || port.name() != port_name || !port.has_port() || count == 0) continue;
    size_t first = runtime.Random() % count;
    for (size_t i = 0; i < count; ++i) {
      Endpoint endpoint = slice.endpoints()[static_cast<ptrdiff_t>((first + i) % count)];
      if (!IsReady(endpoint) || endpoint.addresses().empty()) continue;
      return ServiceLocation{std::string(endpoint.addresses()[0]), port.port()};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> NameOfPort(const object::Value& service, int32_t number) {
  for (ServicePort port : Service(service).spec().ports()) if (port.port() == number) return std::string(port.name());
  return std::nullopt;
}

std::string ServiceLocation::Authority() const {
  return JoinHostPort(host, port);
}

std::vector<object::DocumentPtr> SlicesOf(const kinds::ObjectReader& objects, std::string_view ns, std::string_view service) {
  std::vector<object::DocumentPtr> slices = objects.List("discovery.k8s.io", "endpointslices", ns);
  std::erase_if(slices, [&](const object::DocumentPtr& slice) {
    return slice->root().Path({"metadata", "labels", kServiceLabel}).AsString() != service;
  });
  return slices;
}

Result<ServiceLocation> LocateService(const kinds::ObjectReader& objects, Runtime& runtime, std::string_view ns, std::string_view name,
                                      int32_t port) {
  object::DocumentPtr document = objects.Get("", "services", ns, name);
  if (!document) return Fail(NotFoundError("", "service", name));
  Service service(document->root());
  std::string_view type = service.spec().type();
  if (type == "ExternalName") return ServiceLocation{std::string(service.spec().external_name()), port};
  if (type != "ClusterIP" && type != "NodePort" && type != "LoadBalancer") {
    return Fail(InternalError("unsupported service type " + GoQuote(type)));
  }
  std::optional<std::string> port_name = NameOfPort(document->root(), port);
  if (!port_name) {
    return Fail(ServiceUnavailableError("no service port " + std::to_string(port) + " found for service " + GoQuote(name)));
  }
  std::vector<object::DocumentPtr> slices = SlicesOf(objects, ns, name);
  for (size_t i = slices.size(); i > 1; --i) std::swap(slices[i - 1], slices[runtime.Random() % i]);
  if (!service.spec().ip_families().empty()) {
    std::ranges::stable_partition(slices, [&](const object::DocumentPtr& slice) {
      return EndpointSlice(slice->root()).address_type() == service.spec().ip_families()[0];
    });
  }
  for (const object::DocumentPtr& slice : slices) {
    if (auto found = FindIn(runtime, EndpointSlice(slice->root()), *port_name)) return *std::move(found);
  }
  return Fail(ServiceUnavailableError("no endpoints available for service " + GoQuote(name)));
}

}  // namespace homeostat::callout
