// FrameBuffer: cuts the pieces of a watch's body into frames. A pure core.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "homeostat/base/bytes.h"
#include "homeostat/base/result.h"

namespace homeostat::sdk {

class FrameBuffer {
 public:
  // Protobuf watches put four bytes of big-endian length before each frame; JSON ones end each with a line break.
  enum class Framing { kLength, kLines };
  explicit FrameBuffer(Framing framing) : framing_(framing) {}

  void Add(Bytes piece);
  // The next whole frame, without its length or line break; nullopt while it is not there yet. An error if a length is
  // beyond what any event can have. A frame shares the piece that it came in.
  Result<std::optional<Bytes>> Take();
  // Bytes that are no whole frame yet: at the end of the body, a frame that was cut.
  size_t pending() const { return whole_.size() + partial_.size(); }

 private:
  // Where the frame begins and ends in the text, and where the next one begins.
  struct Cut {
    size_t begin, length, next;
  };
  Result<std::optional<Cut>> Find(std::string_view text);

  Framing framing_;
  Bytes whole_;           // what is looked at, while it holds whole frames
  std::string partial_;   // a frame that is being collected, and what follows
  size_t searched_ = 0;   // kLines: no line break before this place in partial_
};

}  // namespace homeostat::sdk
