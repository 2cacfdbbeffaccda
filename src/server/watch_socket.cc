#include "server/watch_socket.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "auth/service_account_tokens.h"
#include "homeostat/base/text.h"
#include "server/forwarding.h"

namespace homeostat::server {
namespace {

constexpr uint16_t kNormalClosure = 1000;

// The size of the first frame, of which the text has all.
size_t FrameSize(std::string_view frames, Encoding encoding) {
  if (encoding != Encoding::kProtobuf) return std::min(frames.find('\n'), frames.size() - 1) + 1;
  size_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(frames[static_cast<size_t>(i)]);
  return 4 + size;
}

class WatchSocket {
 public:
  WatchSocket(Runtime& runtime, std::unique_ptr<http::BodyReader> body, std::unique_ptr<http::WebSocket> socket, Encoding encoding)
      : runtime_(runtime), body_(std::move(body)), socket_(std::move(socket)), encoding_(encoding), changed_(runtime) {}

  Task<void> Run() {
    {
      TaskGroup group(runtime_);
      group.Spawn(SendEvents());
      group.Spawn(AwaitEnd());
      while (!ended_) {
        auto wait = changed_.Wait();
        co_await wait;
      }
    }
    auto close = socket_->Close(kNormalClosure, "");
    co_await std::move(close);
  }

 private:
  Task<void> SendEvents() {
    bool open = true;
    while (open) {
      auto read = body_->Read();
      Result<Bytes> piece = co_await std::move(read);
      if (!piece || piece->empty()) break;
      while (open && !piece->empty()) {
        auto send = socket_->Send(NextMessage(*piece));
        Result<void> sent = co_await std::move(send);
        open = sent.has_value();
      }
    }
    End();
  }

  // The client has nothing to say, but its leaving is noticed only by listening.
  Task<void> AwaitEnd() {
    bool open = true;
    while (open) {
      auto receive = socket_->Receive();
      Result<std::optional<http::WebSocketMessage>> message = co_await std::move(receive);
      open = message.has_value() && message->has_value();
    }
    End();
  }

  http::WebSocketMessage NextMessage(Bytes& piece) const {
    const size_t size = FrameSize(piece.view(), encoding_);
    const size_t prefix = encoding_ == Encoding::kProtobuf ? 4 : 0;
    http::WebSocketMessage message{encoding_ != Encoding::kProtobuf, piece.Slice(prefix, size - prefix)};
    piece = piece.Slice(size);
    return message;
  }

  void End() {
    ended_ = true;
    changed_.Notify();
  }

  Runtime& runtime_;
  std::unique_ptr<http::BodyReader> body_;
  std::unique_ptr<http::WebSocket> socket_;
  Encoding encoding_;
  bool ended_ = false;
  Signal changed_;
};

Task<void> RunWatchSocket(Runtime& runtime, std::unique_ptr<http::BodyReader> body, std::unique_ptr<http::WebSocket> socket, Encoding encoding) {
  WatchSocket watch(runtime, std::move(body), std::move(socket), encoding);
  auto run = watch.Run();
  co_await std::move(run);
}

std::vector<std::string> OfferedSubprotocols(const http::Request& request) {
  std::vector<std::string> offered;
  for (std::string_view line : request.headers.GetAll("Sec-WebSocket-Protocol")) {
    while (!line.empty()) {
      const size_t comma = std::min(line.find(','), line.size());
      const std::string_view name = TrimSpace(line.substr(0, comma));
      if (!name.empty() && !auth::IsTokenSubprotocol(name)) offered.emplace_back(name);
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
  }
  return offered;
}

// What Go's net/url takes as the URI of a request: a path, or something with a scheme.
bool IsRequestUri(std::string_view text) {
  if (text.starts_with('/')) return true;
  const size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  return std::ranges::all_of(text.substr(0, colon), [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; });
}

http::Response Refuse(int code) {
  http::Response response;
  response.code = code;
  return response;
}

}  // namespace

bool WantsWebSocket(const http::Request& request) { return EqualsIgnoreCase(WantedUpgrade(request), "websocket"); }

http::Response WatchOverWebSocket(Runtime& runtime, const http::Request& request, http::Response watch, Encoding encoding) {
  if (!IsRequestUri(request.headers.Get("Origin"))) return Refuse(403);
  std::vector<std::string> offered = OfferedSubprotocols(request);
  if (offered.size() > 1) return Refuse(400);
  http::Response response;
  response.code = 101;
  response.upgrade = "websocket";
  if (!offered.empty()) response.subprotocol = offered.front();
  response.on_websocket = [&runtime, body = std::move(watch.stream), encoding](std::unique_ptr<http::WebSocket> socket) mutable {
    return RunWatchSocket(runtime, std::move(body), std::move(socket), encoding);
  };
  return response;
}

}  // namespace homeostat::server
