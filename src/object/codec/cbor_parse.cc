#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "homeostat/base/text.h"
#include "homeostat/object/cbor.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "object/internal/utf8.h"

namespace homeostat::object {
namespace {

constexpr size_t kMostPairs = 2'097'152;

enum Major : uint8_t { kUnsigned, kNegative, kByteString, kTextString, kArray, kMap, kTag, kSimple };
enum Tag : uint64_t { kTimeText = 0, kTimeNumber = 1, kBignum = 2, kNegativeBignum = 3, kBase64Url = 21, kBase64 = 22, kBase16 = 23 };

// The beginning of every data item: its type and its number, which is a value, a length or a tag.
struct Head {
  Major major = kUnsigned;
  uint8_t info = 0;
  uint64_t number = 0;
  bool indefinite = false;
};

std::unexpected<Status> CborError(const std::string& text) { return Fail(BadRequestError("cbor: " + text)); }
std::unexpected<Status> CutShort() { return Fail(BadRequestError("unexpected EOF")); }

double HalfToDouble(uint16_t half) {
  int exponent = half >> 10 & 0x1F;
  int mantissa = half & 0x3FF;
  double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                      : std::ldexp(mantissa + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

std::string EncodeLater(std::string_view octets, uint64_t encoding) {
  if (encoding == kBase64) return Base64Encode(octets);
  if (encoding == kBase64Url) return Base64UrlEncode(octets);
  std::string out;
  for (char c : octets) {
    out += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    out += "0123456789abcdef"[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

// Reads without recursion: arrays and maps that are open are on a stack, what they hold so far on another.
class Reader {
 public:
  Reader(Arena& arena, std::string_view data) : arena_(arena), data_(data) {}

  Result<Value> Read() {
    if (data_.empty()) return Fail(BadRequestError("EOF"));
    do {
      TRY(ReadItem());
    } while (!open_.empty());
    if (at_ < data_.size()) {
      return CborError(std::to_string(data_.size() - at_) + " bytes of extraneous data starting at index " +
                       std::to_string(at_));
    }
    return values_.back();
  }

 private:
  struct Container {
    bool map;
    bool indefinite;
    uint64_t left;      // items still to come; of a map, names and values
    size_t first;       // in values_
    uint64_t encoding;  // what byte strings inside become, 0 for texts
  };

  Result<Head> ReadHead() {
    if (at_ >= data_.size()) return CutShort();
    uint8_t initial = static_cast<uint8_t>(data_[at_++]);
    Head head{.major = static_cast<Major>(initial >> 5), .info = static_cast<uint8_t>(initial & 31)};
    if (head.info < 24) {
      head.number = head.info;
    } else if (head.info < 28) {
      size_t size = size_t{1} << (head.info - 24);
      if (data_.size() - at_ < size) return CutShort();
      for (size_t i = 0; i < size; ++i) head.number = head.number << 8 | static_cast<uint8_t>(data_[at_++]);
    } else if (head.info == 31 && head.major != kUnsigned && head.major != kNegative && head.major != kTag) {
      head.indefinite = true;
    } else {
      return CborError("invalid additional information " + std::to_string(head.info) + " for type " +
                       std::to_string(head.major));
    }
    return head;
  }

  // Tags in front of an item: what they say of it.
  Done ReadTags(Head& head, uint64_t& encoding, uint64_t& time) {
    size_t tags = 0;
    while (head.major == kTag) {
      if (++tags + open_.size() > static_cast<size_t>(kMaxDepth)) return TooDeep();
      if (head.number == kBignum || head.number == kNegativeBignum) return CborError("bignum is not allowed");
      if (head.number >= kBase64Url && head.number <= kBase16) encoding = head.number;
      if (head.number <= kTimeNumber) time = head.number + 1;
      TRY_ASSIGN(head, ReadHead());
    }
    return {};
  }

  std::unexpected<Status> TooDeep() const { return CborError("exceeded max nested level " + std::to_string(kMaxDepth)); }

  static std::unexpected<Status> TooManyPairs() {
    return CborError("exceeded max number of key-value pairs " + std::to_string(kMostPairs) + " for CBOR map");
  }

  Done ReadItem() {
    TRY_ASSIGN(Head head, ReadHead());
    uint64_t encoding = open_.empty() ? 0 : open_.back().encoding;
    uint64_t time = 0;
    bool tagged = head.major == kTag;
    TRY(ReadTags(head, encoding, time));
    if (head.major == kSimple && head.indefinite) {
      bool ends = !tagged && !open_.empty() && open_.back().indefinite && !AtValueOfMap();
      if (!ends) return CborError("unexpected \"break\" code");
      return Close();
    }
    if (head.major == kArray || head.major == kMap) {
      if (AtNameOfMap()) return CborError("cannot use a map or array as a map key");
      if (time != 0) return CborError("tag number " + std::to_string(time - 1) + " must be followed by a time");
      return Open(head, encoding);
    }
    TRY_ASSIGN(Value value, ReadScalar(head, encoding));
    if (time != 0) {
      TRY_ASSIGN(value, ToTime(value, time - 1));
    }
    if (AtNameOfMap() && !value.IsString()) return CborError("cannot use a value that is no string as a map key");
    return Take(value);
  }

  size_t Held(const Container& container) const { return values_.size() - container.first; }
  bool AtNameOfMap() const { return !open_.empty() && open_.back().map && Held(open_.back()) % 2 == 0; }
  bool AtValueOfMap() const { return !open_.empty() && open_.back().map && Held(open_.back()) % 2 == 1; }

  Result<Value> ReadScalar(const Head& head, uint64_t encoding) {
    switch (head.major) {
      case kUnsigned:
      case kNegative: {
        if (head.number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          return CborError("integer overflows Go's int64");
        }
        int64_t number = static_cast<int64_t>(head.number);
        return Value::Int(head.major == kNegative ? -1 - number : number);
      }
      case kByteString: {
        TRY_ASSIGN(std::string_view octets, ReadString(head));
        if (encoding == 0) return Value::String(arena_, octets);
        return Value::String(arena_, EncodeLater(octets, encoding));
      }
      case kTextString: {
        TRY_ASSIGN(std::string_view text, ReadString(head));
        if (!internal::IsValidUtf8(text)) return CborError("invalid UTF-8 string");
        return Value::String(arena_, text);
      }
      default:
        return ReadSimple(head);
    }
  }

  Result<Value> ReadSimple(const Head& head) {
    double number = 0;
    switch (head.info) {
      case 20:
      case 21:
        return Value::Bool(head.info == 21);
      case 22:
        return Value::Null();
      case 25:
        number = HalfToDouble(static_cast<uint16_t>(head.number));
        break;
      case 26:
        number = std::bit_cast<float>(static_cast<uint32_t>(head.number));
        break;
      case 27:
        number = std::bit_cast<double>(head.number);
        break;
      default:
        return CborError("simple value " + std::to_string(head.number) + " is not recognized");
    }
    if (std::isnan(number)) return CborError("NaN is not allowed");
    if (std::isinf(number)) return CborError("infinity is not allowed");
    return Value::Double(number);
  }

  // The pieces of a string of unknown length become one, in the arena; others are views of the input.
  Result<std::string_view> ReadString(const Head& head) {
    if (!head.indefinite) return ReadOctets(head.number);
    std::string whole;
    while (true) {
      TRY_ASSIGN(Head piece, ReadHead());
      if (piece.major == kSimple && piece.indefinite) return arena_.Copy(whole);
      if (piece.major != head.major || piece.indefinite) {
        return CborError("wrong element type in an indefinite-length string");
      }
      TRY_ASSIGN(std::string_view octets, ReadOctets(piece.number));
      if (piece.major == kTextString && !internal::IsValidUtf8(octets)) return CborError("invalid UTF-8 string");
      whole += octets;
    }
  }

  Result<std::string_view> ReadOctets(uint64_t size) {
    if (size > data_.size() - at_) return CutShort();
    std::string_view octets = data_.substr(at_, size);
    at_ += size;
    return octets;
  }

  Result<Value> ToTime(const Value& value, uint64_t tag) {
    if (tag == kTimeText) {
      if (!value.IsString()) return CborError("tag number 0 must be followed by text string");
      Result<Timestamp> time = ParseTime(value.AsString());
      if (!time) return CborError("cannot set " + std::string(value.AsString()) + " for time.Time: " + time.error().message());
      return Value::String(arena_, FormatTimeNano(*time));
    }
    if (!value.IsNumber()) return CborError("tag number 1 must be followed by integer or floating-point number");
    constexpr double kFar = 1e12;  // beyond the year 9999
    double seconds = value.AsDouble();
    if (std::fabs(seconds) > kFar) return CborError("time out of range");
    double whole = std::floor(seconds);
    Timestamp time{static_cast<int64_t>(whole), static_cast<int32_t>((seconds - whole) * 1e9)};
    return Value::String(arena_, FormatTimeNano(time));
  }

  Done Open(const Head& head, uint64_t encoding) {
    if (open_.size() >= static_cast<size_t>(kMaxDepth)) return TooDeep();
    bool map = head.major == kMap;
    if (map && head.number > kMostPairs) return TooManyPairs();
    if (head.number > data_.size()) return CutShort();  // every item takes an octet at least
    open_.push_back({map, head.indefinite, head.number * (map ? 2 : 1), values_.size(), encoding});
    if (!head.indefinite && head.number == 0) return Close();
    return {};
  }

  // Puts a complete item into what is open, which may complete that in turn.
  Done Take(const Value& value) {
    values_.push_back(value);
    if (open_.empty()) return {};
    Container& container = open_.back();
    if (container.map && container.indefinite && Held(container) > 2 * kMostPairs) {
      return TooManyPairs();
    }
    if (!container.indefinite && --container.left == 0) return Close();
    return {};
  }

  // Ends the innermost container, and those that it completes.
  Done Close() {
    while (true) {
      Container container = open_.back();
      open_.pop_back();
      std::span<const Value> held = std::span(values_).subspan(container.first);
      Value value;
      if (container.map) {
        TRY_ASSIGN(value, MakeObject(held));
      } else {
        Value* items = arena_.AllocateArray<Value>(held.size());
        std::uninitialized_copy(held.begin(), held.end(), items);
        value = Value::List({items, held.size()});
      }
      values_.resize(container.first);
      values_.push_back(value);
      if (open_.empty() || open_.back().indefinite || --open_.back().left > 0) return {};
    }
  }

  Result<Value> MakeObject(std::span<const Value> held) {
    size_t count = held.size() / 2;
    Member* members = arena_.AllocateArray<Member>(count);
    std::vector<std::string_view> names;
    for (size_t i = 0; i < count; ++i) {
      new (members + i) Member(held[i * 2].AsString(), held[i * 2 + 1]);
      names.push_back(members[i].name());
    }
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return CborError("found duplicate map key " + GoQuote(*twice));
    return Value::Object({members, count});
  }

  Arena& arena_;
  std::string_view data_;
  size_t at_ = 0;
  std::vector<Container> open_;
  std::vector<Value> values_;
};

}  // namespace

Result<Value> ParseCbor(Arena& arena, std::string_view data) { return Reader(arena, data).Read(); }

}  // namespace homeostat::object
