#include "http/server.h"

#include <list>
#include <string>
#include <unordered_map>

#include "http/internal/server_context.h"
#include "http/internal/time_limit.h"

namespace homeostat::http {

using internal::ServerConnection;
using internal::ServerContext;

namespace internal {

std::string CaughtText() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

void ServerContext::CountException(std::string_view what) {
  ++counters.handler_exceptions;
  if (options.on_handler_exception) options.on_handler_exception(what);
}

Task<Response> ServerContext::Answer(Request request) {
  ++counters.requests;
  std::string failure;
  try {
    Task<Response> answer = handler.Handle(std::move(request));
    Response response = co_await answer;
    co_return std::move(response);
  } catch (...) {
    failure = CaughtText();
  }
  CountException(failure);
  co_return PlainResponse(500, "500 Internal Server Error");
}

Task<Result<Bytes>> ServerContext::ReadPiece(BodyReader* body) {
  std::string failure;
  try {
    Task<Result<Bytes>> read = body->Read();
    Result<Bytes> piece = co_await read;
    co_return std::move(piece);
  } catch (...) {
    failure = CaughtText();
  }
  CountException(failure);
  co_return Fail(InternalError(failure));
}

Task<void> ServerContext::RunUpgraded(Response* response, std::unique_ptr<Stream> stream,
                                      std::unique_ptr<WebSocket> websocket) {
  std::string failure;
  try {
    Task<void> run = websocket ? response->on_websocket(std::move(websocket)) : response->on_stream(std::move(stream));
    co_await run;
    co_return;
  } catch (...) {
    failure = CaughtText();
  }
  CountException(failure);
}

Response NoMemoryResponse() {
  Response response = PlainResponse(429, "429 Too Many Requests");
  response.headers.Add("Retry-After", "1");
  return response;
}

}  // namespace internal

namespace {

constexpr Duration kShortestRetry = std::chrono::milliseconds(5);
constexpr Duration kLongestRetry = std::chrono::seconds(1);

// "10.0.0.7:4711" and "[::1]:4711" without the port.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

}  // namespace

struct Server::Impl {
  Impl(Runtime& runtime, std::unique_ptr<Listener> listener, std::shared_ptr<TlsServer> tls, Handler& handler,
       ServerOptions given)
      : runtime(runtime),
        listener(std::move(listener)),
        tls(std::move(tls)),
        options(std::move(given)),
        context(runtime, handler, options, counters),
        changed(runtime),
        acceptor(runtime),
        connections(runtime) {}

  // One accepted connection in the counts, as long as it lives.
  struct Slot {
    Slot(Impl& impl, std::string client) : impl(impl), client(std::move(client)) {
      ++impl.open;
      if (!this->client.empty()) ++impl.per_client[this->client];
    }
    ~Slot() {
      --impl.open;
      auto count = impl.per_client.find(client);
      if (count != impl.per_client.end() && --count->second == 0) impl.per_client.erase(count);
      impl.changed.Notify();
    }
    Slot(const Slot&) = delete;
    Impl& impl;
    std::string client;
  };
  // A connection that speaks HTTP, where Shutdown finds it.
  struct Listing {
    Listing(Impl& impl, ServerConnection& connection)
        : impl(impl), place(impl.speaking.insert(impl.speaking.end(), &connection)) {}
    ~Listing() { impl.speaking.erase(place); }
    Listing(const Listing&) = delete;
    Impl& impl;
    std::list<ServerConnection*>::iterator place;
  };

  Task<void> AcceptAll();
  void Admit(std::unique_ptr<Stream> stream);
  static Task<void> Serve(Impl* impl, std::unique_ptr<Stream> stream, std::unique_ptr<Slot> slot);
  Task<Result<std::unique_ptr<Stream>>> ShakeHands(std::unique_ptr<Stream> stream);
  Task<void> Shutdown(Duration grace);

  Runtime& runtime;
  std::unique_ptr<Listener> listener;
  std::shared_ptr<TlsServer> tls;
  ServerOptions options;
  ServerCounters counters;
  ServerContext context;
  bool closing = false;
  size_t open = 0;
  std::unordered_map<std::string, size_t> per_client;
  std::list<ServerConnection*> speaking;
  Signal changed;
  TaskGroup acceptor, connections;
};

Task<void> Server::Impl::AcceptAll() {
  Duration retry = kShortestRetry;
  while (!closing) {
    auto accept = listener->Accept();
    Result<std::unique_ptr<Stream>> stream = co_await accept;
    if (closing) break;
    if (stream) {
      retry = kShortestRetry;
      Admit(*std::move(stream));
      continue;
    }
    // Out of file descriptors, most likely: they come back as connections end.
    auto sleep = Sleep(runtime, retry);
    co_await sleep;
    retry = std::min(retry * 2, kLongestRetry);
  }
}

void Server::Impl::Admit(std::unique_ptr<Stream> stream) {
  std::string client = HostOf(stream->remote_address());
  auto known = per_client.find(client);
  bool too_many = known != per_client.end() && known->second >= options.connections_per_client;
  if (open >= options.connections || too_many) {
    ++counters.connections_refused;
    return;
  }
  ++counters.connections_accepted;
  connections.Spawn(Serve(this, std::move(stream), std::make_unique<Slot>(*this, std::move(client))));
}

Task<Result<std::unique_ptr<Stream>>> Server::Impl::ShakeHands(std::unique_ptr<Stream> stream) {
  return internal::WithTimeLimit(runtime, tls->Accept(std::move(stream)), options.header_time,
                                 "TLS handshake timed out");
}

Task<void> Server::Impl::Serve(Impl* impl, std::unique_ptr<Stream> stream, std::unique_ptr<Slot>) {
  if (impl->tls) {
    auto handshake = impl->ShakeHands(std::move(stream));
    Result<std::unique_ptr<Stream>> secured = co_await handshake;
    if (!secured) ++impl->counters.handshakes_failed;
    if (!secured || impl->closing) co_return;
    stream = *std::move(secured);
  }
  bool http2 = stream->application_protocol() == "h2";
  auto connection = http2 ? MakeHttp2Connection(impl->context, std::move(stream))
                          : MakeHttp1Connection(impl->context, std::move(stream));
  Listing listing(*impl, *connection);
  auto run = connection->Run();
  co_await run;
}

Task<void> Server::Impl::Shutdown(Duration grace) {
  closing = true;
  listener->Close();
  // A connection may end, and so leave the list, only in a later turn.
  for (ServerConnection* connection : speaking) connection->Shutdown();
  MonotonicTime end = runtime.Now() + grace;
  while (!speaking.empty() && runtime.Now() < end) {
    auto wait = changed.WaitFor(end - runtime.Now());
    co_await wait;
  }
  acceptor.Cancel();
  connections.Cancel();
  auto accepted = acceptor.Join();
  co_await accepted;
  auto served = connections.Join();
  co_await served;
}

Server::Server(Runtime& runtime, std::unique_ptr<Listener> listener, std::shared_ptr<TlsServer> tls, Handler& handler,
               ServerOptions options)
    : impl_(std::make_unique<Impl>(runtime, std::move(listener), std::move(tls), handler, std::move(options))) {}

Server::~Server() = default;

void Server::Start() { impl_->acceptor.Spawn(impl_->AcceptAll()); }
Task<void> Server::Shutdown(Duration grace) { return impl_->Shutdown(grace); }
std::string Server::address() const { return impl_->listener->address(); }
size_t Server::open_connections() const { return impl_->open; }
const ServerCounters& Server::counters() const { return impl_->counters; }

}  // namespace homeostat::http
