// The client's side of one HTTP/2 connection, shared by the requests under way.
#pragma once

#include <memory>

#include "homeostat/base/http.h"
#include "http/internal/http2_session.h"

namespace homeostat::http::internal {

class Http2Client : public Http2Session, public std::enable_shared_from_this<Http2Client> {
 public:
  static std::shared_ptr<Http2Client> Make(Runtime& runtime, std::unique_ptr<Stream> stream, Http2Options options);
  ~Http2Client() override { Drop(); }

  // Whether a request can be sent now.
  bool usable() const { return CanOpen(); }
  // Sends the request and waits for the response's head. *unprocessed says of an error that the server never acted on
  // the request. The request and the flag must outlive the task.
  Task<Result<Response>> Do(const Request* request, std::string host, bool* unprocessed);

 private:
  struct Exchange;
  struct CallStream;
  class Body;

  Http2Client(Runtime& runtime, std::unique_ptr<Stream> stream, Http2Options options)
      : Http2Session(runtime, std::move(stream), options) {}

  std::shared_ptr<Http2Stream> OnOpen() override { return nullptr; }
  bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void OnHead(Http2Stream& stream, bool ends) override;
  void OnData(Http2Stream& stream, std::string_view data) override;
  void OnEnd(Http2Stream& stream) override;
  void OnClosed(Http2Stream& stream, uint32_t error) override;
  void OnSent(Http2Stream&) override {}
  void OnEndSent(Http2Stream&) override {}
  void OnSessionEnd() override;
};

}  // namespace homeostat::http::internal
