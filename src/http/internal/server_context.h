// What the connections of one server share.
#pragma once

#include <algorithm>
#include <utility>

#include "http/internal/message_text.h"
#include "http/server.h"

namespace homeostat::http::internal {

// The memory that request bodies may take together.
class BodyBudget {
 public:
  explicit BodyBudget(size_t limit) : left_(limit) {}

  // A share of the budget, given back when it is destroyed. The budget must outlive it.
  class Share {
   public:
    explicit Share(BodyBudget& budget) : budget_(budget) {}
    ~Share() { Release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    // False if that much isn't left.
    bool Take(size_t bytes) {
      if (bytes > budget_.left_) return false;
      budget_.left_ -= bytes;
      taken_ += bytes;
      return true;
    }
    void Release() { budget_.left_ += std::exchange(taken_, 0); }

   private:
    BodyBudget& budget_;
    size_t taken_ = 0;
  };

 private:
  size_t left_;
};

struct ServerContext {
  ServerContext(Runtime& runtime, Handler& handler, const ServerOptions& options, ServerCounters& counters)
      : runtime(runtime),
        handler(handler),
        options(options),
        counters(counters),
        date(runtime),
        bodies(options.buffered_body_bytes) {}

  Runtime& runtime;
  Handler& handler;
  const ServerOptions& options;
  ServerCounters& counters;
  DateCache date;
  BodyBudget bodies;

  void CountException(std::string_view what);
  // Asks the handler; an exception that leaves it is a bug of one request, and is answered as such.
  Task<Response> Answer(Request request);
  // The next piece of a body, by the same rule.
  Task<Result<Bytes>> ReadPiece(BodyReader* body);
  // Runs what follows an upgrade, by the same rule. The response must outlive the task.
  Task<void> RunUpgraded(Response* response, std::unique_ptr<Stream> stream, std::unique_ptr<WebSocket> websocket);
};

// What an exception says. Only inside a catch clause.
std::string CaughtText();

// The answer when the budget is used up: clients know to come back.
Response NoMemoryResponse();

// One connection of either version.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  // Completes when the connection has ended; then it may be destroyed.
  virtual Task<void> Run() = 0;
  // Takes no further requests, ends streams, and ends once what is under way has been answered.
  virtual void Shutdown() = 0;
};

std::unique_ptr<ServerConnection> MakeHttp1Connection(ServerContext& context, std::unique_ptr<Stream> stream);
std::unique_ptr<ServerConnection> MakeHttp2Connection(ServerContext& context, std::unique_ptr<Stream> stream);

}  // namespace homeostat::http::internal
