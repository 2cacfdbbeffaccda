// Where a Service is reached from this process, for those who call webhooks and extension servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/runtime.h"
#include "kinds/behaviour.h"

namespace homeostat::callout {

// On an endpoint slice: the name of its service.
inline constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";

struct ServiceLocation {
  std::string host;  // an address without brackets, or a name
  int32_t port = 0;

  // host:port as URLs have it.
  std::string Authority() const;
};

// A ready endpoint of the service's port, one of the service's first address family if there is one; of an ExternalName the
// name itself. Endpoints and not the cluster's address: this process need not run where a service proxy does.
// Errors: 404 without the service, 503 without the port or without a ready endpoint, in upstream's words.
// Source: apiserver/pkg/util/proxy (ResolveEndpoint; for names ResolveCluster).
Result<ServiceLocation> LocateService(const kinds::ObjectReader& objects, Runtime& runtime, std::string_view ns, std::string_view name,
                                      int32_t port);

// The name of a service's port, which its endpoints' ports have too; nullopt: it has no port of that number.
std::optional<std::string> NameOfPort(const object::Value& service, int32_t number);

// The endpoint slices of a service.
std::vector<object::DocumentPtr> SlicesOf(const kinds::ObjectReader& objects, std::string_view ns, std::string_view service);

}  // namespace homeostat::callout
