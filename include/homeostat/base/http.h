// HTTP messages as values, the same for client and server, in-process or over a socket. A Handler is a function from
// Request to Response; the server is one, and so is every transport a client can use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/bytes.h"
#include "homeostat/base/net.h"
#include "homeostat/base/result.h"
#include "homeostat/base/task.h"

namespace homeostat::http {

// Header lines in order of arrival. Names compare without case; they are few, so look-up is linear.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> lines) : lines_(lines) {}
  std::string_view Get(std::string_view name) const;          // first value, or ""
  std::vector<std::string_view> GetAll(std::string_view name) const;
  bool Has(std::string_view name) const;
  void Add(std::string_view name, std::string_view value) { lines_.emplace_back(name, value); }
  void Set(std::string_view name, std::string_view value);
  void Remove(std::string_view name);
  const std::vector<std::pair<std::string, std::string>>& lines() const { return lines_; }

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Percent-decoded query parameters, in order, repeated ones kept.
class Query {
 public:
  static Query Parse(std::string_view text);
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string_view> GetAll(std::string_view name) const;
  void Add(std::string_view name, std::string_view value) { parameters_.emplace_back(name, value); }
  // "a=1&b=x%20y", without the question mark.
  std::string Encode() const;
  bool empty() const { return parameters_.empty(); }
  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

// A body that arrives in pieces. One Read at a time. Destroying it abandons the rest.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // The next piece; empty at the end.
  virtual Task<Result<Bytes>> Read() = 0;
};

// WebSocket messages after an upgrade (RFC 6455). Either side may send at any time; one Receive and one Send at a time.
struct WebSocketMessage {
  bool text = false;
  Bytes data;
};
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual std::string_view subprotocol() const = 0;
  // nullopt once the peer has closed.
  virtual Task<Result<std::optional<WebSocketMessage>>> Receive() = 0;
  virtual Task<Result<void>> Send(WebSocketMessage message) = 0;
  virtual Task<void> Close(uint16_t code, std::string reason) = 0;
};

struct Request {
  std::string method = "GET";
  std::string path;      // percent-encoded, as on the wire, without the query
  std::string query;     // raw, without the question mark
  Headers headers;
  Bytes body;            // whole; the server reads it up to its limit before the handler runs
  bool body_too_large = false;
  // Filled by the server side.
  std::string remote_address;
  std::shared_ptr<const PeerCertificate> peer_certificate;
  std::string protocol;  // "HTTP/1.1" or "HTTP/2.0"
};

struct Response {
  int code = 200;
  Headers headers;
  // Either the whole body, in parts that are sent without being joined …
  std::vector<Bytes> body;
  // … or one that is read until it ends (watches, logs). The server flushes each piece at once.
  std::unique_ptr<BodyReader> stream;
  // For an upgrade: code is 101, and this runs on the connection afterwards. `subprotocol` is what was chosen.
  std::string upgrade;   // "websocket", or a raw protocol such as SPDY/3.1
  std::string subprotocol;
  std::move_only_function<Task<void>(std::unique_ptr<WebSocket>)> on_websocket;
  std::move_only_function<Task<void>(std::unique_ptr<Stream>)> on_stream;
};

// Answers requests. Must outlive every task it returns. Loop only.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<Response> Handle(Request request) = 0;
};

// Reads a streamed or whole body to its end, at most `limit` bytes.
Task<Result<Bytes>> ReadAll(Response response, size_t limit);

std::string PercentDecode(std::string_view text, bool plus_is_space);
// All but unreserved characters (RFC 3986, section 2.3) and those of `also_plain` as %XX.
std::string PercentEncode(std::string_view text, std::string_view also_plain = {});

// The reason phrase of a code ("Not Found").
std::string_view ReasonPhrase(int code);

}  // namespace homeostat::http
