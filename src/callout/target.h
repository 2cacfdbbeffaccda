// Where a server of a user is: a URL, or a Service of the cluster, and what its certificate must be.
// Source of the rules: apiserver's pkg/util/webhook (client.go) and pkg/util/proxy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "kinds/behaviour.h"

namespace homeostat::callout {

struct ServiceReference {
  std::string ns, name;
  int32_t port = 443;
  bool operator==(const ServiceReference&) const = default;
};

// All servers speak TLS.
struct Target {
  std::optional<ServiceReference> service;  // where it is, is looked up anew for each call
  std::string authority;                    // host or host:port as it stands in URLs and in the field Host
  std::string path = "/";                   // percent-encoded
  std::string server_name;                  // name or address that the certificate must have
  std::string ca;                           // PEM of who may sign it; "": the system's authorities
  bool insecure_skip_verify = false;
  std::string certificate, private_key;     // PEM of who calls; "": nobody

  // "https://webhook.default.svc:443/validate".
  std::string Url() const { return "https://" + authority + path; }
};

// The server behind a Service: its certificate must be for NAME.NAMESPACE.svc.
Target TargetOfService(ServiceReference service, std::string_view path);
// From a WebhookClientConfig, of admission webhooks and of conversions alike (url, service, caBundle), typed. An error, as
// people read it, for one that names nothing to call.
Result<Target> ReadClientConfig(const object::Value& client_config);

// host:port to connect to. A Service leads to one of its ready endpoints, drawn at random; ExternalName to that name. Errors
// are upstream's: 404 `service "x" not found`, 503 where no port or no endpoint fits.
Result<std::string> AddressOf(Runtime& runtime, const kinds::ObjectReader& objects, const Target& target);

}  // namespace homeostat::callout
