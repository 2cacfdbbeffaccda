#include "kinds/certificates/request_der.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

namespace homeostat::kinds {
namespace {

template <class T>
using Read = std::expected<T, std::string>;

std::unexpected<std::string> Syntax(const std::string& why) { return std::unexpected("asn1: syntax error: " + why); }
std::unexpected<std::string> Structure(const std::string& why) { return std::unexpected("asn1: structure error: " + why); }

constexpr int kContextSpecific = 2;
constexpr int kInteger = 2, kBitString = 3, kObjectIdentifier = 6, kSequence = 16;

struct Header {
  int type_class = 0, tag = 0;
  size_t length = 0;
  bool compound = false;

  // As Go prints its structure.
  std::string ToString() const {
    return "{class:" + std::to_string(type_class) + " tag:" + std::to_string(tag) + " length:" + std::to_string(length) +
           " isCompound:" + (compound ? "true" : "false") + "}";
  }
};

uint8_t At(std::string_view bytes, size_t offset) { return static_cast<uint8_t>(bytes[offset]); }

// A tag of more than one octet.
Read<int> ReadLongTag(std::string_view bytes, size_t& offset) {
  int64_t number = 0;
  for (int shifted = 0; offset < bytes.size(); ++shifted) {
    if (shifted == 5) return Structure("base 128 integer too large");
    uint8_t octet = At(bytes, offset++);
    if (shifted == 0 && octet == 0x80) return Syntax("integer is not minimally encoded");
    number = number << 7 | (octet & 0x7f);
    if ((octet & 0x80) != 0) continue;
    if (number > INT32_MAX) return Structure("base 128 integer too large");
    return static_cast<int>(number);
  }
  return Syntax("truncated base 128 integer");
}

Read<size_t> ReadLength(std::string_view bytes, size_t& offset) {
  if (offset >= bytes.size()) return Syntax("truncated tag or length");
  uint8_t first = At(bytes, offset++);
  if ((first & 0x80) == 0) return first;
  int count = first & 0x7f;
  if (count == 0) return Syntax("indefinite length found (not DER)");
  size_t length = 0;
  for (int i = 0; i < count; ++i) {
    if (offset >= bytes.size()) return Syntax("truncated tag or length");
    if (length >= size_t{1} << 23) return Structure("length too large");
    length = length << 8 | At(bytes, offset++);
    if (length == 0) return Structure("superfluous leading zeros in length");
  }
  if (length < 0x80) return Structure("non-minimal length");
  return length;
}

Read<Header> ReadHeader(std::string_view bytes, size_t& offset) {
  uint8_t first = At(bytes, offset++);
  Header header{.type_class = first >> 6, .tag = first & 0x1f, .length = 0, .compound = (first & 0x20) != 0};
  if (header.tag == 0x1f) {
    auto tag = ReadLongTag(bytes, offset);
    if (!tag) return std::unexpected(tag.error());
    if (*tag < 0x1f) return Syntax("non-minimal tag");
    header.tag = *tag;
  }
  auto length = ReadLength(bytes, offset);
  if (!length) return std::unexpected(length.error());
  header.length = *length;
  return header;
}

// A field of one of Go's structures.
struct Part {
  enum class Sort : uint8_t { kStruct, kAny, kAnyOptional, kInteger, kBits, kIdentifier, kAttributes } sort;
  std::string_view type;  // Go's name of it
  std::span<const Part> parts = {};
};

using Sort = Part::Sort;
constexpr Part kAlgorithmParts[] = {{Sort::kIdentifier, "ObjectIdentifier"}, {Sort::kAnyOptional, "RawValue"}};
constexpr Part kKeyParts[] = {{Sort::kStruct, "AlgorithmIdentifier", kAlgorithmParts}, {Sort::kBits, "BitString"}};
constexpr Part kBodyParts[] = {{Sort::kInteger, "int"}, {Sort::kAny, "RawValue"}, {Sort::kStruct, "publicKeyInfo", kKeyParts}, {Sort::kAttributes, ""}};
constexpr Part kRequestParts[] = {{Sort::kStruct, "tbsCertificateRequest", kBodyParts}, {Sort::kStruct, "AlgorithmIdentifier", kAlgorithmParts}, {Sort::kBits, "BitString"}};
constexpr Part kRequest{Sort::kStruct, "certificateRequest", kRequestParts};

int TagOf(Sort sort) {
  switch (sort) {
    case Sort::kInteger: return kInteger;
    case Sort::kBits: return kBitString;
    case Sort::kIdentifier: return kObjectIdentifier;
    case Sort::kAttributes: return 0;
    default: return kSequence;
  }
}

std::optional<std::string> ContentFault(Sort sort, std::string_view content) {
  auto octet = [&](size_t i) { return At(content, i); };
  if (sort == Sort::kIdentifier && content.empty()) return Syntax("zero length OBJECT IDENTIFIER").error();
  if (sort == Sort::kBits && content.empty()) return Syntax("zero length BIT STRING").error();
  if (sort == Sort::kBits) {
    bool sound = octet(0) <= 7 && (content.size() > 1 || octet(0) == 0) && (octet(content.size() - 1) & ((1 << octet(0)) - 1)) == 0;
    if (!sound) return Syntax("invalid padding bits in BIT STRING").error();
  }
  if (sort == Sort::kInteger) {
    if (content.empty()) return Structure("empty integer").error();
    bool padded = content.size() > 1 && ((octet(0) == 0 && (octet(1) & 0x80) == 0) || (octet(0) == 0xff && (octet(1) & 0x80) != 0));
    if (padded) return Structure("integer not minimally-encoded").error();
    if (content.size() > 8) return Structure("integer too large").error();
  }
  return std::nullopt;
}

// Each of the items of a set.
std::optional<std::string> ItemsFault(std::string_view content) {
  for (size_t offset = 0; offset < content.size();) {
    auto header = ReadHeader(content, offset);
    if (!header) return header.error();
    if (header->length > content.size() - offset) return Syntax("data truncated").error();
    offset += header->length;
  }
  return std::nullopt;
}

// Moves the offset past the part; why it can't. Parts are nested as deep as the constants above.
std::optional<std::string> PartFault(const Part& part, std::string_view bytes, size_t& offset) {
  if (offset == bytes.size()) return part.sort == Sort::kAnyOptional ? std::nullopt : std::optional(Syntax("sequence truncated").error());
  auto header = ReadHeader(bytes, offset);
  if (!header) return header.error();
  bool any = part.sort == Sort::kAny || part.sort == Sort::kAnyOptional;
  bool compound = part.sort == Sort::kStruct || part.sort == Sort::kAttributes;
  int type_class = part.sort == Sort::kAttributes ? kContextSpecific : 0;
  if (!any && (header->type_class != type_class || header->tag != TagOf(part.sort) || header->compound != compound)) {
    return Structure("tags don't match (" + std::to_string(TagOf(part.sort)) + " vs " + header->ToString() +
                     ") {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0"
                     " set:false omitEmpty:false} " + std::string(part.type) + " @" + std::to_string(offset)).error();
  }
  if (header->length > bytes.size() - offset) return Syntax("data truncated").error();
  std::string_view content = bytes.substr(offset, header->length);
  offset += header->length;
  if (part.sort == Sort::kAttributes) return ItemsFault(content);
  size_t within = 0;
  for (const Part& inner : part.parts) {
    if (auto fault = PartFault(inner, content, within)) return fault;
  }
  return ContentFault(part.sort, content);
}

}  // namespace

std::string RequestDerFault(std::string_view der) {
  size_t offset = 0;
  if (auto fault = PartFault(kRequest, der, offset)) return *fault;
  return offset < der.size() ? Syntax("trailing data").error() : std::string();
}

}  // namespace homeostat::kinds
