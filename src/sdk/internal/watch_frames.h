// WatchFrames: the bytes of a watch, which arrive in any pieces, cut into events. Pure.
#pragma once

#include <optional>
#include <string>

#include "homeostat/base/bytes.h"
#include "homeostat/base/result.h"

namespace homeostat::sdk {

struct WatchFrame {
  std::string type;   // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  Bytes object;       // as a body of its own: JSON, or protobuf in its envelope
};

class WatchFrames {
 public:
  // protobuf: each frame is four bytes of length (big-endian) and a WatchEvent message; else a line of JSON.
  explicit WatchFrames(bool protobuf) : protobuf_(protobuf) {}
  void Add(std::string_view piece) { pending_ += piece; }
  // The next whole frame; nullopt when more bytes are needed.
  Result<std::optional<WatchFrame>> Next();

 private:
  Result<std::optional<WatchFrame>> NextProtobuf();
  Result<std::optional<WatchFrame>> NextJson();
  void Consume(size_t size);

  bool protobuf_;
  std::string pending_;
  size_t start_ = 0;
};

}  // namespace homeostat::sdk
