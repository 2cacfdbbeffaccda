#include "sdk/internal/watch_stream.h"

#include <string>
#include <utility>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/object/packed.h"
#include "homeostat/object/wire.h"
#include "homeostat/schema/conform.h"
#include "sdk/internal/bodies.h"
#include "sdk/internal/frames.h"

namespace homeostat::sdk {
namespace {

using object::Value;

constexpr schema::GroupVersionKind kStatusKind{"", "v1", "Status"};

Result<WatchEventType> ParseType(std::string_view text) {
  if (text == "ADDED") return WatchEventType::kAdded;
  if (text == "MODIFIED") return WatchEventType::kModified;
  if (text == "DELETED") return WatchEventType::kDeleted;
  if (text == "BOOKMARK") return WatchEventType::kBookmark;
  if (text == "ERROR") return WatchEventType::kError;
  return Fail(SystemError("a watch event of unknown type \"" + std::string(text) + "\""));
}

// The bytes inside a RawExtension.
std::string_view RawOf(std::string_view extension) {
  object::WireReader reader(extension, "RawExtension");
  std::string_view raw;
  while (reader.Next()) {
    if (reader.field() == 1 && reader.Expect(object::WireType::kLength, "Raw")) {
      raw = reader.Bytes();
    } else if (reader.ok()) {
      reader.Skip();
    }
  }
  return raw;
}

// A small part of a large piece is copied, so that an object does not keep its neighbours' memory.
Bytes Detached(const Bytes& frame, std::string_view part) {
  if (part.size() * 2 < frame.size()) return Bytes::Copy(part);
  return frame.Slice(static_cast<size_t>(part.data() - frame.data()), part.size());
}

Result<WatchEvent> Finish(WatchEvent event, object::DocumentPtr document) {
  if (event.type == WatchEventType::kError) {
    event.error = StatusFromObject(document->root());
  } else {
    event.object = std::move(document);
  }
  return event;
}

BodyType ExpectedType(const BodyType& type, WatchEventType event) {
  if (event == WatchEventType::kError) return {&api::meta::v1::Status::SchemaType(), kStatusKind};
  return type;
}

Result<WatchEvent> DecodeProtobufEvent(const BodyType& type, const Bytes& frame) {
  std::string_view type_text, raw;
  object::WireReader reader(frame.view(), "WatchEvent");
  while (reader.Next()) {
    if (reader.field() == 1 && reader.Expect(object::WireType::kLength, "Type")) {
      type_text = reader.Bytes();
    } else if (reader.field() == 2 && reader.Expect(object::WireType::kLength, "Object")) {
      raw = RawOf(reader.Bytes());
    } else if (reader.ok()) {
      reader.Skip();
    }
  }
  TRY(reader.status());
  WatchEvent event;
  TRY_ASSIGN(event.type, ParseType(type_text));
  TRY_ASSIGN(object::DocumentPtr document, DecodeBody(ExpectedType(type, event.type), Detached(frame, raw)));
  return Finish(std::move(event), std::move(document));
}

Result<WatchEvent> DecodeJsonEvent(const BodyType& type, std::string_view frame) {
  object::Arena parsed;
  TRY_ASSIGN(Value root, object::ParseJson(parsed, frame));
  WatchEvent event;
  TRY_ASSIGN(event.type, ParseType(root.Get("type").AsString()));
  BodyType expected = ExpectedType(type, event.type);
  schema::ConformReport report{.collect = false, .problems = {}};
  object::Arena scratch;
  TRY_ASSIGN(Value typed, schema::Conform(scratch, root.Get("object"), *expected.type, report));
  auto document = std::make_shared<object::Document>();
  document->set_root(object::PackedInto(document->arena(), typed));  // what was parsed is larger and goes
  return Finish(std::move(event), std::move(document));
}

class ResponseStream : public WatchStream {
 public:
  ResponseStream(BodyType type, http::Response response)
      : type_(type),
        response_(std::move(response)),
        protobuf_(response_.headers.Get("Content-Type").starts_with(kProtobufMediaType)),
        frames_(protobuf_ ? FrameBuffer::Framing::kLength : FrameBuffer::Framing::kLines) {
    for (Bytes& part : response_.body) frames_.Add(std::move(part));
  }

  Task<Result<std::optional<WatchEvent>>> Next() override {
    while (true) {
      CO_TRY_ASSIGN(std::optional<Bytes> frame, frames_.Take());
      if (frame) {
        CO_TRY_ASSIGN(WatchEvent event, DecodeWatchEvent(type_, std::move(*frame), protobuf_));
        co_return std::optional<WatchEvent>(std::move(event));
      }
      Bytes piece;
      if (response_.stream) {
        auto read = response_.stream->Read();
        CO_TRY_ASSIGN(piece, co_await read);
      }
      if (piece.empty()) {
        if (frames_.pending() > 0) co_return Fail(SystemError("the watch ended within an event"));
        co_return std::nullopt;
      }
      frames_.Add(std::move(piece));
    }
  }

 private:
  BodyType type_;
  http::Response response_;
  bool protobuf_;
  FrameBuffer frames_;
};

}  // namespace

Result<WatchEvent> DecodeWatchEvent(const BodyType& type, Bytes frame, bool protobuf) {
  auto event = protobuf ? DecodeProtobufEvent(type, frame) : DecodeJsonEvent(type, frame.view());
  if (!event) return Fail(SystemError("decode a watch event: " + event.error().message()));
  return event;
}

std::unique_ptr<WatchStream> WatchResponse(BodyType type, http::Response response) {
  return std::make_unique<ResponseStream>(type, std::move(response));
}

}  // namespace homeostat::sdk
