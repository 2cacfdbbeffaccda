#include "sdk/internal/frames.h"

#include <cstdint>
#include <utility>

namespace homeostat::sdk {
namespace {

// Far above the largest object a server stores.
constexpr size_t kFrameLimit = size_t{1} << 30;
constexpr size_t kLengthBytes = 4;

size_t ReadLength(std::string_view text) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | static_cast<uint8_t>(text[i]);
  return length;
}

}  // namespace

void FrameBuffer::Add(Bytes piece) {
  if (partial_.empty() && whole_.empty()) {
    whole_ = std::move(piece);
    return;
  }
  if (!whole_.empty()) {
    partial_.assign(whole_.view());
    whole_ = Bytes();
    searched_ = 0;
  }
  partial_.append(piece.view());
}

Result<std::optional<FrameBuffer::Cut>> FrameBuffer::Find(std::string_view text) {
  if (framing_ == Framing::kLines) {
    size_t end = text.find('\n', searched_);
    if (end == std::string_view::npos) {
      searched_ = text.size();
      return std::nullopt;
    }
    searched_ = 0;
    return Cut{0, end, end + 1};
  }
  if (text.size() < kLengthBytes) return std::nullopt;
  size_t length = ReadLength(text);
  if (length > kFrameLimit) return Fail(SystemError("a watch event of " + std::to_string(length) + " bytes"));
  if (text.size() < kLengthBytes + length) return std::nullopt;
  return Cut{kLengthBytes, length, kLengthBytes + length};
}

Result<std::optional<Bytes>> FrameBuffer::Take() {
  while (true) {
    bool collecting = !partial_.empty();
    TRY_ASSIGN(std::optional<Cut> cut, Find(collecting ? std::string_view(partial_) : whole_.view()));
    if (!cut) return std::nullopt;
    if (collecting) whole_ = Bytes(std::exchange(partial_, std::string()));
    Bytes frame = whole_.Slice(cut->begin, cut->length);
    whole_ = whole_.Slice(cut->next);
    searched_ = 0;
    if (!frame.empty()) return frame;
  }
}

}  // namespace homeostat::sdk
