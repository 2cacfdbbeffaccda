// Passing a request on to another server, and what comes back: what the proxies to nodes, pods and services and the one to
// extension servers have in common. Source: apimachinery/pkg/util/proxy and Go's httputil.ReverseProxy.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "http/client.h"

namespace homeostat::server {

// The protocol that the client wants to change to; "" if none.
std::string WantedUpgrade(const http::Request& request);

// The request as it goes on: at another path (percent-encoded), without the fields of its connection and those that are for
// this server alone (credentials, impersonation), and with those that say who it came from.
http::Request ForwardedRequest(const http::Request& original, std::string path);

// Leaves out the fields of one connection and what the other side says about other origins.
void RemoveConnectionFields(http::Response& response);

// Asks for the upgrade that the request wants and joins both connections; the refusal of the other side (4xx, 5xx) is
// passed on. An error has the client's text.
Task<Result<http::Response>> ForwardUpgrade(Runtime& runtime, http::ClientOptions options, http::Request request);

}  // namespace homeostat::server
