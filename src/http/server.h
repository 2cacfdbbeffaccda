// Server: takes connections from a listener and has a Handler answer their requests, over HTTP/1.1, HTTP/2 and
// WebSocket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat::http {

// Limits. Those that kube-apiserver has carry its values; where it has none, the field says why there is one.
struct ServerOptions {
  size_t header_bytes = 1 << 20;                    // of one request; over it: 431
  Duration header_time = std::chrono::seconds(32);  // to read a header, and to shake hands
  Duration idle_time = std::chrono::seconds(90);    // between requests
  size_t body_bytes = 3 << 20;                      // over it: the handler sees body_too_large
  Duration body_time = std::chrono::seconds(60);    // to read a body: upstream's request deadline
  Duration write_time = std::chrono::minutes(10);   // a peer that takes nothing for so long is dropped; none upstream
  size_t buffered_body_bytes = 512 << 20;           // all request bodies held at once; over it: 429. None upstream
  uint32_t streams_per_connection = 100;            // HTTP/2
  uint32_t stream_window = 256 << 10;               // HTTP/2: bytes of a body a client may send ahead
  uint32_t frame_bytes = 256 << 10;                 // HTTP/2
  size_t connections = 20000;                       // in total; none upstream
  size_t connections_per_client = 256;              // from one address; Unix sockets are not counted. None upstream
  size_t websocket_message_bytes = 1 << 20;         // of one incoming message, put together from its frames

  // A handler let an exception escape; its request is answered with 500. For logs and counters.
  std::function<void(std::string_view what)> on_handler_exception;
};

// What has happened since the start, for metrics.
struct ServerCounters {
  uint64_t connections_accepted = 0;
  uint64_t connections_refused = 0;  // over a limit
  uint64_t handshakes_failed = 0;
  uint64_t requests = 0;            // handed to the handler
  uint64_t requests_refused = 0;    // answered without it: malformed, too large, no memory
  uint64_t connections_abused = 0;  // ended for too many resets
  uint64_t handler_exceptions = 0;
};

// Every connection and request is a task of the server's own: destroying the server destroys them all. When a peer goes
// away, or an HTTP/2 stream is reset, the task of its handler and its body reader are destroyed. Loop only.
class Server {
 public:
  // `tls` may be null for plain HTTP/1.1. The runtime and the handler must outlive the server.
  Server(Runtime& runtime, std::unique_ptr<Listener> listener, std::shared_ptr<TlsServer> tls, Handler& handler,
         ServerOptions options = {});
  ~Server();

  // Begins to accept.
  void Start();
  // Stops accepting, ends streamed bodies where they are (a watch ends cleanly), tells WebSockets to go away, waits at
  // most `grace` for the requests under way, then drops what is left. Not from inside a handler.
  Task<void> Shutdown(Duration grace);

  std::string address() const;
  size_t open_connections() const;
  const ServerCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace homeostat::http
