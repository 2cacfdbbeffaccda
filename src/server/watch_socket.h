// A watch over WebSocket (RFC 6455): one message an event, as browsers and fabric8's Java client read it.
// Source: apiserver/pkg/endpoints/handlers/watch.go, and the handshake of golang.org/x/net/websocket that it uses.
#pragma once

#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"
#include "server/negotiation.h"

namespace homeostat::server {

// True when the client asks to change to WebSocket.
bool WantsWebSocket(const http::Request& request);

// What answers such a request: an upgrade to a socket with the events of `watch`, the answer over HTTP, whose pieces hold
// whole frames in that encoding. JSON comes in text messages, protobuf in binary ones without the length that a stream has.
// The socket is closed (1000) when the watch ends, and the watch ends with the socket; what the client says is ignored.
// As upstream answers, a request without an Origin is refused with 403, and with 400 one that offers several subprotocols,
// not counting the one that carries a token.
http::Response WatchOverWebSocket(Runtime& runtime, const http::Request& request, http::Response watch, Encoding encoding);

}  // namespace homeostat::server
