// Protobuf's wire format by hand: the primitives that typed codecs are built from, and the envelope in which Kubernetes
// puts a protobuf object.
//
// Source of the rules: protobuf's encoding specification; error texts are those of the gogo-generated code that clients
// know; the envelope is apimachinery's runtime.Unknown behind the four bytes "k8s\0".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::object {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// Reads the fields of one message. An error is remembered and ends the reading: loop on Next(), read each field with the
// one method that fits its type (or Skip), and look at status() once at the end.
//
//   WireReader reader(bytes, "Pod");
//   while (reader.Next()) {
//     switch (reader.field()) {
//       case 1: if (reader.Expect(WireType::kLength, "Metadata")) ReadMetadata(reader.Bytes()); break;
//       default: reader.Skip();
//     }
//   }
//   TRY(reader.status());
//
// What Bytes() gives points into the input. Nested messages are read by a WireReader over those bytes; the caller bounds
// how deep it goes.
class WireReader {
 public:
  // message_name: what the errors call the message. Both must outlive the reader.
  explicit WireReader(std::string_view bytes, std::string_view message_name = "message")
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_name_(message_name) {}

  // Reads the next field's tag. False at the end of the message and after an error.
  bool Next() {
    if (at_ == end_) return false;
    uint64_t tag = static_cast<uint8_t>(*at_) < 0x80 ? static_cast<uint8_t>(*at_++) : VarintSlow();
    return TakeTag(tag);
  }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }

  // True if the field came with that wire type; otherwise the message is in error. The name is for the error's text.
  bool Expect(WireType type, std::string_view field_name) {
    if (type_ == type) return true;
    FailWrongType(field_name);
    return false;
  }

  // The field's content. After an error 0 or empty.
  uint64_t Varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    return VarintSlow();
  }
  int64_t Int64() { return static_cast<int64_t>(Varint()); }
  int32_t Int32() { return static_cast<int32_t>(Varint()); }
  bool Bool() { return Varint() != 0; }
  uint64_t Fixed64();
  uint32_t Fixed32();
  double Double();
  std::string_view Bytes();
  // Passes over the field whatever its type is; groups, too, which count their nesting without using the stack.
  void Skip();

  bool ok() const { return error_.empty(); }
  // Puts the reader into error, for faults that the caller finds.
  void Fail(std::string message);
  // BadRequest with the text, if there was an error.
  Done status() const;

 private:
  uint64_t VarintSlow();
  bool TakeTag(uint64_t tag);
  void FailWrongType(std::string_view field_name);
  void SkipGroup();
  bool SkipScalar(uint32_t type);
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  const char* at_;
  const char* end_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  std::string_view message_name_;
  std::string error_;
};

// Writing forwards, for messages whose size is known or which hold no messages.
void AppendVarint(std::string& out, uint64_t value);
void AppendTag(std::string& out, uint32_t field, WireType type);
void AppendVarintField(std::string& out, uint32_t field, uint64_t value);
void AppendLengthField(std::string& out, uint32_t field, std::string_view bytes);
size_t VarintSize(uint64_t value);

// Writing backwards, from the last field to the first: a nested message's length is then known when it is due, so that
// any depth costs one pass and no measuring. Within a message the caller goes through its fields, and through the items
// of repeated ones, in reverse.
//
//   WireWriter writer;
//   size_t mark = writer.size();
//   writer.Field(2, "b");  writer.Field(1, "a");
//   writer.Message(7, mark);   // field 7 holds what was written since the mark
class WireWriter {
 public:
  WireWriter() = default;
  explicit WireWriter(size_t expected_bytes);

  size_t size() const { return buffer_.size() - start_; }
  void Field(uint32_t field, std::string_view bytes);
  void VarintField(uint32_t field, uint64_t value);
  void Fixed64Field(uint32_t field, uint64_t value);
  void DoubleField(uint32_t field, double value);
  void Message(uint32_t field, size_t mark);
  // Bytes without a tag in front.
  void Raw(std::string_view bytes);
  void Varint(uint64_t value);
  void Tag(uint32_t field, WireType type) { Varint(uint64_t{field} << 3 | static_cast<uint8_t>(type)); }

  // All that was written, in wire order; valid until the next write.
  std::string_view view() const { return std::string_view(buffer_).substr(start_); }
  std::string Take() &&;

 private:
  char* Grow(size_t bytes) {
    if (bytes > start_) MakeRoom(bytes);
    start_ -= bytes;
    return buffer_.data() + start_;
  }
  void MakeRoom(size_t bytes);

  std::string buffer_;
  size_t start_ = 0;
};

// "k8s\0", which every protobuf object of Kubernetes starts with.
inline constexpr std::string_view kProtobufPrefix{"k8s\0", 4};
bool HasProtobufPrefix(std::string_view bytes);

// runtime.Unknown: what follows the prefix. raw is the object's own message (or other bytes, if content_type says so).
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
  std::string_view content_encoding;
  std::string_view content_type;
};

// The views point into the bytes. BadRequest with upstream's text if they are not such an envelope.
Result<ProtobufEnvelope> ParseProtobufEnvelope(std::string_view bytes);
// Prefix and envelope, as upstream writes them: raw always, the two content fields even when empty.
void AppendProtobufEnvelope(std::string& out, const ProtobufEnvelope& envelope);
// The same around an object's message that is written backwards: Begin, write the object's fields, End with Begin's mark.
size_t BeginProtobufEnvelope(WireWriter& writer);
void EndProtobufEnvelope(WireWriter& writer, size_t mark, std::string_view api_version, std::string_view kind);

}  // namespace homeostat::object
