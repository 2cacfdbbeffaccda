// Bootstrap: the objects every cluster has from its first moment: namespaces, RBAC's roles and bindings, flow control,
// priority classes, the Service of the API itself. What exists is left as it is; what is missing is made again at each start.
#pragma once

#include <memory>
#include <string>

#include "cache/cache.h"
#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"
#include "server/resources.h"

namespace homeostat::server {

struct BootstrapOptions {
  std::string service_cidr;
  std::string advertise_address;
  uint16_t advertise_port = 6443;
  std::string authority_certificate;     // PEM
};

// Writes through `transport`, as the server's own user.
Task<Result<void>> Bootstrap(Runtime& runtime, const cache::Cache& cache, const Resources& resources,
                             std::shared_ptr<http::Handler> transport, BootstrapOptions options);

// The first address of a range, which is the API server's own: 10.96.0.1 of 10.96.0.0/16.
Result<std::string> FirstServiceAddress(std::string_view cidr);

}  // namespace homeostat::server
