// SpdySession: the client's side of SPDY/3.1, as container runtimes speak it for exec, attach and port forwarding: a few
// streams opened by us, data both ways, half-closing. Loop only.
//
// Flow control windows are neither kept nor sent: the runtimes' implementation has none. What arrives is handed on before
// the next frame is read, so a slow reader holds the runtime back.
//
// Source: the SPDY protocol, draft 3.1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "homeostat/base/net.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::node {

using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;

// What arrived for a stream. `fin`: nothing more will; `reset`: the peer gave it up.
struct SpdyData {
  uint32_t stream = 0;
  Bytes data;
  bool fin = false, reset = false;
};

class SpdySession {
 public:
  SpdySession(Runtime& runtime, std::unique_ptr<Stream> stream);
  ~SpdySession();

  // Opens a stream with these header lines; data may be sent at once.
  Task<Result<uint32_t>> Open(SpdyHeaders headers);
  Task<Result<void>> Send(uint32_t stream, Bytes data, bool fin);
  // The next data; nullopt when the peer has closed the session. One at a time.
  Task<Result<std::optional<SpdyData>>> Receive();
  void Close() { stream_->Close(); }

 private:
  struct Compressor;
  struct Frame {
    bool control = false;
    uint16_t type = 0;
    uint32_t stream = 0;
    uint8_t flags = 0;
    std::string payload;
  };
  Task<Result<void>> WriteFrame(std::string frame);
  Task<Result<std::optional<Frame>>> ReadFrame();
  Task<Result<bool>> Fill(size_t size);

  Runtime& runtime_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Compressor> compressor_;
  std::string buffer_;
  uint32_t next_stream_ = 1;
  bool writing_ = false;
  Signal written_;
};

// Pure: frames as they go over the wire, for the session and its tests.
namespace spdy {
std::string HeaderBlock(const SpdyHeaders& headers);
std::string DataFrame(uint32_t stream, std::string_view data, bool fin);
const std::string& Dictionary();
}  // namespace spdy

}  // namespace homeostat::node
