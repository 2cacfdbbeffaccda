// The transport of a client: HTTP to the server that a ClientConfig names.
#pragma once

#include <memory>

#include "homeostat/base/host_port.h"
#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/kubeconfig.h"

namespace homeostat::sdk {

// HTTP/2 or HTTP/1.1 over TLS (or in the clear for http://), with the config's certificate, token or password. A token file
// is read again, off the loop, once a minute at most. The runtime must outlive it. Loop only.
Result<std::shared_ptr<http::Handler>> MakeTransport(Runtime& runtime, const ClientConfig& config);

// A server's URL in parts; the port is the scheme's own where the URL has none. For MakeTransport and its tests.
struct ServerUrl {
  bool tls = true;
  std::string host, port;
  std::string path;       // without a trailing slash
  std::string Address() const { return JoinHostPort(host, port); }
};
Result<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace homeostat::sdk
