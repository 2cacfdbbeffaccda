#include "http/internal/http1_client.h"

#include <utility>

#include "http/internal/message_text.h"

namespace homeostat::http::internal {

namespace {

constexpr size_t kSmallRequest = 64 * 1024;  // fits a socket's buffer: written before the answer is waited for
constexpr size_t kSendPart = 256 * 1024;
constexpr size_t kPiece = 64 * 1024;
constexpr int kMaxInformational = 10;

class Http1Body : public BodyReader {
 public:
  Http1Body(std::shared_ptr<Http1Client> connection, BodyFraming framing, bool keep_alive, Http1Client::Release release)
      : connection_(std::move(connection)), decoder_(framing), keep_alive_(keep_alive), release_(std::move(release)) {}

  Task<Result<Bytes>> Read() override {
    std::string piece;
    while (connection_) {
      Wire& wire = *connection_->wire();
      Parsed<BodyDecoder::Step> step = decoder_.Next(wire.buffered());
      if (!step) co_return Fail(Break(step.error().reason));
      piece.append(step->content);
      wire.Consume(step->consumed);
      if (step->done) Finish();
      if (step->done || piece.size() >= kPiece) break;
      if (step->consumed > 0) continue;
      if (!piece.empty()) break;
      auto more = wire.WaitForMore(wire.buffered().size());
      bool arrived = co_await more;
      if (arrived) continue;
      if (!decoder_.may_end()) co_return Fail(Break("the response ended early"));
      connection_.reset();
    }
    co_return Bytes(std::move(piece));
  }

 private:
  Status Break(std::string_view why) {
    connection_.reset();
    return ConnectionError(why);
  }
  void Finish() {
    auto connection = std::move(connection_);
    connection_.reset();
    if (keep_alive_ && connection->idle()) release_(std::move(connection));
  }

  std::shared_ptr<Http1Client> connection_;
  BodyDecoder decoder_;
  bool keep_alive_;
  Http1Client::Release release_;
};

}  // namespace

Http1Client::Http1Client(Runtime& runtime, std::unique_ptr<Stream> stream, size_t header_bytes,
                         std::function<void()> on_gone)
    : runtime_(runtime),
      wire_(std::make_shared<Wire>(runtime, std::move(stream))),
      header_bytes_(header_bytes),
      on_gone_(std::move(on_gone)) {}

Http1Client::~Http1Client() { on_gone_(); }

Task<void> Http1Client::SendRequest(std::vector<Bytes> parts, Sending* sending) {
  auto write = wire_->stream().Write(std::move(parts));
  Result<void> written = co_await write;
  sending->failed = !written;
  sending->done = true;
}

Task<Result<ResponseHead>> Http1Client::ReadHead(std::string method, bool may_upgrade, Outcome* outcome) {
  for (int heads = 0; heads <= kMaxInformational; ++heads) {
    HeadScanner scanner(header_bytes_);
    size_t size = 0;
    while (true) {
      outcome->heard = outcome->heard || !wire_->buffered().empty();
      Parsed<size_t> scanned = scanner.Scan(wire_->buffered());
      if (!scanned) co_return Fail(ConnectionError("bad response: " + std::string(scanned.error().reason)));
      size = *scanned;
      if (size > 0) break;
      auto more = wire_->WaitForMore(wire_->buffered().size());
      bool arrived = co_await more;
      if (!arrived) co_return Fail(ConnectionError("the server closed the connection without an answer"));
    }
    Parsed<ResponseHead> head = ParseResponseHead(wire_->buffered().substr(0, size), method);
    wire_->Consume(size);
    if (!head) co_return Fail(ConnectionError("bad response: " + std::string(head.error().reason)));
    if (head->code == 101 && !may_upgrade)
      co_return Fail(ConnectionError("bad response: an upgrade that wasn't asked for"));
    if (head->code >= 200 || head->code == 101) co_return *std::move(head);
  }
  co_return Fail(ConnectionError("bad response: too many informational answers"));
}

Task<Result<Response>> Http1Client::Do(const Request* request, std::string host, bool may_upgrade, Outcome* outcome,
                                       Release release) {
  std::shared_ptr<Http1Client> self = shared_from_this();
  CO_TRY_ASSIGN(std::string text, RequestHeadText(*request, host));
  std::vector<Bytes> parts = OnePart(std::move(text));
  for (size_t at = 0; at < request->body.size(); at += kSendPart) parts.push_back(request->body.Slice(at, kSendPart));
  // A server may answer before it has read everything, and then stop reading: the answer still counts.
  Sending sending;
  TaskGroup sender(runtime_);
  if (request->body.size() <= kSmallRequest) {
    auto send = SendRequest(std::move(parts), &sending);
    co_await send;
  } else {
    sender.Spawn(SendRequest(std::move(parts), &sending));
  }
  auto read = ReadHead(request->method, may_upgrade, outcome);
  CO_TRY_ASSIGN(ResponseHead head, co_await read);
  Response response;
  response.code = head.code;
  response.headers = std::move(head.headers);
  outcome->upgraded = head.code == 101;
  if (outcome->upgraded) co_return std::move(response);
  bool reusable = head.keep_alive && sending.done && !sending.failed;
  if (head.framing.kind != BodyKind::kNone) {
    response.stream = std::make_unique<Http1Body>(self, head.framing, reusable, std::move(release));
  } else if (reusable && idle()) {
    release(self);
  }
  co_return std::move(response);
}

}  // namespace homeostat::http::internal
