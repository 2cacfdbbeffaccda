// One HTTP/1.1 connection of the server: reads a request, has it answered, writes the answer, again. While a handler
// works or a body streams, the wire reads ahead; when it ends, so does the connection, and with it the handler's task.
#include <algorithm>
#include <optional>

#include "homeostat/base/text.h"
#include "http/internal/parser.h"
#include "http/internal/server_context.h"
#include "http/internal/syntax.h"
#include "http/internal/time_limit.h"
#include "http/internal/websocket.h"
#include "http/internal/wire.h"

namespace homeostat::http::internal {

namespace {

constexpr size_t kWriteBatch = 1 << 20;  // a slow peer has the write limit's time for each
constexpr Duration kGoAwayTime = std::chrono::milliseconds(50);

// What of a request is needed after the handler has taken it.
struct Exchange {
  explicit Exchange(BodyBudget& budget) : share(budget) {}
  bool is_head = false;
  bool http10 = false;
  bool keep_alive = false;
  bool unread = false;                // the rest of the body is still to come, and nobody will read it
  std::vector<std::string> upgrades;  // protocols that the client offers to change to
  std::string websocket_key;          // empty: not a valid WebSocket handshake
  BodyBudget::Share share;
};

class Http1Connection : public ServerConnection {
 public:
  Http1Connection(ServerContext& context, std::unique_ptr<Stream> stream);
  ~Http1Connection() override { wire_->OnEnd(nullptr); }

  Task<void> Run() override;
  void Shutdown() override;

 private:
  struct Pump {
    BodyReader* body;
    bool chunked;
    bool writing = false;
    bool done = false;
    bool failed = false;
  };

  Task<void> Serve();
  Task<bool> ServeOne();
  Task<std::optional<RequestHead>> ReadHead();
  Task<bool> ReadBody(RequestHead* head, Exchange* exchange);
  // False once the body is over its limit or the memory's; says which in the request or by refusing it.
  bool Keep(std::string_view content, std::string* body, Request* request, Exchange* exchange);
  Task<bool> Respond(Response response, const Exchange* exchange);
  Task<bool> WriteStream(std::unique_ptr<BodyReader> body, bool chunked);
  Task<void> RunPump(Pump* pump);
  Task<void> Upgrade(Response response, const Exchange* exchange);
  Task<void> Refuse(ParseError error);
  Task<bool> Write(std::vector<Bytes> parts);

  void FillIn(const RequestHead& head, Exchange* exchange);
  bool MayUpgrade(const Response& response, const Exchange& exchange) const;
  void Finish();
  // While a handler works, the connection ends with the peer.
  void SetAnswering(bool answering);

  ServerContext& context_;
  std::shared_ptr<Wire> wire_;
  std::string remote_address_;
  std::shared_ptr<const PeerCertificate> peer_certificate_;

  bool idle_ = false;
  bool answering_ = false;
  bool upgraded_ = false;
  bool closing_ = false;
  bool finished_ = false;
  bool first_ = true;
  std::weak_ptr<WebSocketCore> websocket_;
  Signal changed_;
  Deadline deadline_, finish_;
  TaskGroup group_;
};

Http1Connection::Http1Connection(ServerContext& context, std::unique_ptr<Stream> stream)
    : context_(context),
      wire_(std::make_shared<Wire>(context.runtime, std::move(stream))),
      remote_address_(wire_->stream().remote_address()),
      changed_(context.runtime),
      deadline_(context.runtime, [this] { wire_->stream().Close(); }),
      finish_(context.runtime, [this] { Finish(); }),
      group_(context.runtime) {
  if (const PeerCertificate* certificate = wire_->stream().peer_certificate()) {
    peer_certificate_ = std::make_shared<const PeerCertificate>(*certificate);
  }
  wire_->OnEnd([this] {
    if (answering_) Finish();
  });
}

Task<void> Http1Connection::Run() {
  group_.Spawn(Serve());
  while (!finished_) {
    auto wait = changed_.Wait();
    co_await wait;
  }
}

void Http1Connection::Shutdown() {
  closing_ = true;
  changed_.Notify();
  if (idle_) Finish();
  if (!upgraded_) return;
  if (auto websocket = websocket_.lock()) GoAway(*websocket);
  finish_.Set(kGoAwayTime);
}

void Http1Connection::Finish() {
  finished_ = true;
  changed_.Notify();
}

void Http1Connection::SetAnswering(bool answering) {
  answering_ = answering;
  if (answering && wire_->ended()) Finish();
}

Task<void> Http1Connection::Serve() {
  bool again = true;
  while (again) {
    auto one = ServeOne();
    again = co_await one;
    first_ = false;
  }
  Finish();
}

Task<bool> Http1Connection::ServeOne() {
  auto reading = ReadHead();
  std::optional<RequestHead> head = co_await reading;
  if (!head) co_return false;
  Exchange exchange(context_.bodies);
  FillIn(*head, &exchange);
  auto body = ReadBody(&*head, &exchange);
  if (!co_await body) co_return false;
  SetAnswering(true);
  auto answer = context_.Answer(std::move(head->request));
  Response response = co_await answer;
  SetAnswering(false);
  exchange.share.Release();
  if (response.code == 101) {
    auto upgrade = Upgrade(std::move(response), &exchange);
    co_await upgrade;
    co_return false;
  }
  auto respond = Respond(std::move(response), &exchange);
  bool again = co_await respond;
  co_return again;
}

Task<std::optional<RequestHead>> Http1Connection::ReadHead() {
  HeadScanner scanner(context_.options.header_bytes);
  bool started = false;
  deadline_.Set(first_ ? context_.options.header_time : context_.options.idle_time);
  while (true) {
    std::string_view buffered = wire_->buffered();
    Parsed<size_t> size = scanner.Scan(buffered);
    ParseError error;
    if (size && *size > 0) {
      Parsed<RequestHead> head = ParseRequestHead(buffered.substr(0, *size));
      wire_->Consume(*size);
      deadline_.Clear();
      if (head) co_return *std::move(head);
      error = head.error();
    } else if (!size) {
      error = size.error();
    }
    if (!error.reason.empty()) {
      auto refuse = Refuse(error);
      co_await refuse;
      co_return std::nullopt;
    }
    if (!started && !buffered.empty()) {
      started = true;
      deadline_.Set(context_.options.header_time);
    }
    if (closing_) co_return std::nullopt;
    idle_ = buffered.empty();
    auto more = wire_->WaitForMore(buffered.size());
    bool arrived = co_await more;
    idle_ = false;
    if (!arrived) co_return std::nullopt;
  }
}

void Http1Connection::FillIn(const RequestHead& head, Exchange* exchange) {
  const Headers& headers = head.request.headers;
  exchange->is_head = head.request.method == "HEAD";
  exchange->http10 = head.http10;
  exchange->keep_alive = head.keep_alive;
  if (head.http10 || !HasListToken(headers, "Connection", "upgrade")) return;
  for (std::string_view protocol : ListElements(headers, "Upgrade")) exchange->upgrades.emplace_back(protocol);
  std::string_view key = headers.Get("Sec-WebSocket-Key");
  bool valid = head.request.method == "GET" && headers.Get("Sec-WebSocket-Version") == "13" && IsWebSocketKey(key);
  if (valid && headers.GetAll("Sec-WebSocket-Key").size() == 1) exchange->websocket_key = key;
}

bool Http1Connection::Keep(std::string_view content, std::string* body, Request* request, Exchange* exchange) {
  if (content.size() > context_.options.body_bytes - body->size()) {
    request->body_too_large = true;
  } else if (exchange->share.Take(content.size())) {
    body->append(content);
    return true;
  }
  exchange->unread = true;
  return false;
}

Task<bool> Http1Connection::ReadBody(RequestHead* head, Exchange* exchange) {
  Request& request = head->request;
  request.remote_address = remote_address_;
  request.peer_certificate = peer_certificate_;
  if (head->framing.kind == BodyKind::kNone) co_return true;
  if (head->framing.kind == BodyKind::kLength && head->framing.length > context_.options.body_bytes) {
    request.body_too_large = exchange->unread = true;
    co_return true;
  }
  if (head->expects_continue && wire_->buffered().empty()) {
    auto write = Write(OnePart(Bytes::Static("HTTP/1.1 100 Continue\r\n\r\n")));
    if (!co_await write) co_return false;
  }
  BodyDecoder decoder(head->framing);
  std::string body;
  deadline_.Set(context_.options.body_time);
  while (true) {
    Parsed<BodyDecoder::Step> step = decoder.Next(wire_->buffered());
    if (!step) {
      auto refuse = Refuse(step.error());
      co_await refuse;
      co_return false;
    }
    if (!step->content.empty() && !Keep(step->content, &body, &request, exchange)) break;
    wire_->Consume(step->consumed);
    if (step->done) break;
    if (step->consumed > 0) continue;
    auto more = wire_->WaitForMore(wire_->buffered().size());
    if (!co_await more) co_return false;
  }
  deadline_.Clear();
  if (exchange->unread && !request.body_too_large) {
    ++context_.counters.requests_refused;
    auto respond = Respond(NoMemoryResponse(), exchange);
    co_await respond;
    co_return false;
  }
  if (!exchange->unread) request.body = std::move(body);
  co_return true;
}

Task<void> Http1Connection::Refuse(ParseError error) {
  ++context_.counters.requests_refused;
  std::string text = std::to_string(error.code) + " " + std::string(ReasonPhrase(error.code));
  if (error.code == 400) text.append(": ").append(error.reason);
  Exchange exchange(context_.bodies);
  exchange.unread = true;
  auto respond = Respond(PlainResponse(error.code, text), &exchange);
  co_await respond;
}

Task<bool> Http1Connection::Respond(Response response, const Exchange* exchange) {
  if (response.code < 200 || response.code > 599) response = PlainResponse(500, "500 Internal Server Error");
  ResponseFraming framing;
  bool has_body = MayHaveBody(response.code);
  framing.close =
      !exchange->keep_alive || exchange->unread || closing_ || HasListToken(response.headers, "Connection", "close");
  if (has_body && !response.stream) framing.length = BodySize(response);
  if (has_body && response.stream) {
    framing.chunked = !exchange->http10;
    framing.close = framing.close || exchange->http10;  // HTTP/1.0 knows no other end of such a body
  }
  framing.keep_alive = exchange->http10 && !framing.close;
  std::vector<Bytes> parts;
  parts.push_back(ResponseHeadText(response, framing, exchange->is_head, context_.date.Now()));
  bool sends_body = has_body && !exchange->is_head;
  if (sends_body) std::move(response.body.begin(), response.body.end(), std::back_inserter(parts));
  auto write = Write(std::move(parts));
  bool written = co_await write;
  if (written && sends_body && response.stream) {
    auto stream = WriteStream(std::move(response.stream), framing.chunked);
    written = co_await stream;
  }
  if (written && exchange->unread) {
    auto linger = Linger(context_.runtime, wire_);
    co_await linger;
  }
  co_return written && !framing.close;
}

Task<bool> Http1Connection::WriteStream(std::unique_ptr<BodyReader> body, bool chunked) {
  Pump pump{body.get(), chunked};
  SetAnswering(true);
  {
    TaskGroup group(context_.runtime);
    group.Spawn(RunPump(&pump));
    // A shutdown ends the body between two pieces, so that the peer sees a clean end.
    while (!pump.done && !(closing_ && !pump.writing)) {
      auto wait = changed_.Wait();
      co_await wait;
    }
  }
  SetAnswering(false);
  body.reset();
  if (pump.failed) co_return false;
  if (!chunked) co_return true;
  auto write = Write(OnePart(Bytes::Static("0\r\n\r\n")));
  bool written = co_await write;
  co_return written;
}

Task<void> Http1Connection::RunPump(Pump* pump) {
  while (!closing_) {
    auto read = context_.ReadPiece(pump->body);
    Result<Bytes> piece = co_await read;
    if (!piece) pump->failed = true;
    if (!piece || piece->empty()) break;
    std::vector<Bytes> parts;
    if (pump->chunked) {
      char size[20];
      int length = std::snprintf(size, sizeof size, "%zx\r\n", piece->size());
      parts.push_back(std::string(size, static_cast<size_t>(length)));
    }
    parts.push_back(*std::move(piece));
    if (pump->chunked) parts.push_back(Bytes::Static("\r\n"));
    pump->writing = true;
    auto write = Write(std::move(parts));
    bool written = co_await write;
    pump->writing = false;
    if (!written) pump->failed = true;
    if (!written) break;
  }
  pump->done = true;
  changed_.Notify();
}

bool Http1Connection::MayUpgrade(const Response& response, const Exchange& exchange) const {
  bool offered = std::any_of(exchange.upgrades.begin(), exchange.upgrades.end(),
                             [&](const std::string& protocol) { return EqualsIgnoreCase(protocol, response.upgrade); });
  if (!offered) return false;
  // A WebSocket may also be passed on unread, to another server that has answered the handshake.
  if (EqualsIgnoreCase(response.upgrade, "websocket") && exchange.websocket_key.empty()) return false;
  return response.on_stream || (EqualsIgnoreCase(response.upgrade, "websocket") && response.on_websocket);
}

Task<void> Http1Connection::Upgrade(Response response, const Exchange* exchange) {
  if (!MayUpgrade(response, *exchange)) {
    ++context_.counters.requests_refused;
    Response refusal = PlainResponse(400, "400 Bad Request: not a valid upgrade request");
    refusal.headers.Add("Sec-WebSocket-Version", "13");
    auto respond = Respond(std::move(refusal), exchange);
    co_await respond;
    co_return;
  }
  ResponseFraming framing;
  framing.upgrade = response.upgrade;
  if (response.on_websocket) {
    response.headers.Set("Sec-WebSocket-Accept", WebSocketAccept(exchange->websocket_key));
    if (!response.subprotocol.empty()) response.headers.Set("Sec-WebSocket-Protocol", response.subprotocol);
  }
  auto write = Write(OnePart(ResponseHeadText(response, framing, false, context_.date.Now())));
  bool written = co_await write;
  if (!written || closing_) co_return;
  upgraded_ = true;
  std::unique_ptr<Stream> stream = StreamOf(wire_);
  std::unique_ptr<WebSocket> websocket;
  if (response.on_websocket) {
    WebSocketOptions options{true, response.subprotocol, context_.options.websocket_message_bytes};
    websocket = MakeWebSocket(context_.runtime, std::move(stream), std::move(options), &websocket_);
  }
  auto run = context_.RunUpgraded(&response, std::move(stream), std::move(websocket));
  co_await run;
}

Task<bool> Http1Connection::Write(std::vector<Bytes> parts) {
  size_t next = 0, offset = 0;
  while (next < parts.size()) {
    std::vector<Bytes> batch;
    for (size_t size = 0; next < parts.size() && size < kWriteBatch;) {
      Bytes piece = parts[next].Slice(offset, kWriteBatch - size);
      size += piece.size();
      offset += piece.size();
      if (offset == parts[next].size()) {
        ++next;
        offset = 0;
      }
      if (!piece.empty()) batch.push_back(std::move(piece));
    }
    if (batch.empty()) break;
    deadline_.Set(context_.options.write_time);
    auto write = wire_->stream().Write(std::move(batch));
    Result<void> written = co_await write;
    deadline_.Clear();
    if (!written) co_return false;
  }
  co_return true;
}

}  // namespace

std::unique_ptr<ServerConnection> MakeHttp1Connection(ServerContext& context, std::unique_ptr<Stream> stream) {
  return std::make_unique<Http1Connection>(context, std::move(stream));
}

}  // namespace homeostat::http::internal
