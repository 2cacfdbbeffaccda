// Client: sends requests to one endpoint over a pool of connections, HTTP/2 where the server offers it and HTTP/1.1
// otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat::http {

struct ClientOptions {
  std::string address;                  // as Network::Connect takes it: "127.0.0.1:6443", "unix:/path"
  std::optional<TlsClientOptions> tls;  // its protocols are chosen here
  std::string host;                     // what Host says, unless the request has its own; the address if empty
  bool http2 = true;                    // offered with TLS
  Duration connect_time = std::chrono::seconds(30);  // connecting and the TLS handshake together
  Duration head_time{};                              // from the call to the response's head. Zero: no limit
  Duration idle_time = std::chrono::seconds(90);
  size_t http1_connections = 256;  // open at once; further requests wait for one
  size_t header_bytes = 1 << 20;   // of one response
  size_t websocket_message_bytes = 1 << 20;
  // HTTP/2: a silent connection with requests under way is asked for a sign of life, and dropped without one.
  Duration ping_after = std::chrono::seconds(30);
  Duration ping_time = std::chrono::seconds(15);
};

// Connections are made when needed and kept while they serve; every response body that isn't empty is a stream to be
// pulled, and what isn't pulled holds the server back. Destroying a call's task, or a body, cancels the request. Bodies
// and WebSockets may outlive the client; the runtime must outlive them all. Loop only.
class Client : public Handler {
 public:
  Client(Runtime& runtime, ClientOptions options);
  ~Client() override;

  // The response, whatever its code. An error means that there was none: 503 when no connection was made or it broke,
  // 504 when time ran out. A request that a server certainly didn't see, and one that only reads, is sent again by
  // itself.
  Task<Result<Response>> Do(Request request);
  // The same as a transport: the error is a response with its code and a text.
  Task<Response> Handle(Request request) override;

  // Opens a WebSocket: the request's path, query and headers, and the subprotocols in order of preference. A server
  // that answers with anything but 101 becomes an error with its code and its body as the message.
  Task<Result<std::unique_ptr<WebSocket>>> ConnectWebSocket(Request request, std::vector<std::string> subprotocols);

  // Asks to change to another protocol; the request has its own Upgrade field. The stream is null if the server
  // refused: then the response says why, and the connection serves nothing else.
  struct Upgraded {
    Response response;
    std::unique_ptr<Stream> stream;
  };
  Task<Result<Upgraded>> Upgrade(Request request);

  // Connections that are open now, for tests and metrics.
  size_t open_connections() const;

 private:
  struct Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace homeostat::http
