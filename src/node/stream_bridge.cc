#include "node/stream_bridge.h"

#include <charconv>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "http/client.h"
#include "http/splice.h"
#include "node/errors.h"
#include "node/spdy.h"

namespace homeostat::node {

namespace {

constexpr Duration kConnectLimit = std::chrono::seconds(30);
constexpr uint8_t kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4, kClose = 255;

const std::vector<std::string>& ExecProtocols() {
  static const std::vector<std::string> kProtocols = {"v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io",
                                                      "channel.k8s.io", "base64.channel.k8s.io"};
  return kProtocols;
}

http::Response PlainError(int code, std::string message) {
  http::Response response;
  response.code = code;
  response.headers.Set("Content-Type", "text/plain; charset=utf-8");
  response.body.emplace_back(std::move(message));
  return response;
}

bool WantsWebSocket(const http::Request& request) {
  return EqualsIgnoreCase(request.headers.Get("Upgrade"), "websocket");
}

struct Url {
  std::string address, path, query;
};

Result<Url> ParseUrl(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return Fail(NodeError("the container runtime serves its streams at an unknown kind of URL"));
  std::string rest = text.substr(kScheme.size());
  size_t slash = std::min(rest.find('/'), rest.size());
  Url url{rest.substr(0, slash), rest.substr(slash), ""};
  if (size_t question = url.path.find('?'); question != std::string::npos) {
    url.query = url.path.substr(question + 1);
    url.path.resize(question);
  }
  return url;
}

// Asks the runtime for its end of the streams. Redirects are not followed.
Task<Result<http::Client::Upgraded>> Connect(Runtime& runtime, std::string url_text, std::vector<std::string> protocols) {
  CO_TRY_ASSIGN(Url url, ParseUrl(url_text));
  http::ClientOptions options;
  options.address = url.address;
  options.http2 = false;
  http::Client client(runtime, std::move(options));
  http::Request request;
  request.method = "POST";
  request.path = url.path;
  request.query = url.query;
  request.headers.Set("Connection", "Upgrade");
  request.headers.Set("Upgrade", "SPDY/3.1");
  for (const std::string& protocol : protocols) request.headers.Add("X-Stream-Protocol-Version", protocol);
  auto upgrade = client.Upgrade(std::move(request));
  auto within = Within(runtime, kConnectLimit, std::move(upgrade));
  std::optional<Result<http::Client::Upgraded>> upgraded = co_await std::move(within);
  if (!upgraded) co_return Fail(NodeError("the container runtime does not answer"));
  co_return std::move(*upgraded);
}

Task<http::Response> Refusal(Result<http::Client::Upgraded> answer) {
  if (!answer) co_return PlainError(answer.error().code(), answer.error().message());
  int code = answer->response.code;
  auto read = http::ReadAll(std::move(answer->response), 4096);
  Result<Bytes> body = co_await std::move(read);
  co_return PlainError(code >= 400 ? code : 502, "the container runtime refused: " + (body ? body->str() : std::string()));
}

// SPDY from the caller: its bytes are the runtime's.
Task<http::Response> PassThrough(Runtime& runtime, http::Request request, std::string url) {
  std::vector<std::string> protocols;
  for (std::string_view protocol : request.headers.GetAll("X-Stream-Protocol-Version")) protocols.emplace_back(protocol);
  auto connect = Connect(runtime, std::move(url), std::move(protocols));
  Result<http::Client::Upgraded> upgraded = co_await std::move(connect);
  if (!upgraded || !upgraded->stream) {
    auto refuse = Refusal(std::move(upgraded));
    co_return co_await std::move(refuse);
  }
  http::Response response;
  response.code = 101;
  response.upgrade = "SPDY/3.1";
  std::string_view chosen = upgraded->response.headers.Get("X-Stream-Protocol-Version");
  if (!chosen.empty()) response.headers.Set("X-Stream-Protocol-Version", chosen);
  response.on_stream = [&runtime, back = std::move(upgraded->stream)](std::unique_ptr<Stream> front) mutable {
    return http::Splice(runtime, std::move(front), std::move(back));
  };
  co_return response;
}

// Channels of a WebSocket on one side, streams of a SPDY session on the other.
class ChannelBridge {
 public:
  ChannelBridge(Runtime& runtime, std::unique_ptr<http::WebSocket> socket, std::unique_ptr<Stream> back, StreamSet streams)
      : runtime_(runtime), socket_(std::move(socket)), session_(runtime, std::move(back)), streams_(streams),
        base64_(socket_->subprotocol().find("base64") != std::string_view::npos),
        tells_success_(socket_->subprotocol().starts_with('v')) {}

  Task<void> Run() {
    auto open = OpenStreams();
    Result<void> opened = co_await std::move(open);
    if (opened) {
      TaskGroup group(runtime_);
      group.Spawn(FromCaller());
      auto out = FromRuntime();
      co_await std::move(out);
    }
    auto close = socket_->Close(1000, "");
    co_await std::move(close);
  }

 private:
  Task<Result<void>> OpenStream(uint8_t channel, std::string type) {
    SpdyHeaders headers = {{"streamtype", std::move(type)}};
    auto open = session_.Open(std::move(headers));
    CO_TRY_ASSIGN(uint32_t id, co_await std::move(open));
    stream_of_[channel] = id;
    channel_of_[id] = channel;
    co_return Done();
  }

  // In the order that the runtime's own clients have.
  Task<Result<void>> OpenStreams() {
    struct Wanted {
      bool wanted;
      uint8_t channel;
      const char* type;
    };
    for (const Wanted& w : {Wanted{true, kError, "error"}, Wanted{streams_.in, kStdin, "stdin"}, Wanted{streams_.out, kStdout, "stdout"},
                            Wanted{streams_.err && !streams_.tty, kStderr, "stderr"}, Wanted{streams_.tty, kResize, "resize"}}) {
      if (!w.wanted) continue;
      auto open = OpenStream(w.channel, w.type);
      CO_TRY(co_await std::move(open));
    }
    co_return Done();
  }

  // The message of a Status, as the protocols before v4 have it; none when all went well.
  static std::string FaultIn(std::string_view status) {
    object::Arena arena;
    auto value = object::ParseJson(arena, status);
    if (!value || value->Get("status").AsString() == "Success") return {};
    return std::string(value->Get("message").AsString());
  }

  Task<Result<void>> SendToCaller(uint8_t channel, Bytes data) {
    std::string message;
    if (base64_) {
      message += static_cast<char>('0' + channel);
      message += Base64Encode(data.view());
    } else {
      message += static_cast<char>(channel);
      message += data.view();
    }
    http::WebSocketMessage out{base64_, Bytes(std::move(message))};
    auto send = socket_->Send(std::move(out));
    co_return co_await std::move(send);
  }

  // Ends when the runtime has closed the session, or all that it sends: output, and the error stream with how it ended.
  Task<void> FromRuntime() {
    std::set<uint8_t> open = {kError};
    std::string how_it_ended;  // for protocols that don't tell of success
    if (streams_.out) open.insert(kStdout);
    if (streams_.err && !streams_.tty) open.insert(kStderr);
    while (!open.empty()) {
      auto receive = session_.Receive();
      Result<std::optional<SpdyData>> data = co_await std::move(receive);
      if (!data || !*data) break;
      auto channel = channel_of_.find((*data)->stream);
      if (channel == channel_of_.end()) continue;
      if (channel->second == kError && !tells_success_) {
        how_it_ended += (*data)->data.view();
      } else if (!(*data)->data.empty()) {
        auto send = SendToCaller(channel->second, (*data)->data);
        Result<void> sent = co_await std::move(send);
        if (!sent) co_return;
      }
      if ((*data)->fin) open.erase(channel->second);
    }
    std::string fault = FaultIn(how_it_ended);
    if (fault.empty()) co_return;
    auto send = SendToCaller(kError, Bytes(std::move(fault)));
    (void)co_await std::move(send);
  }

  Task<void> FromCaller() {
    for (;;) {
      auto receive = socket_->Receive();
      Result<std::optional<http::WebSocketMessage>> message = co_await std::move(receive);
      if (!message || !*message) break;
      std::string_view text = (*message)->data.view();
      if (text.empty()) continue;
      uint8_t channel = static_cast<uint8_t>(text[0]);
      text.remove_prefix(1);
      std::string decoded;
      if (base64_) {
        channel = static_cast<uint8_t>(channel - '0');
        decoded = Base64Decode(text).value_or("");
        text = decoded;
      }
      bool closes = channel == kClose && !text.empty();
      if (closes) channel = static_cast<uint8_t>(text[0]);
      auto stream = stream_of_.find(channel);
      bool writable = channel == kStdin || channel == kResize;
      if (stream == stream_of_.end() || !writable) continue;
      auto send = session_.Send(stream->second, closes ? Bytes() : Bytes::Copy(text), closes);
      Result<void> sent = co_await std::move(send);
      if (!sent) break;
    }
    // The caller is gone: so is what it started, as far as the runtime ties it to the session.
    session_.Close();
  }

  Runtime& runtime_;
  std::unique_ptr<http::WebSocket> socket_;
  SpdySession session_;
  StreamSet streams_;
  bool base64_;
  bool tells_success_;  // the error stream has a Status always, not only what went wrong
  std::map<uint8_t, uint32_t> stream_of_;
  std::map<uint32_t, uint8_t> channel_of_;
};

Task<void> RunChannels(Runtime& runtime, std::unique_ptr<http::WebSocket> socket, std::unique_ptr<Stream> back, StreamSet streams) {
  ChannelBridge bridge(runtime, std::move(socket), std::move(back), streams);
  auto run = bridge.Run();
  co_await std::move(run);
}

// A stream's bytes inside the binary messages of a WebSocket.
class SocketStream : public Stream {
 public:
  explicit SocketStream(std::unique_ptr<http::WebSocket> socket) : socket_(std::move(socket)) {}
  Task<Result<size_t>> Read(std::span<char> buffer) override {
    while (pending_.empty()) {
      auto receive = socket_->Receive();
      CO_TRY_ASSIGN(std::optional<http::WebSocketMessage> message, co_await std::move(receive));
      if (!message) co_return size_t{0};
      pending_ = std::move(message->data);
    }
    size_t size = std::min(buffer.size(), pending_.size());
    std::memcpy(buffer.data(), pending_.data(), size);
    pending_ = pending_.Slice(size);
    co_return size;
  }
  Task<Result<void>> Write(std::vector<Bytes> parts) override {
    for (Bytes& part : parts) {
      http::WebSocketMessage message{false, std::move(part)};
      auto send = socket_->Send(std::move(message));
      CO_TRY(co_await std::move(send));
    }
    co_return Done();
  }
  // Ending it is a message of its own, which needs waiting for: whoever made this one sends it.
  void CloseWrite() override {}
  void Close() override {}
  std::string remote_address() const override { return ""; }
  http::WebSocket& socket() { return *socket_; }

 private:
  std::unique_ptr<http::WebSocket> socket_;
  Bytes pending_;
};

Task<void> RunTunnel(Runtime& runtime, std::unique_ptr<http::WebSocket> socket, std::unique_ptr<Stream> back) {
  SocketStream front(std::move(socket));
  auto splice = http::SpliceBorrowed(runtime, &front, back.get());
  co_await std::move(splice);
  back.reset();
  auto close = front.socket().Close(1000, "");
  co_await std::move(close);
}

}  // namespace

std::string ChooseSubprotocol(std::string_view offered, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  while (!offered.empty()) {
    size_t comma = offered.find(',');
    std::string_view name = offered.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    offered = comma == std::string_view::npos ? std::string_view() : offered.substr(comma + 1);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  }
  return "";
}

Task<http::Response> BridgeExec(Runtime& runtime, http::Request request, std::string url, StreamSet streams) {
  if (!WantsWebSocket(request)) {
    auto pass = PassThrough(runtime, std::move(request), std::move(url));
    co_return co_await std::move(pass);
  }
  std::string chosen = ChooseSubprotocol(request.headers.Get("Sec-WebSocket-Protocol"), ExecProtocols());
  if (chosen.empty() && request.headers.Has("Sec-WebSocket-Protocol")) {
    co_return PlainError(400, "none of the WebSocket subprotocols offered is supported");
  }
  std::vector<std::string> protocols = {"v4.channel.k8s.io"};
  auto connect = Connect(runtime, std::move(url), std::move(protocols));
  Result<http::Client::Upgraded> upgraded = co_await std::move(connect);
  if (!upgraded || !upgraded->stream) {
    auto refuse = Refusal(std::move(upgraded));
    co_return co_await std::move(refuse);
  }
  http::Response response;
  response.code = 101;
  response.upgrade = "websocket";
  response.subprotocol = chosen;
  response.on_websocket = [&runtime, streams, back = std::move(upgraded->stream)](std::unique_ptr<http::WebSocket> socket) mutable {
    return RunChannels(runtime, std::move(socket), std::move(back), streams);
  };
  co_return response;
}

Task<http::Response> BridgePortForward(Runtime& runtime, http::Request request, std::string url) {
  if (!WantsWebSocket(request)) {
    auto pass = PassThrough(runtime, std::move(request), std::move(url));
    co_return co_await std::move(pass);
  }
  const std::vector<std::string> known = {"SPDY/3.1+portforward.k8s.io"};
  std::string chosen = ChooseSubprotocol(request.headers.Get("Sec-WebSocket-Protocol"), known);
  if (chosen.empty()) co_return PlainError(400, "port forwarding over WebSocket needs the subprotocol SPDY/3.1+portforward.k8s.io");
  std::vector<std::string> protocols = {"portforward.k8s.io"};
  auto connect = Connect(runtime, std::move(url), std::move(protocols));
  Result<http::Client::Upgraded> upgraded = co_await std::move(connect);
  if (!upgraded || !upgraded->stream) {
    auto refuse = Refusal(std::move(upgraded));
    co_return co_await std::move(refuse);
  }
  http::Response response;
  response.code = 101;
  response.upgrade = "websocket";
  response.subprotocol = chosen;
  response.on_websocket = [&runtime, back = std::move(upgraded->stream)](std::unique_ptr<http::WebSocket> socket) mutable {
    return RunTunnel(runtime, std::move(socket), std::move(back));
  };
  co_return response;
}

}  // namespace homeostat::node
