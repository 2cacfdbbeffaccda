#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "homeostat/object/cbor.h"

namespace homeostat::object {
namespace {

enum Major : uint8_t { kUnsigned, kNegative, kByteString, kTextString, kArray, kMap, kTag, kSimple };
constexpr uint64_t kBase64Later = 22;

void PutBigEndian(std::string& out, uint64_t number, int octets) {
  for (int shift = (octets - 1) * 8; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

// In the fewest octets.
void PutHead(std::string& out, Major major, uint64_t number) {
  char top = static_cast<char>(major << 5);
  if (number < 24) {
    out.push_back(static_cast<char>(top | static_cast<char>(number)));
  } else if (number <= 0xFF) {
    out.push_back(static_cast<char>(top | 24));
    PutBigEndian(out, number, 1);
  } else if (number <= 0xFFFF) {
    out.push_back(static_cast<char>(top | 25));
    PutBigEndian(out, number, 2);
  } else if (number <= 0xFFFFFFFF) {
    out.push_back(static_cast<char>(top | 26));
    PutBigEndian(out, number, 4);
  } else {
    out.push_back(static_cast<char>(top | 27));
    PutBigEndian(out, number, 8);
  }
}

// The half-precision number that has this value; false if there is none.
bool ToHalf(float number, uint16_t& half) {
  uint32_t bits = std::bit_cast<uint32_t>(number);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  int exponent = static_cast<int>(bits >> 23 & 0xFF) - 127;
  uint32_t mantissa = bits & 0x7FFFFF;
  if (number == 0) {
    half = sign;
    return true;
  }
  if (exponent > 15 || exponent < -24) return false;
  if (exponent >= -14) {
    if ((mantissa & 0x1FFF) != 0) return false;
    half = static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa >> 13);
    return true;
  }
  // Subnormal: the leading one becomes visible and moves down.
  uint32_t full = mantissa | 0x800000;
  int shift = -exponent - 1;  // 14…23
  if ((full & ((1u << shift) - 1)) != 0) return false;
  half = static_cast<uint16_t>(sign | full >> shift);
  return true;
}

void PutDouble(std::string& out, double number) {
  float single = static_cast<float>(number);
  uint16_t half = 0;
  if (static_cast<double>(single) != number) {
    out.push_back(static_cast<char>(kSimple << 5 | 27));
    PutBigEndian(out, std::bit_cast<uint64_t>(number), 8);
  } else if (ToHalf(single, half)) {
    out.push_back(static_cast<char>(kSimple << 5 | 25));
    PutBigEndian(out, half, 2);
  } else {
    out.push_back(static_cast<char>(kSimple << 5 | 26));
    PutBigEndian(out, std::bit_cast<uint32_t>(single), 4);
  }
}

void PutText(std::string& out, std::string_view text) {
  PutHead(out, kByteString, text.size());
  out.append(text);
}

// Encoded names compare by length first, as the length is what they begin with.
bool EncodesBefore(const Member* a, const Member* b) {
  if (a->name_size != b->name_size) return a->name_size < b->name_size;
  return a->name() < b->name();
}

// Writes a tree without recursion.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Write(const Value& root) {
    Put(root);
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.next == top.value.size()) {
        if (top.value.IsObject()) sorted_.resize(top.first_sorted);
        open_.pop_back();
        continue;
      }
      uint32_t index = top.next++;
      if (top.value.IsList()) {
        Put(top.value.items()[index]);
        continue;
      }
      const Member& member = *sorted_[top.first_sorted + index];
      PutText(out_, member.name());
      Put(member.value);
    }
  }

  bool unsupported() const { return unsupported_; }

 private:
  struct Container {
    Value value;
    uint32_t next = 0;
    size_t first_sorted = 0;
  };

  void Put(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kAbsent:
      case ValueKind::kNull:
        return PutHead(out_, kSimple, 22);
      case ValueKind::kBool:
        return PutHead(out_, kSimple, value.AsBool() ? 21 : 20);
      case ValueKind::kInt: {
        int64_t number = value.AsInt();
        if (number >= 0) return PutHead(out_, kUnsigned, static_cast<uint64_t>(number));
        return PutHead(out_, kNegative, static_cast<uint64_t>(-(number + 1)));
      }
      case ValueKind::kDouble:
        unsupported_ = unsupported_ || !std::isfinite(value.AsDouble());
        return PutDouble(out_, value.AsDouble());
      case ValueKind::kString:
        return PutText(out_, value.AsString());
      case ValueKind::kBytes:
        PutHead(out_, kTag, kBase64Later);
        return PutText(out_, value.AsString());
      case ValueKind::kList:
        PutHead(out_, kArray, value.size());
        open_.push_back({value});
        return;
      case ValueKind::kObject:
        PutHead(out_, kMap, value.size());
        open_.push_back({value, 0, sorted_.size()});
        for (const Member& member : value.members()) sorted_.push_back(&member);
        std::stable_sort(sorted_.begin() + static_cast<ptrdiff_t>(open_.back().first_sorted), sorted_.end(), EncodesBefore);
        return;
    }
  }

  std::string& out_;
  std::vector<Container> open_;
  std::vector<const Member*> sorted_;
  bool unsupported_ = false;
};

}  // namespace

Done AppendCborItem(std::string& out, const Value& value) {
  size_t before = out.size();
  Writer writer(out);
  writer.Write(value);
  if (!writer.unsupported()) return {};
  out.resize(before);
  return Fail(InternalError("cbor: unsupported value: a floating-point number that is infinite or not a number"));
}

Done AppendCbor(std::string& out, const Value& value) {
  size_t before = out.size();
  out.append(kCborPrefix);
  Done done = AppendCborItem(out, value);
  if (!done) out.resize(before);
  return done;
}

}  // namespace homeostat::object
