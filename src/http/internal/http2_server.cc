// The server's side of HTTP/2: a stream is one request, its handler's task, and the answer.
#include <algorithm>
#include <functional>

#include "homeostat/base/text.h"
#include "http/internal/http2_session.h"
#include "http/internal/parser.h"
#include "http/internal/server_context.h"
#include "http/internal/syntax.h"
#include "http/internal/time_limit.h"

namespace homeostat::http::internal {

namespace {

// A body that is refused is read to its end if it is no longer than this past the limit: curl, for one, takes an answer
// that comes with a reset, while it is still sending, for an error.
constexpr size_t kDropBytes = 8 << 20;

// Resets come one by one from clients that stop watching, and in storms from those that attack (CVE-2023-44487, and
// CVE-2025-8671 where it is the server that is made to reset): a bucket tells them apart.
class ResetBucket {
 public:
  ResetBucket(Runtime& runtime, uint32_t streams)
      : runtime_(runtime), capacity_(4.0 * streams), rate_(streams / 3.0), left_(capacity_), at_(runtime.Now()) {}
  bool Take() {
    MonotonicTime now = runtime_.Now();
    left_ = std::min(capacity_, left_ + std::chrono::duration<double>(now - at_).count() * rate_);
    at_ = now;
    left_ -= 1;
    return left_ >= 0;
  }

 private:
  Runtime& runtime_;
  double capacity_, rate_, left_;  // rate in resets a second
  MonotonicTime at_;
};

struct ServerStream : Http2Stream {
  ServerStream(ServerContext& context, Http2Session& session, std::function<void(ServerStream&)> body_expired)
      : Http2Stream(context.runtime, session),
        share(context.bodies),
        body_deadline(context.runtime, [this, expired = std::move(body_expired)] { expired(*this); }),
        sent(context.runtime),
        task(std::make_unique<TaskGroup>(context.runtime)) {}

  Request request;
  std::string authority;
  std::string body;
  size_t head_bytes = 0;
  size_t head_lines = 0;
  bool dropping = false;  // the rest of the body is of no use
  size_t dropped = 0;
  int refusal = 0;  // answered with this code instead of by the handler
  bool is_head = false;
  bool request_ended = false;  // the client has sent all
  bool started = false;
  bool streaming = false;
  BodyBudget::Share share;
  Deadline body_deadline;
  Signal sent;  // a piece has been framed: the next may be read
  std::unique_ptr<TaskGroup> task;
};

Http2Options MakeOptions(const ServerOptions& options) {
  Http2Options made;
  made.streams = options.streams_per_connection;
  made.stream_window = options.stream_window;
  made.frame_bytes = options.frame_bytes;
  made.header_bytes = options.header_bytes;
  made.head_time = options.header_time;
  made.idle_time = options.idle_time;
  made.write_time = options.write_time;
  return made;
}

class Http2Connection : public ServerConnection, public Http2Session {
 public:
  Http2Connection(ServerContext& context, std::unique_ptr<Stream> tls);
  ~Http2Connection() override { Drop(); }

  Task<void> Run() override;
  void Shutdown() override;

 private:
  std::shared_ptr<Http2Stream> OnOpen() override;
  bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void OnHead(Http2Stream& stream, bool ends) override;
  void OnData(Http2Stream& stream, std::string_view data) override;
  void OnEnd(Http2Stream& stream) override;
  void OnClosed(Http2Stream& stream, uint32_t error) override;
  void OnSent(Http2Stream& stream) override;
  void OnEndSent(Http2Stream& stream) override;
  void OnReset() override;

  void TakeField(ServerStream& stream, std::string_view name, std::string_view value);
  int CheckHead(ServerStream& stream) const;
  void StartHandler(ServerStream& stream);
  void DropBody(ServerStream& stream);
  void BodyExpired(ServerStream& stream);
  Task<void> Serve(ServerStream* stream);
  Task<Response> Answer(ServerStream* stream);
  Task<void> Pump(ServerStream* stream, BodyReader* body);
  Http2Fields ResponseFields(const Response& response, bool is_head);

  ServerContext& context_;
  std::string remote_address_;
  std::shared_ptr<const PeerCertificate> peer_certificate_;
  ResetBucket resets_;
  bool shutting_down_ = false;
};

ServerStream& Mine(Http2Stream& stream) { return static_cast<ServerStream&>(stream); }

Http2Connection::Http2Connection(ServerContext& context, std::unique_ptr<Stream> tls)
    : Http2Session(context.runtime, std::move(tls), MakeOptions(context.options)),
      context_(context),
      remote_address_(stream().remote_address()),
      resets_(context.runtime, context.options.streams_per_connection) {
  if (const PeerCertificate* certificate = stream().peer_certificate()) {
    peer_certificate_ = std::make_shared<const PeerCertificate>(*certificate);
  }
}

Task<void> Http2Connection::Run() {
  Start();
  auto wait = Wait();
  co_await wait;
}

void Http2Connection::Shutdown() {
  shutting_down_ = true;
  Hurry();
  GoAway();
  for (auto& [id, open] : streams()) {
    ServerStream& stream = Mine(*open);
    if (!stream.streaming) continue;
    stream.task.reset();
    EndBody(stream);
  }
}

std::shared_ptr<Http2Stream> Http2Connection::OnOpen() {
  // Announced as not processed, it will be sent elsewhere: it must not run here as well.
  if (going_away()) return nullptr;
  return std::make_shared<ServerStream>(context_, *this, [this](ServerStream& late) { BodyExpired(late); });
}

bool Http2Connection::OnField(Http2Stream& base, std::string_view name, std::string_view value) {
  ServerStream& stream = Mine(base);
  stream.head_bytes += name.size() + value.size() + 32;  // counted as RFC 9113, section 10.5.1 does
  stream.head_lines += 1;
  if (stream.head_bytes > options().header_bytes || stream.head_lines > kMaxFieldLines) stream.refusal = 431;
  if (stream.refusal == 0) TakeField(stream, name, value);
  if (stream.head_bytes <= 2 * options().header_bytes) return true;
  // Still talking: nobody who means well.
  Terminate(Http2Error::kEnhanceYourCalm);
  return false;
}

void Http2Connection::TakeField(ServerStream& stream, std::string_view name, std::string_view value) {
  Request& request = stream.request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    size_t question = std::min(value.find('?'), value.size());
    request.path = value.substr(0, question);
    if (question < value.size()) request.query = value.substr(question + 1);
  } else if (name == ":authority") {
    stream.authority = value;
  } else if (!name.starts_with(':')) {
    request.headers.Add(name, value);
  }
}

// What nghttp2 hasn't checked of RFC 9113, section 8.3. 0, or the code of the refusal.
int Http2Connection::CheckHead(ServerStream& stream) const {
  if (stream.refusal != 0) return stream.refusal;
  Request& request = stream.request;
  if (request.method == "CONNECT") return 405;
  bool asterisk = request.path == "*" && request.method == "OPTIONS";
  if (!asterisk && !IsPath(request.path)) return 400;
  if (!IsQuery(request.query)) return 400;
  auto hosts = request.headers.GetAll("host");
  if (hosts.size() > 1 || (hosts.size() == 1 && !stream.authority.empty() && hosts[0] != stream.authority)) return 400;
  if (!stream.authority.empty()) request.headers.Set("host", stream.authority);
  return IsHost(request.headers.Get("host")) ? 0 : 400;
}

void Http2Connection::OnHead(Http2Stream& base, bool ends) {
  ServerStream& stream = Mine(base);
  Request& request = stream.request;
  request.protocol = "HTTP/2.0";
  request.remote_address = remote_address_;
  request.peer_certificate = peer_certificate_;
  stream.is_head = request.method == "HEAD";
  stream.refusal = CheckHead(stream);
  if (stream.refusal != 0) return StartHandler(stream);
  if (ends) return;  // OnEnd follows
  auto length = ParseLength(request.headers.Get("content-length"));
  if (length && *length > context_.options.body_bytes) {
    request.body_too_large = true;
    bool expects = EqualsIgnoreCase(request.headers.Get("expect"), "100-continue");
    if (expects || *length > context_.options.body_bytes + kDropBytes) return StartHandler(stream);
    DropBody(stream);
  } else if (EqualsIgnoreCase(request.headers.Get("expect"), "100-continue")) {
    SendInformational(stream, 100);
  }
  stream.body_deadline.Set(context_.options.body_time);
}

void Http2Connection::OnData(Http2Stream& base, std::string_view data) {
  ServerStream& stream = Mine(base);
  Consumed(stream, data.size());
  if (stream.started) return;
  if (stream.dropping) {
    stream.dropped += data.size();
    if (stream.dropped > kDropBytes) StartHandler(stream);
    return;
  }
  if (data.size() > context_.options.body_bytes - stream.body.size()) {
    stream.request.body_too_large = true;
    DropBody(stream);
  } else if (!stream.share.Take(data.size())) {
    stream.refusal = 429;
    DropBody(stream);
  } else {
    stream.body.append(data);
  }
}

void Http2Connection::DropBody(ServerStream& stream) {
  stream.dropping = true;
  stream.body = std::string();
  stream.share.Release();
}

void Http2Connection::BodyExpired(ServerStream& stream) {
  if (!stream.dropping) stream.refusal = 408;
  DropBody(stream);
  StartHandler(stream);
}

void Http2Connection::OnEnd(Http2Stream& base) {
  ServerStream& stream = Mine(base);
  stream.request_ended = true;
  if (!stream.started) StartHandler(stream);
}

void Http2Connection::StartHandler(ServerStream& stream) {
  stream.started = true;
  stream.body_deadline.Clear();
  if (!stream.body.empty()) stream.request.body = std::exchange(stream.body, {});
  stream.task->Spawn(Serve(&stream));
}

void Http2Connection::OnClosed(Http2Stream&, uint32_t) {}

void Http2Connection::OnSent(Http2Stream& stream) { Mine(stream).sent.Notify(); }

void Http2Connection::OnEndSent(Http2Stream& base) {
  // Answered before the request was whole: the client is to stop sending it.
  if (!Mine(base).request_ended) Reset(base, Http2Error::kNone);
}

void Http2Connection::OnReset() {
  if (resets_.Take()) return;
  if (!going_away()) ++context_.counters.connections_abused;
  Terminate(Http2Error::kEnhanceYourCalm);
}

Task<Response> Http2Connection::Answer(ServerStream* stream) {
  if (stream->refusal == 0) return context_.Answer(std::move(stream->request));
  ++context_.counters.requests_refused;
  struct Known {
    static Task<Response> Give(Response response) { co_return std::move(response); }
  };
  if (stream->refusal == 429) return Known::Give(NoMemoryResponse());
  std::string text = std::to_string(stream->refusal) + " " + std::string(ReasonPhrase(stream->refusal));
  Response response = PlainResponse(stream->refusal, text);
  response.headers.Remove("Connection");  // one bad request is no reason to lose the others
  return Known::Give(std::move(response));
}

Task<void> Http2Connection::Serve(ServerStream* stream) {
  auto answer = Answer(stream);
  Response response = co_await answer;
  stream->share.Release();
  // There is nothing to change to in HTTP/2 (RFC 9113, section 8.6): handlers see the protocol and should not try.
  if (response.code < 200 || response.code > 599) response = PlainResponse(500, "500 Internal Server Error");
  bool closes = HasListToken(response.headers, "Connection", "close");
  bool has_body = MayHaveBody(response.code) && !stream->is_head && (response.stream || BodySize(response) > 0);
  Respond(*stream, ResponseFields(response, stream->is_head), !has_body);
  if (closes) GoAway();
  if (!has_body) co_return;
  if (response.stream) {
    auto run = Pump(stream, response.stream.get());
    co_await run;
    co_return;
  }
  for (Bytes& part : response.body) Send(*stream, std::move(part));
  EndBody(*stream);
}

Task<void> Http2Connection::Pump(ServerStream* stream, BodyReader* body) {
  stream->streaming = true;
  while (!shutting_down_) {
    auto read = context_.ReadPiece(body);
    Result<Bytes> piece = co_await read;
    if (!piece) {
      Reset(*stream, Http2Error::kInternal);
      co_return;
    }
    if (piece->empty()) break;
    Send(*stream, *std::move(piece));
    while (stream->unsent() > 0) {
      auto wait = stream->sent.Wait();
      co_await wait;
    }
  }
  EndBody(*stream);
}

Http2Fields Http2Connection::ResponseFields(const Response& response, bool is_head) {
  Http2Fields fields = {{":status", std::to_string(response.code)}};
  bool has_date = false, has_length = false;
  for (const auto& [name, value] : response.headers.lines()) {
    if (SendableName(name).empty() || IsConnectionField(name)) continue;
    bool is_length = EqualsIgnoreCase(name, "Content-Length");
    if (is_length && (!is_head || has_length || !ParseLength(value))) continue;
    has_length = has_length || is_length;
    has_date = has_date || EqualsIgnoreCase(name, "Date");
    fields.emplace_back(LowerCase(name), SendableValue(value));
  }
  if (!has_date) fields.emplace_back("date", context_.date.Now());
  if (!has_length && !response.stream && MayHaveBody(response.code)) {
    fields.emplace_back("content-length", std::to_string(BodySize(response)));
  }
  return fields;
}

}  // namespace

std::unique_ptr<ServerConnection> MakeHttp2Connection(ServerContext& context, std::unique_ptr<Stream> stream) {
  return std::make_unique<Http2Connection>(context, std::move(stream));
}

}  // namespace homeostat::http::internal
