// The client's side of one HTTP/1.1 connection: one request at a time.
#pragma once

#include <functional>
#include <memory>

#include "homeostat/base/http.h"
#include "http/internal/parser.h"
#include "http/internal/wire.h"

namespace homeostat::http::internal {

class Http1Client : public std::enable_shared_from_this<Http1Client> {
 public:
  // `on_gone` is called when the connection is destroyed; it must be safe at any time.
  Http1Client(Runtime& runtime, std::unique_ptr<Stream> stream, size_t header_bytes, std::function<void()> on_gone);
  ~Http1Client();
  Http1Client(const Http1Client&) = delete;

  // How a request went.
  struct Outcome {
    bool heard = false;     // at least one byte of an answer came
    bool upgraded = false;  // 101: what follows on the wire is another protocol
  };
  // Called with the connection when its response has been read to the end and it can take another request.
  using Release = std::function<void(std::shared_ptr<Http1Client>)>;

  // Sends the request and reads the response's head; its body is a stream that keeps the connection alive. The outcome
  // and the request must outlive the task.
  Task<Result<Response>> Do(const Request* request, std::string host, bool may_upgrade, Outcome* outcome,
                            Release release);

  // Quiet and open: can take a request.
  bool idle() const { return !wire_->ended() && wire_->buffered().empty(); }
  const std::shared_ptr<Wire>& wire() const { return wire_; }
  // Kept by the pool.
  bool used = false;
  MonotonicTime idle_since{};

 private:
  struct Sending {
    bool done = false;
    bool failed = false;
  };
  Task<void> SendRequest(std::vector<Bytes> parts, Sending* sending);
  Task<Result<ResponseHead>> ReadHead(std::string method, bool may_upgrade, Outcome* outcome);

  Runtime& runtime_;
  std::shared_ptr<Wire> wire_;
  size_t header_bytes_;
  std::function<void()> on_gone_;
};

}  // namespace homeostat::http::internal
