#include "http/internal/http2_client.h"

#include <deque>
#include <optional>

#include "homeostat/base/text.h"
#include "http/internal/message_text.h"
#include "http/internal/parser.h"
#include "http/internal/syntax.h"

namespace homeostat::http::internal {

// One request and what has come back for it. States: waiting → has_head → ended (all came) or closed before that
// (failed).
struct Http2Client::CallStream : Http2Stream {
  CallStream(Runtime& runtime, Http2Session& session) : Http2Stream(runtime, session), changed(runtime) {}

  int code = 0;
  Headers headers;
  bool has_head = false;
  size_t head_bytes = 0, head_lines = 0;
  std::deque<Bytes> pieces;
  bool ended = false;
  bool closed = false;
  uint32_t error = 0;  // once closed
  bool lost = false;   // closed with the connection
  Signal changed;

  Status Failure() const {
    if (lost) return ConnectionError("the HTTP/2 connection was lost");
    return ConnectionError("the server reset the HTTP/2 stream (error " + std::to_string(error) + ")");
  }
};

// The caller's hold on a stream: letting go of it before the end cancels the request.
struct Http2Client::Exchange {
  Exchange(std::shared_ptr<Http2Client> session, std::shared_ptr<CallStream> stream)
      : session(std::move(session)), stream(std::move(stream)) {}
  Exchange(Exchange&&) = default;
  ~Exchange() {
    if (stream && !stream->closed) session->Reset(*stream, Http2Error::kCancel);
  }
  std::shared_ptr<Http2Client> session;
  std::shared_ptr<CallStream> stream;
};

class Http2Client::Body : public BodyReader {
 public:
  explicit Body(Exchange exchange) : exchange_(std::move(exchange)) {}

  Task<Result<Bytes>> Read() override {
    CallStream& stream = *exchange_.stream;
    while (stream.pieces.empty() && !stream.ended && !stream.closed) {
      auto wait = stream.changed.Wait();
      co_await wait;
    }
    if (stream.pieces.empty()) {
      if (stream.ended) co_return Bytes();
      co_return Fail(stream.Failure());
    }
    Bytes piece = std::move(stream.pieces.front());
    stream.pieces.pop_front();
    if (!stream.closed) exchange_.session->Consumed(stream, piece.size());
    co_return std::move(piece);
  }

 private:
  Exchange exchange_;
};

namespace {

Result<Http2Fields> RequestFields(const Request& request, std::string_view host, std::string_view scheme) {
  if (!IsToken(request.method)) return Fail(BadRequestError("the request's method can't be sent"));
  if (!IsPath(request.path) || !IsQuery(request.query))
    return Fail(BadRequestError("the request's path can't be sent"));
  std::string target = request.query.empty() ? request.path : request.path + "?" + request.query;
  std::string_view given_host = request.headers.Get("Host");
  Http2Fields fields = {{":method", request.method}};
  fields.emplace_back(":scheme", scheme);
  fields.emplace_back(":authority", given_host.empty() ? host : given_host);
  fields.emplace_back(":path", std::move(target));
  for (const auto& [name, value] : request.headers.lines()) {
    if (EqualsIgnoreCase(name, "Host") || EqualsIgnoreCase(name, "Content-Length") || IsConnectionField(name)) continue;
    if (!IsToken(name) || !IsFieldValue(value)) return Fail(BadRequestError("the header " + name + " can't be sent"));
    fields.emplace_back(LowerCase(name), value);
  }
  if (!request.body.empty()) fields.emplace_back("content-length", std::to_string(request.body.size()));
  return fields;
}

}  // namespace

std::shared_ptr<Http2Client> Http2Client::Make(Runtime& runtime, std::unique_ptr<Stream> stream, Http2Options options) {
  std::shared_ptr<Http2Client> made(new Http2Client(runtime, std::move(stream), options));
  made->Start();
  return made;
}

Task<Result<Response>> Http2Client::Do(const Request* request, std::string host, bool* unprocessed) {
  std::shared_ptr<Http2Client> self = shared_from_this();
  CO_TRY_ASSIGN(Http2Fields fields, RequestFields(*request, host, "https"));
  auto stream = std::make_shared<CallStream>(runtime(), *this);
  if (!Open(stream, fields, request->body.empty())) {
    *unprocessed = true;
    co_return Fail(ConnectionError("the HTTP/2 connection takes no more requests"));
  }
  Exchange exchange(self, stream);
  if (!request->body.empty()) {
    Send(*stream, request->body);
    EndBody(*stream);
  }
  while (!stream->has_head && !stream->closed) {
    auto wait = stream->changed.Wait();
    co_await wait;
  }
  if (!stream->has_head) {
    *unprocessed = stream->error == static_cast<uint32_t>(Http2Error::kRefusedStream);
    co_return Fail(stream->Failure());
  }
  Response response;
  response.code = stream->code;
  response.headers = std::move(stream->headers);
  bool empty = stream->ended && stream->pieces.empty();
  if (!empty) response.stream = std::make_unique<Body>(std::move(exchange));
  co_return std::move(response);
}

bool Http2Client::OnField(Http2Stream& base, std::string_view name, std::string_view value) {
  auto& stream = static_cast<CallStream&>(base);
  if (stream.has_head) return true;  // a trailer
  stream.head_bytes += name.size() + value.size() + 32;
  stream.head_lines += 1;
  if (stream.head_bytes > options().header_bytes || stream.head_lines > kMaxFieldLines) return false;
  if (name == ":status") {
    stream.code = static_cast<int>(ParseLength(value).value_or(0));
  } else if (!name.starts_with(':')) {
    stream.headers.Add(name, value);
  }
  return true;
}

void Http2Client::OnHead(Http2Stream& base, bool) {
  auto& stream = static_cast<CallStream&>(base);
  if (stream.has_head) return;
  if (stream.code < 200) {  // informational: the answer proper follows
    stream.headers = Headers();
    return;
  }
  stream.has_head = true;
  stream.changed.Notify();
}

void Http2Client::OnData(Http2Stream& base, std::string_view data) {
  auto& stream = static_cast<CallStream&>(base);
  stream.pieces.push_back(Bytes::Copy(data));
  stream.changed.Notify();
}

void Http2Client::OnEnd(Http2Stream& base) {
  auto& stream = static_cast<CallStream&>(base);
  stream.ended = true;
  stream.changed.Notify();
}

void Http2Client::OnClosed(Http2Stream& base, uint32_t error) {
  auto& stream = static_cast<CallStream&>(base);
  stream.closed = true;
  stream.error = error;
  stream.changed.Notify();
}

void Http2Client::OnSessionEnd() {
  for (auto& [id, base] : streams()) {
    auto& stream = static_cast<CallStream&>(*base);
    stream.closed = stream.lost = true;
    stream.changed.Notify();
  }
}

}  // namespace homeostat::http::internal
