#include "homeostat/object/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace homeostat::object {
namespace {

constexpr std::string_view kOverflow = "proto: integer overflow";
constexpr std::string_view kUnexpectedEnd = "unexpected EOF";
constexpr std::string_view kNegativeLength = "proto: negative length found during unmarshaling";
static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they lie in memory");

size_t EncodeVarint(uint64_t value, char* out) {
  size_t size = 0;
  while (value >= 0x80) {
    out[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out[size++] = static_cast<char>(value);
  return size;
}

}  // namespace

void WireReader::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  at_ = end_;
}

Done WireReader::status() const {
  if (ok()) return {};
  return homeostat::Fail(BadRequestError(error_));
}

uint64_t WireReader::VarintSlow() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) {
      Fail(std::string(kUnexpectedEnd));
      return 0;
    }
    uint8_t octet = static_cast<uint8_t>(*at_++);
    value |= uint64_t{octet & 0x7Fu} << shift;
    if (octet < 0x80) return value;
  }
  Fail(std::string(kOverflow));
  return 0;
}

bool WireReader::TakeTag(uint64_t tag) {
  if (!ok()) return false;
  int32_t field = static_cast<int32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  if (type_ == WireType::kEndGroup) {
    Fail("proto: " + std::string(message_name_) + ": wiretype end group for non-group");
    return false;
  }
  if (field <= 0) {
    Fail("proto: " + std::string(message_name_) + ": illegal tag " + std::to_string(field) + " (wire type " +
         std::to_string(tag) + ")");
    return false;
  }
  field_ = static_cast<uint32_t>(field);
  return true;
}

void WireReader::FailWrongType(std::string_view field_name) {
  Fail("proto: wrong wireType = " + std::to_string(static_cast<int>(type_)) + " for field " + std::string(field_name));
}

uint64_t WireReader::Fixed64() {
  uint64_t value = 0;
  if (left() < sizeof(value)) {
    Fail(std::string(kUnexpectedEnd));
    return 0;
  }
  std::memcpy(&value, at_, sizeof(value));
  at_ += sizeof(value);
  return value;
}

uint32_t WireReader::Fixed32() {
  uint32_t value = 0;
  if (left() < sizeof(value)) {
    Fail(std::string(kUnexpectedEnd));
    return 0;
  }
  std::memcpy(&value, at_, sizeof(value));
  at_ += sizeof(value);
  return value;
}

double WireReader::Double() { return std::bit_cast<double>(Fixed64()); }

std::string_view WireReader::Bytes() {
  uint64_t size = Varint();
  if (!ok()) return {};
  if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    Fail(std::string(kNegativeLength));
    return {};
  }
  if (size > left()) {
    Fail(std::string(kUnexpectedEnd));
    return {};
  }
  std::string_view bytes(at_, size);
  at_ += size;
  return bytes;
}

void WireReader::Skip() {
  if (type_ == WireType::kStartGroup) {
    SkipGroup();
  } else if (!SkipScalar(static_cast<uint32_t>(type_))) {
    Fail("proto: illegal wireType " + std::to_string(static_cast<int>(type_)));
  }
}

bool WireReader::SkipScalar(uint32_t type) {
  switch (static_cast<WireType>(type)) {
    case WireType::kVarint:
      Varint();
      return true;
    case WireType::kFixed64:
      Fixed64();
      return true;
    case WireType::kLength:
      Bytes();
      return true;
    case WireType::kFixed32:
      Fixed32();
      return true;
    default:
      return false;
  }
}

void WireReader::SkipGroup() {
  size_t depth = 1;
  while (depth > 0 && ok()) {
    uint32_t type = static_cast<uint32_t>(Varint() & 7);
    if (!ok()) return;
    if (type == static_cast<uint32_t>(WireType::kStartGroup)) {
      ++depth;
    } else if (type == static_cast<uint32_t>(WireType::kEndGroup)) {
      --depth;
    } else if (!SkipScalar(type)) {
      Fail("proto: illegal wireType " + std::to_string(type));
    }
  }
}

size_t VarintSize(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }

void AppendVarint(std::string& out, uint64_t value) {
  char encoded[10];
  out.append(encoded, EncodeVarint(value, encoded));
}

void AppendTag(std::string& out, uint32_t field, WireType type) {
  AppendVarint(out, uint64_t{field} << 3 | static_cast<uint8_t>(type));
}

void AppendVarintField(std::string& out, uint32_t field, uint64_t value) {
  AppendTag(out, field, WireType::kVarint);
  AppendVarint(out, value);
}

void AppendLengthField(std::string& out, uint32_t field, std::string_view bytes) {
  AppendTag(out, field, WireType::kLength);
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

WireWriter::WireWriter(size_t expected_bytes) : buffer_(expected_bytes, '\0'), start_(expected_bytes) {}

void WireWriter::MakeRoom(size_t bytes) {
  size_t used = size();
  size_t capacity = std::max<size_t>({buffer_.size() * 2, used + bytes, 256});
  std::string larger;
  larger.resize_and_overwrite(capacity, [](char*, size_t size) { return size; });  // not filled with zeros
  std::memcpy(larger.data() + capacity - used, buffer_.data() + start_, used);
  buffer_ = std::move(larger);
  start_ = capacity - used;
}

void WireWriter::Raw(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(Grow(bytes.size()), bytes.data(), bytes.size());
}

void WireWriter::Varint(uint64_t value) {
  if (value < 0x80) {
    *Grow(1) = static_cast<char>(value);
    return;
  }
  EncodeVarint(value, Grow(VarintSize(value)));
}

void WireWriter::Field(uint32_t field, std::string_view bytes) {
  if (field < 16 && bytes.size() < 0x80) {  // a tag and a size of one octet each, as most are
    char* at = Grow(bytes.size() + 2);
    *at++ = static_cast<char>(field << 3 | static_cast<uint8_t>(WireType::kLength));
    *at++ = static_cast<char>(bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    return;
  }
  Raw(bytes);
  Varint(bytes.size());
  Tag(field, WireType::kLength);
}

void WireWriter::VarintField(uint32_t field, uint64_t value) {
  Varint(value);
  Tag(field, WireType::kVarint);
}

void WireWriter::Fixed64Field(uint32_t field, uint64_t value) {
  std::memcpy(Grow(sizeof(value)), &value, sizeof(value));
  Tag(field, WireType::kFixed64);
}

void WireWriter::DoubleField(uint32_t field, double value) { Fixed64Field(field, std::bit_cast<uint64_t>(value)); }

void WireWriter::Message(uint32_t field, size_t mark) {
  Varint(size() - mark);
  Tag(field, WireType::kLength);
}

std::string WireWriter::Take() && {
  buffer_.erase(0, start_);
  start_ = 0;
  return std::move(buffer_);
}

bool HasProtobufPrefix(std::string_view bytes) { return bytes.starts_with(kProtobufPrefix); }

namespace {

Done ReadTypeMeta(std::string_view bytes, ProtobufEnvelope& envelope) {
  WireReader reader(bytes, "TypeMeta");
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        if (reader.Expect(WireType::kLength, "APIVersion")) envelope.api_version = reader.Bytes();
        break;
      case 2:
        if (reader.Expect(WireType::kLength, "Kind")) envelope.kind = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.status();
}

}  // namespace

Result<ProtobufEnvelope> ParseProtobufEnvelope(std::string_view bytes) {
  if (bytes.empty()) return Fail(BadRequestError("empty data"));
  if (!HasProtobufPrefix(bytes)) {
    return Fail(BadRequestError(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"));
  }
  bytes.remove_prefix(kProtobufPrefix.size());
  if (bytes.empty()) return Fail(BadRequestError("empty body"));
  ProtobufEnvelope envelope;
  WireReader reader(bytes, "Unknown");
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        if (reader.Expect(WireType::kLength, "TypeMeta")) TRY(ReadTypeMeta(reader.Bytes(), envelope));
        break;
      case 2:
        if (reader.Expect(WireType::kLength, "Raw")) envelope.raw = reader.Bytes();
        break;
      case 3:
        if (reader.Expect(WireType::kLength, "ContentEncoding")) envelope.content_encoding = reader.Bytes();
        break;
      case 4:
        if (reader.Expect(WireType::kLength, "ContentType")) envelope.content_type = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  TRY(reader.status());
  return envelope;
}

void AppendProtobufEnvelope(std::string& out, const ProtobufEnvelope& envelope) {
  size_t type_meta = 2 + VarintSize(envelope.api_version.size()) + envelope.api_version.size() +
                     VarintSize(envelope.kind.size()) + envelope.kind.size();
  out.append(kProtobufPrefix);
  AppendTag(out, 1, WireType::kLength);
  AppendVarint(out, type_meta);
  AppendLengthField(out, 1, envelope.api_version);
  AppendLengthField(out, 2, envelope.kind);
  AppendLengthField(out, 2, envelope.raw);
  AppendLengthField(out, 3, envelope.content_encoding);
  AppendLengthField(out, 4, envelope.content_type);
}

size_t BeginProtobufEnvelope(WireWriter& writer) {
  writer.Field(4, "");
  writer.Field(3, "");
  return writer.size();
}

void EndProtobufEnvelope(WireWriter& writer, size_t mark, std::string_view api_version, std::string_view kind) {
  writer.Message(2, mark);
  size_t type_meta = writer.size();
  writer.Field(2, kind);
  writer.Field(1, api_version);
  writer.Message(1, type_meta);
  writer.Raw(kProtobufPrefix);
}

}  // namespace homeostat::object
