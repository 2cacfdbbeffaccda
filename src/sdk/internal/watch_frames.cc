#include "sdk/internal/watch_frames.h"

#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"

namespace homeostat::sdk {
namespace {

constexpr size_t kFrameLimit = 64 << 20;

}  // namespace

void WatchFrames::Consume(size_t size) {
  start_ += size;
  // Moved to the front only now and then, so that many small frames cost little.
  if (start_ == pending_.size() || start_ > (1 << 16)) {
    pending_.erase(0, start_);
    start_ = 0;
  }
}

Result<std::optional<WatchFrame>> WatchFrames::Next() { return protobuf_ ? NextProtobuf() : NextJson(); }

Result<std::optional<WatchFrame>> WatchFrames::NextProtobuf() {
  std::string_view rest = std::string_view(pending_).substr(start_);
  if (rest.size() < 4) return std::optional<WatchFrame>();
  size_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(rest[static_cast<size_t>(i)]);
  if (size > kFrameLimit) return Fail(InternalError("a watch event of " + std::to_string(size) + " bytes is too large"));
  if (rest.size() < 4 + size) return std::optional<WatchFrame>();
  WatchFrame frame;
  object::WireReader event(rest.substr(4, size), "WatchEvent");
  while (event.Next()) {
    if (event.field() == 1 && event.Expect(object::WireType::kLength, "Type")) {
      frame.type = event.Bytes();
    } else if (event.field() == 2 && event.Expect(object::WireType::kLength, "Object")) {
      object::WireReader raw(event.Bytes(), "RawExtension");
      while (raw.Next()) {
        if (raw.field() == 1 && raw.Expect(object::WireType::kLength, "Raw")) frame.object = Bytes::Copy(raw.Bytes());
        else raw.Skip();
      }
      TRY(raw.status());
    } else {
      event.Skip();
    }
  }
  TRY(event.status());
  Consume(4 + size);
  return std::optional<WatchFrame>(std::move(frame));
}

Result<std::optional<WatchFrame>> WatchFrames::NextJson() {
  std::string_view rest = std::string_view(pending_).substr(start_);
  size_t end = rest.find('\n');
  if (end == rest.npos) {
    if (rest.size() > kFrameLimit) return Fail(InternalError("a watch event is too large"));
    return std::optional<WatchFrame>();
  }
  object::Arena arena;
  TRY_ASSIGN(object::Value event, object::ParseJson(arena, rest.substr(0, end)));
  WatchFrame frame;
  frame.type = event.Get("type").AsString();
  frame.object = Bytes(object::JsonText(event.Get("object")));
  Consume(end + 1);
  return std::optional<WatchFrame>(std::move(frame));
}

}  // namespace homeostat::sdk
