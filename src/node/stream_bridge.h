// Joins a caller's connection with the streams that the container runtime serves at a URL. Loop only.
#pragma once

#include <string>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::node {

// Which streams exec or attach has.
struct StreamSet {
  bool in = false, out = false, err = false, tty = false;
};

// The answer to an upgrade request: to SPDY/3.1 by passing bytes through, or to a WebSocket by translating. `url` is the
// runtime's; the runtime loop must outlive the response. If the runtime refuses, its answer becomes an error: nothing is
// left spliced together.
Task<http::Response> BridgeExec(Runtime& runtime, http::Request request, std::string url, StreamSet streams);
Task<http::Response> BridgePortForward(Runtime& runtime, http::Request request, std::string url);

// Pure: the subprotocol that is chosen from those a client offers; "" if none fits (with none offered: channel.k8s.io).
std::string ChooseSubprotocol(std::string_view offered, const std::vector<std::string>& known);

}  // namespace homeostat::node
