#include "http/internal/websocket.h"

#include <openssl/sha.h>
#include <wslay/wslay.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "homeostat/base/text.h"
#include "http/internal/message_text.h"
#include "http/internal/time_limit.h"

namespace homeostat::http::internal {

namespace {

constexpr size_t kOutputBytes = 256 * 1024;  // encoded ahead of the socket
constexpr size_t kQueuedReplies = 64;  // pongs that wait; then we stop reading, so that pings can't fill our memory
constexpr size_t kReasonBytes = 123;   // RFC 6455, section 5.5: control frames carry at most 125 bytes
constexpr Duration kCloseTime = std::chrono::seconds(2);

// Codes that may stand in a close frame (RFC 6455, section 7.4).
uint16_t SendableCode(uint16_t code) {
  bool reserved = code < 1000 || code == 1004 || code == 1005 || code == 1006 || code == 1015 || code > 4999;
  return reserved ? uint16_t{WSLAY_CODE_INTERNAL_SERVER_ERROR} : code;
}

}  // namespace

// States: open → closing (a close frame of either side is known) → ended (no bytes will move any more).
class WebSocketCore : public std::enable_shared_from_this<WebSocketCore> {
 public:
  WebSocketCore(Runtime& runtime, std::unique_ptr<Stream> stream, WebSocketOptions options);
  ~WebSocketCore();

  std::string_view subprotocol() const { return options_.subprotocol; }
  Task<Result<std::optional<WebSocketMessage>>> Receive();
  Task<Result<void>> Send(WebSocketMessage message);
  Task<void> Close(uint16_t code, std::string reason);
  void QueueClose(uint16_t code, std::string_view reason);

 private:
  friend struct WebSocketCallbacks;

  Task<void> ReadLoop();
  Task<void> WriteLoop();
  void Feed(std::string_view bytes);
  std::string Encode();
  void Kick();
  void End();
  bool InboxFull() const;
  bool CloseReceived() const { return wslay_event_get_close_received(context_) != 0; }
  bool CloseSent() const { return wslay_event_get_close_sent(context_) != 0; }
  Status Ended() const;

  Runtime& runtime_;
  WebSocketOptions options_;
  std::unique_ptr<Stream> stream_;
  wslay_event_context* context_ = nullptr;

  std::string_view input_;  // what Feed has and wslay hasn't taken
  std::string output_;
  std::deque<WebSocketMessage> inbox_;
  size_t inbox_bytes_ = 0;
  bool closing_ = false;  // Close was called: messages are dropped
  bool close_queued_ = false;
  bool writing_ = false;
  bool kicked_ = false;
  bool ended_ = false;
  std::optional<Status> failure_;
  Signal changed_, kick_, space_;
  Deadline last_words_;  // how long our close frame, and the peer's, may take
  TaskGroup group_;
};

struct WebSocketCallbacks {
  static WebSocketCore& Core(void* user) { return *static_cast<WebSocketCore*>(user); }

  static ssize_t Receive(wslay_event_context* context, uint8_t* buffer, size_t size, int, void* user) {
    std::string_view& input = Core(user).input_;
    if (input.empty()) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    size_t count = std::min(size, input.size());
    std::memcpy(buffer, input.data(), count);
    input.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  static ssize_t Send(wslay_event_context* context, const uint8_t* data, size_t size, int, void* user) {
    std::string& output = Core(user).output_;
    if (output.size() >= kOutputBytes) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    output.append(reinterpret_cast<const char*>(data), size);
    return static_cast<ssize_t>(size);
  }

  static int Mask(wslay_event_context*, uint8_t* buffer, size_t size, void* user) {
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
      uint64_t random = Core(user).runtime_.Random();
      std::memcpy(buffer + i, &random, std::min(size - i, sizeof random));
    }
    return 0;
  }

  static void Message(wslay_event_context*, const wslay_event_on_msg_recv_arg* message, void* user) {
    WebSocketCore& core = Core(user);
    if (wslay_is_ctrl_frame(message->opcode) || core.closing_) return;
    core.inbox_bytes_ += message->msg_length;
    core.inbox_.push_back({message->opcode == WSLAY_TEXT_FRAME,
                           Bytes::Copy({reinterpret_cast<const char*>(message->msg), message->msg_length})});
    core.changed_.Notify();
  }
};

WebSocketCore::WebSocketCore(Runtime& runtime, std::unique_ptr<Stream> stream, WebSocketOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      stream_(std::move(stream)),
      changed_(runtime),
      kick_(runtime),
      space_(runtime),
      last_words_(runtime, [this] { End(); }),
      group_(runtime) {
  static constexpr wslay_event_callbacks kCallbacks = {
      &WebSocketCallbacks::Receive, &WebSocketCallbacks::Send, &WebSocketCallbacks::Mask, nullptr, nullptr, nullptr,
      &WebSocketCallbacks::Message};
  int failed = options_.server ? wslay_event_context_server_init(&context_, &kCallbacks, this)
                               : wslay_event_context_client_init(&context_, &kCallbacks, this);
  if (failed != 0) throw std::bad_alloc();  // the only way it fails
  wslay_event_config_set_max_recv_msg_length(context_, options_.message_bytes);
  group_.Spawn(ReadLoop());
  group_.Spawn(WriteLoop());
}

WebSocketCore::~WebSocketCore() {
  stream_->Close();
  wslay_event_context_free(context_);
}

bool WebSocketCore::InboxFull() const {
  return (!closing_ && inbox_bytes_ >= options_.message_bytes) ||
         wslay_event_get_queued_msg_count(context_) > kQueuedReplies;
}

Task<void> WebSocketCore::ReadLoop() {
  std::vector<char> buffer(16 * 1024);
  while (wslay_event_want_read(context_)) {
    while (InboxFull() && !ended_) {
      auto wait = space_.Wait();
      co_await wait;
    }
    if (ended_) co_return;
    std::span<char> space(buffer);
    auto read = stream_->Read(space);
    Result<size_t> count = co_await read;
    if (!count || *count == 0) {
      if (!count && !failure_) failure_ = count.error();
      break;
    }
    Feed({buffer.data(), *count});
  }
  // After a close frame, or a breach of the protocol, what we still have to say goes out first: the writer ends it.
  if (wslay_event_want_read(context_)) End();
  Kick();
}

void WebSocketCore::Feed(std::string_view bytes) {
  input_ = bytes;
  while (!input_.empty() && wslay_event_want_read(context_)) {
    if (int error = wslay_event_recv(context_); error != 0) {
      failure_ = ConnectionError("WebSocket frame can't be read");
      wslay_event_shutdown_read(context_);
    }
  }
  input_ = {};
  if (!wslay_event_want_read(context_)) last_words_.Set(kCloseTime);
  if (wslay_event_want_write(context_)) Kick();
}

std::string WebSocketCore::Encode() {
  while (wslay_event_want_write(context_) && output_.size() < kOutputBytes) {
    if (wslay_event_send(context_) != 0) {
      wslay_event_shutdown_write(context_);
      break;
    }
  }
  return std::exchange(output_, {});
}

Task<void> WebSocketCore::WriteLoop() {
  while (!ended_) {
    kicked_ = false;
    std::string encoded = Encode();
    if (!encoded.empty()) {
      writing_ = true;
      std::vector<Bytes> parts;
      parts.push_back(std::move(encoded));
      auto write = stream_->Write(std::move(parts));
      Result<void> written = co_await write;
      writing_ = false;
      if (!written) {
        failure_ = written.error();
        break;
      }
      if (!InboxFull()) space_.Notify();
      changed_.Notify();
      continue;
    }
    if (!wslay_event_want_read(context_)) break;  // closed by both sides, or broken: all has been said
    while (!kicked_ && !ended_) {
      auto wait = kick_.Wait();
      co_await wait;
    }
  }
  End();
}

void WebSocketCore::Kick() {
  kicked_ = true;
  kick_.Notify();
}

void WebSocketCore::End() {
  if (ended_) return;
  ended_ = true;
  stream_->CloseWrite();
  stream_->Close();
  kick_.Notify();
  space_.Notify();
  changed_.Notify();
}

Status WebSocketCore::Ended() const {
  if (failure_) return failure_->WithContext("WebSocket");
  uint16_t code = wslay_event_get_status_code_sent(context_);
  if (CloseSent() && !close_queued_ && code == WSLAY_CODE_MESSAGE_TOO_BIG) {
    return RequestTooLargeError("WebSocket message is larger than " + std::to_string(options_.message_bytes) +
                                " bytes");
  }
  if (CloseSent() && !close_queued_)
    return BadRequestError("WebSocket peer broke the protocol (" + std::to_string(code) + ")");
  return ConnectionError("WebSocket connection ended without a close frame");
}

Task<Result<std::optional<WebSocketMessage>>> WebSocketCore::Receive() {
  while (inbox_.empty()) {
    // Not before our own close frame is on its way: the caller may drop the socket then.
    if (ended_ && CloseReceived()) co_return std::nullopt;
    if (ended_) co_return Fail(Ended());
    auto wait = changed_.Wait();
    co_await wait;
  }
  WebSocketMessage message = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= message.data.size();
  if (!InboxFull()) space_.Notify();
  co_return std::move(message);
}

Task<Result<void>> WebSocketCore::Send(WebSocketMessage message) {
  if (ended_ || close_queued_ || CloseReceived()) co_return Fail(ConnectionError("WebSocket is closed"));
  uint8_t opcode = message.text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME;
  wslay_event_msg frame = {opcode, reinterpret_cast<const uint8_t*>(message.data.data()), message.data.size()};
  if (wslay_event_queue_msg(context_, &frame) != 0)
    co_return Fail(ConnectionError("WebSocket message can't be queued"));
  message.data = Bytes();
  Kick();
  while (!ended_ && (wslay_event_want_write(context_) || writing_)) {
    auto wait = changed_.Wait();
    co_await wait;
  }
  if (wslay_event_get_queued_msg_count(context_) > 0 || (ended_ && failure_)) co_return Fail(Ended());
  co_return Result<void>();
}

void WebSocketCore::QueueClose(uint16_t code, std::string_view reason) {
  if (close_queued_ || ended_ || CloseReceived()) return;
  close_queued_ = true;
  reason = reason.substr(0, kReasonBytes);
  wslay_event_queue_close(context_, SendableCode(code), reinterpret_cast<const uint8_t*>(reason.data()), reason.size());
  Kick();
}

Task<void> WebSocketCore::Close(uint16_t code, std::string reason) {
  QueueClose(code, reason);
  closing_ = true;
  inbox_.clear();
  inbox_bytes_ = 0;
  space_.Notify();
  Kick();
  last_words_.Set(kCloseTime);
  while (!ended_) {
    auto wait = changed_.Wait();
    co_await wait;
  }
}

namespace {

class CoreWebSocket : public WebSocket {
 public:
  explicit CoreWebSocket(std::shared_ptr<WebSocketCore> core) : core_(std::move(core)) {}
  std::string_view subprotocol() const override { return core_->subprotocol(); }
  Task<Result<std::optional<WebSocketMessage>>> Receive() override { return core_->Receive(); }
  Task<Result<void>> Send(WebSocketMessage message) override { return core_->Send(std::move(message)); }
  Task<void> Close(uint16_t code, std::string reason) override { return core_->Close(code, std::move(reason)); }

 private:
  std::shared_ptr<WebSocketCore> core_;
};

}  // namespace

std::unique_ptr<WebSocket> MakeWebSocket(Runtime& runtime, std::unique_ptr<Stream> stream, WebSocketOptions options,
                                         std::weak_ptr<WebSocketCore>* core) {
  auto made = std::make_shared<WebSocketCore>(runtime, std::move(stream), std::move(options));
  if (core != nullptr) *core = made;
  return std::make_unique<CoreWebSocket>(std::move(made));
}

void GoAway(WebSocketCore& core) { core.QueueClose(WSLAY_CODE_GOING_AWAY, "the server is shutting down"); }

std::string MakeWebSocketKey(Runtime& runtime) {
  uint64_t random[2] = {runtime.Random(), runtime.Random()};
  return Base64Encode({reinterpret_cast<const char*>(random), sizeof random});
}

bool IsWebSocketKey(std::string_view key) {
  auto bytes = Base64Decode(key);
  return bytes && bytes->size() == 16;
}

std::string WebSocketAccept(std::string_view key) {
  std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return Base64Encode({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace homeostat::http::internal
