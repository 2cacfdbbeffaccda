// WebSocket (RFC 6455) over any stream; wslay does the frames. Pings are answered, and the peer's end is seen, whether
// or not somebody is receiving, as long as the messages that wait fit the limit.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat::http::internal {

struct WebSocketOptions {
  bool server = true;  // which side we are: a client masks what it sends
  std::string subprotocol;
  size_t message_bytes = 1 << 20;  // of one message, and of all that wait to be received
};

class WebSocketCore;

// The stream is past the handshake. `core`, if given, gets a handle for GoAway.
std::unique_ptr<WebSocket> MakeWebSocket(Runtime& runtime, std::unique_ptr<Stream> stream, WebSocketOptions options,
                                         std::weak_ptr<WebSocketCore>* core = nullptr);
// Tells the peer that the server goes away (1001), without waiting for its answer.
void GoAway(WebSocketCore& core);

// Sec-WebSocket-Key: 16 random bytes as base64; and what the server must answer to it.
std::string MakeWebSocketKey(Runtime& runtime);
bool IsWebSocketKey(std::string_view key);
std::string WebSocketAccept(std::string_view key);

}  // namespace homeostat::http::internal
