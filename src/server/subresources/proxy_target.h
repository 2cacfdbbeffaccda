// Where a request to …/proxy goes: the pod, the pod behind a service, or the node that the name means.
// Source: ResourceLocation of pkg/registry/core/{pod,service,node}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/context.h"

namespace homeostat::server {

// "name", "name:port" or "scheme:name:port", where the scheme is http, https or empty.
struct ProxyName {
  std::string scheme, name, port;
};
std::optional<ProxyName> ParseProxyName(std::string_view text);

struct ProxyTarget {
  bool tls = false;
  std::string host, port;  // an address without brackets; port "": the scheme's
  std::string node;        // set: the API of that node, which is not asked over the network

  // host:port as URLs have it.
  std::string Authority() const;
};

// Of the resource named by the request (pods, services or nodes): 400 for a name that is none or an address that must not be
// asked, 404 and 503 where there is nothing to ask.
Result<ProxyTarget> FindProxyTarget(RequestContext& context);

}  // namespace homeostat::server
