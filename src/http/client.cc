#include "http/client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "homeostat/base/text.h"
#include "http/internal/http1_client.h"
#include "http/internal/http2_client.h"
#include "http/internal/message_text.h"
#include "http/internal/syntax.h"
#include "http/internal/time_limit.h"
#include "http/internal/websocket.h"

namespace homeostat::http {

using internal::ConnectionError;
using internal::Http1Client;
using internal::Http2Client;

namespace {

constexpr int kAttempts = 3;
constexpr uint32_t kStreamWindow = 1 << 20;
constexpr uint32_t kConnectionWindow = 32 << 20;
constexpr size_t kRefusalBytes = 64 * 1024;

using Connection = std::variant<std::shared_ptr<Http1Client>, std::shared_ptr<Http2Client>>;

bool OnlyReads(const Request& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
}

}  // namespace

struct Client::Pool : std::enable_shared_from_this<Client::Pool> {
  Pool(Runtime& runtime, ClientOptions given)
      : runtime(runtime),
        options(std::move(given)),
        changed(runtime),
        prune(runtime, [this] { Prune(); }),
        dials(runtime) {
    if (options.host.empty()) options.host = options.address.starts_with("unix:") ? "localhost" : options.address;
  }

  bool OffersHttp2() const { return options.tls && options.http2; }
  // One connection at most is dialled at a time while it may turn out to be one that all can share.
  Task<Result<Connection>> Acquire(bool fresh);
  std::optional<Connection> Take(bool fresh);
  Task<Result<std::unique_ptr<Stream>>> Dial(bool http2);
  static Task<Result<std::unique_ptr<Stream>>> DialWithoutLimit(Pool* pool, bool http2);
  Task<void> DialShared();
  std::shared_ptr<Http1Client> MakeHttp1(std::unique_ptr<Stream> stream);
  Http1Client::Release Releaser();
  void Return(std::shared_ptr<Http1Client> connection);
  void Prune();

  static Task<Result<Response>> Do(std::shared_ptr<Pool> pool, Request request);
  static Task<Result<Upgraded>> Upgrade(std::shared_ptr<Pool> pool, Request request);
  static Task<Result<std::unique_ptr<WebSocket>>> ConnectWebSocket(std::shared_ptr<Pool> pool, Request request,
                                                                   std::vector<std::string> subprotocols);

  Runtime& runtime;
  ClientOptions options;
  std::shared_ptr<TlsClient> tls, tls_http1;       // made when first needed
  std::vector<std::shared_ptr<Http1Client>> idle;  // the last one used last
  std::vector<std::shared_ptr<Http2Client>> sessions;
  size_t http1_open = 0;
  bool speaks_http1 = false;  // what the server chose
  bool dialing = false;
  std::optional<Status> dial_error;
  Signal changed;
  internal::Deadline prune;
  TaskGroup dials;
};

void Client::Pool::Prune() {
  MonotonicTime oldest = runtime.Now() - options.idle_time;
  std::erase_if(idle, [&](const auto& connection) { return !connection->idle() || connection->idle_since < oldest; });
  // Those that still serve stay alive through their bodies.
  std::erase_if(sessions, [](const auto& session) { return session->ended(); });
  if (!idle.empty() && !prune.set()) prune.Set(options.idle_time);
}

std::optional<Connection> Client::Pool::Take(bool fresh) {
  Prune();
  for (const auto& session : sessions) {
    if (session->usable()) return session;
  }
  if (idle.empty() || fresh) return std::nullopt;
  auto connection = std::move(idle.back());
  idle.pop_back();
  return connection;
}

Task<Result<Connection>> Client::Pool::Acquire(bool fresh) {
  int dialled = 0;
  while (true) {
    if (auto taken = Take(fresh)) co_return *std::move(taken);
    if (OffersHttp2() && !speaks_http1) {
      if (++dialled > kAttempts) co_return Fail(ConnectionError("the server ends its connections at once"));
      if (!dialing) {
        dialing = true;
        dial_error.reset();
        dials.Spawn(DialShared());
      }
      while (dialing) {
        auto wait = changed.Wait();
        co_await wait;
      }
      if (dial_error) co_return Fail(*dial_error);
      fresh = false;  // what has just been dialled is fresh
      continue;
    }
    if (http1_open >= options.http1_connections) {
      auto wait = changed.Wait();
      co_await wait;
      continue;
    }
    ++http1_open;  // the place is ours while we dial
    struct Place {
      ~Place() {
        --pool->http1_open;
        pool->changed.Notify();
      }
      Pool* pool;
    } place{this};
    auto dial = Dial(false);
    CO_TRY_ASSIGN(std::unique_ptr<Stream> stream, co_await dial);
    co_return MakeHttp1(std::move(stream));
  }
}

Task<Result<std::unique_ptr<Stream>>> Client::Pool::Dial(bool http2) {
  return internal::WithTimeLimit(runtime, DialWithoutLimit(this, http2), options.connect_time,
                                 "connecting to " + options.address + " timed out");
}

Task<Result<std::unique_ptr<Stream>>> Client::Pool::DialWithoutLimit(Pool* pool, bool http2) {
  auto connect = pool->runtime.network().Connect(pool->options.address);
  CO_TRY_ASSIGN(std::unique_ptr<Stream> stream, co_await connect);
  if (!pool->options.tls) co_return std::move(stream);
  std::shared_ptr<TlsClient>& tls = http2 ? pool->tls : pool->tls_http1;
  if (!tls) {
    TlsClientOptions tls_options = *pool->options.tls;
    tls_options.protocols = {"http/1.1"};
    if (http2) tls_options.protocols.insert(tls_options.protocols.begin(), "h2");
    CO_TRY_ASSIGN(tls, TlsClient::Make(tls_options));
  }
  auto secure = tls->Connect(std::move(stream));
  Result<std::unique_ptr<Stream>> secured = co_await secure;
  co_return std::move(secured);
}

Task<void> Client::Pool::DialShared() {
  auto dial = Dial(true);
  Result<std::unique_ptr<Stream>> stream = co_await dial;
  if (!stream) {
    dial_error = stream.error();
  } else if ((*stream)->application_protocol() == "h2") {
    internal::Http2Options http2;
    http2.server = false;
    http2.streams = 0;
    http2.stream_window = kStreamWindow;
    http2.connection_window = kConnectionWindow;
    http2.header_bytes = options.header_bytes;
    http2.idle_time = options.idle_time;
    http2.write_time = std::chrono::minutes(10);
    http2.ping_after = options.ping_after;
    http2.ping_time = options.ping_time;
    sessions.push_back(Http2Client::Make(runtime, *std::move(stream), http2));
  } else {
    speaks_http1 = true;
    Return(MakeHttp1(*std::move(stream)));
  }
  dialing = false;
  changed.Notify();
}

std::shared_ptr<Http1Client> Client::Pool::MakeHttp1(std::unique_ptr<Stream> stream) {
  ++http1_open;
  auto gone = [weak = weak_from_this()] {
    auto pool = weak.lock();
    if (!pool) return;
    --pool->http1_open;
    pool->changed.Notify();
  };
  return std::make_shared<Http1Client>(runtime, std::move(stream), options.header_bytes, std::move(gone));
}

Http1Client::Release Client::Pool::Releaser() {
  return [weak = weak_from_this()](std::shared_ptr<Http1Client> connection) {
    if (auto pool = weak.lock()) pool->Return(std::move(connection));
  };
}

void Client::Pool::Return(std::shared_ptr<Http1Client> connection) {
  connection->idle_since = runtime.Now();
  idle.push_back(std::move(connection));
  if (!prune.set()) prune.Set(options.idle_time);
  changed.Notify();
}

Task<Result<Response>> Client::Pool::Do(std::shared_ptr<Pool> pool, Request request) {
  for (int attempt = 1;; ++attempt) {
    auto acquire = pool->Acquire(/*fresh=*/attempt > 1);
    CO_TRY_ASSIGN(Connection connection, co_await acquire);
    bool again = false;
    Result<Response> response = Fail(ConnectionError("not sent"));
    if (auto* http2 = std::get_if<std::shared_ptr<Http2Client>>(&connection)) {
      auto call = (*http2)->Do(&request, pool->options.host, &again);
      response = co_await call;
    } else {
      auto& http1 = std::get<std::shared_ptr<Http1Client>>(connection);
      // The server may have closed an idle connection just now; whether it acted on what we sent nobody knows.
      bool reused = std::exchange(http1->used, true);
      Http1Client::Outcome outcome;
      auto call = http1->Do(&request, pool->options.host, /*may_upgrade=*/false, &outcome, pool->Releaser());
      response = co_await call;
      again = reused && !outcome.heard && OnlyReads(request);
    }
    if (response || !again || attempt == kAttempts) co_return std::move(response);
  }
}

Task<Result<Client::Upgraded>> Client::Pool::Upgrade(std::shared_ptr<Pool> pool, Request request) {
  auto dial = pool->Dial(/*http2=*/false);
  CO_TRY_ASSIGN(std::unique_ptr<Stream> stream, co_await dial);
  auto connection = std::make_shared<Http1Client>(pool->runtime, std::move(stream), pool->options.header_bytes, [] {});
  if (!internal::HasListToken(request.headers, "Connection", "upgrade")) request.headers.Set("Connection", "Upgrade");
  Http1Client::Outcome outcome;
  auto drop = [](std::shared_ptr<Http1Client>) {};
  auto call = connection->Do(&request, pool->options.host, /*may_upgrade=*/true, &outcome, drop);
  Upgraded upgraded;
  CO_TRY_ASSIGN(upgraded.response, co_await call);
  if (outcome.upgraded) upgraded.stream = internal::StreamOf(connection->wire());
  co_return std::move(upgraded);
}

namespace {

// The checks of RFC 6455, section 4.1, on the server's answer.
Result<std::string> CheckHandshake(const Headers& headers, std::string_view key,
                                   const std::vector<std::string>& offered) {
  bool accepted = EqualsIgnoreCase(headers.Get("Upgrade"), "websocket") &&
                  internal::HasListToken(headers, "Connection", "upgrade") &&
                  headers.Get("Sec-WebSocket-Accept") == internal::WebSocketAccept(key) &&
                  !headers.Has("Sec-WebSocket-Extensions");
  if (!accepted) return Fail(ConnectionError("the server's WebSocket handshake is wrong"));
  std::string chosen(headers.Get("Sec-WebSocket-Protocol"));
  bool known = chosen.empty() || std::find(offered.begin(), offered.end(), chosen) != offered.end();
  if (!known) return Fail(ConnectionError("the server chose a WebSocket subprotocol that wasn't offered"));
  return chosen;
}

}  // namespace

Task<Result<std::unique_ptr<WebSocket>>> Client::Pool::ConnectWebSocket(std::shared_ptr<Pool> pool, Request request,
                                                                        std::vector<std::string> subprotocols) {
  std::string key = internal::MakeWebSocketKey(pool->runtime);
  request.method = "GET";
  request.body = Bytes();
  request.headers.Set("Connection", "Upgrade");
  request.headers.Set("Upgrade", "websocket");
  request.headers.Set("Sec-WebSocket-Key", key);
  request.headers.Set("Sec-WebSocket-Version", "13");
  std::string offered;
  for (const std::string& subprotocol : subprotocols) offered += (offered.empty() ? "" : ", ") + subprotocol;
  if (!offered.empty()) request.headers.Set("Sec-WebSocket-Protocol", offered);
  auto upgrade = Upgrade(pool, std::move(request));
  CO_TRY_ASSIGN(Upgraded upgraded, co_await upgrade);
  int code = upgraded.response.code;
  if (!upgraded.stream) {
    auto read = ReadAll(std::move(upgraded.response), kRefusalBytes);
    Result<Bytes> body = co_await read;
    std::string_view text = body && !body->empty() ? body->view() : ReasonPhrase(code);
    co_return Fail(code >= 400 ? Status(code, "", text) : ConnectionError("the server answered without an upgrade"));
  }
  CO_TRY_ASSIGN(std::string chosen, CheckHandshake(upgraded.response.headers, key, subprotocols));
  internal::WebSocketOptions options{false, std::move(chosen), pool->options.websocket_message_bytes};
  co_return internal::MakeWebSocket(pool->runtime, std::move(upgraded.stream), std::move(options));
}

Client::Client(Runtime& runtime, ClientOptions options) : pool_(std::make_shared<Pool>(runtime, std::move(options))) {}
Client::~Client() = default;

Task<Result<Response>> Client::Do(Request request) {
  return internal::WithTimeLimit(pool_->runtime, Pool::Do(pool_, std::move(request)), pool_->options.head_time,
                                 "no response in time");
}

Task<Response> Client::Handle(Request request) {
  auto call = Do(std::move(request));
  Result<Response> response = co_await call;
  if (response) co_return *std::move(response);
  co_return internal::PlainResponse(response.error().code(), response.error().message());
}

Task<Result<std::unique_ptr<WebSocket>>> Client::ConnectWebSocket(Request request,
                                                                  std::vector<std::string> subprotocols) {
  return internal::WithTimeLimit(pool_->runtime,
                                 Pool::ConnectWebSocket(pool_, std::move(request), std::move(subprotocols)),
                                 pool_->options.head_time, "no response in time");
}

Task<Result<Client::Upgraded>> Client::Upgrade(Request request) {
  return internal::WithTimeLimit(pool_->runtime, Pool::Upgrade(pool_, std::move(request)), pool_->options.head_time,
                                 "no response in time");
}

size_t Client::open_connections() const { return pool_->http1_open + pool_->sessions.size(); }

}  // namespace homeostat::http
