// What an answer that was passed on must not say as it is: links of the other side's own, and who may read it. Pure.
// Source: apimachinery/pkg/util/proxy/transport.go.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/http.h"

namespace homeostat::server {

struct ProxyPlace {
  std::string prefix;     // of the proxy's path: /api/v1/namespaces/a/services/b/proxy
  std::string authority;  // host:port of the other side
  std::string host;       // what the client called this server
  bool tls = false;       // to the other side
};

// A link to the other side as one through the proxy; links to elsewhere and relative ones stay.
std::string RewriteLink(const ProxyPlace& place, std::string_view link);

// Location goes through the proxy; fields of one connection, and what the other side says about other origins, are left out.
void RewriteResponseHeaders(const ProxyPlace& place, http::Response& response);

}  // namespace homeostat::server
