// Heads of HTTP/1.1 messages as text, and what both versions agree on about what may be sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"

namespace homeostat::http::internal {

// The Date of now, made once a second. Loop only.
class DateCache {
 public:
  explicit DateCache(Runtime& runtime) : runtime_(runtime) {}
  std::string_view Now();

 private:
  Runtime& runtime_;
  int64_t second_ = -1;
  std::string text_;
};

// How a response's body will be delimited on an HTTP/1.1 connection.
struct ResponseFraming {
  std::optional<uint64_t> length;
  bool chunked = false;
  bool close = false;        // the connection ends after it
  bool keep_alive = false;   // said to an HTTP/1.0 client that asked for it
  std::string_view upgrade;  // the protocol that follows a 101
};

// The head of a response up to its empty line. The framing is ours alone: the fields of the connection and, except for
// an answer to HEAD, Content-Length are not taken from the handler.
std::string ResponseHeadText(const Response& response, const ResponseFraming& framing, bool answers_head,
                             std::string_view date);

// The field as it may be sent: a bad name gives "", so the field is dropped; line breaks in the value become spaces,
// as Go does, so that a value never starts a field of its own.
std::string_view SendableName(std::string_view name);
std::string SendableValue(std::string_view value);

// Whether the code allows a body at all.
bool MayHaveBody(int code);
// A list of one, for Stream::Write. (g++ 12 miscompiles some initializer lists in coroutines.)
std::vector<Bytes> OnePart(Bytes part);
// Bytes of the whole body.
size_t BodySize(const Response& response);

// A short answer in plain text, for what never reaches a handler. The connection is closed after it.
Response PlainResponse(int code, std::string_view text);

// What a connection that isn't there, or broke, is reported as: 503.
Status ConnectionError(std::string_view what);

// The head of a request; an error if something in it can't be sent. The body, if any, has its length announced.
Result<std::string> RequestHeadText(const Request& request, std::string_view host);

}  // namespace homeostat::http::internal
