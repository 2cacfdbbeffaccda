#include "sdk/packed_uid.h"

#include <cstddef>

namespace homeostat::sdk {
namespace {

constexpr char kText = 0, kBinary = 1;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kUuidSize = 36;

constexpr bool IsHyphenPlace(size_t place) { return place == 8 || place == 13 || place == 18 || place == 23; }

// -1: not a digit that a UUID is written with.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string PackUid(std::string_view uid) {
  auto as_text = [&] { return std::string(1, kText).append(uid); };
  if (uid.size() != kUuidSize) return as_text();
  std::string packed(1, kBinary);
  for (size_t i = 0; i < kUuidSize;) {
    if (IsHyphenPlace(i)) {
      if (uid[i++] != '-') return as_text();
      continue;
    }
    const int high = DigitOf(uid[i]), low = DigitOf(uid[i + 1]);
    if (high < 0 || low < 0) return as_text();
    packed.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return packed;
}

std::string UnpackUid(std::string_view packed) {
  if (packed.empty()) return {};
  const bool binary = packed.front() == kBinary;
  packed.remove_prefix(1);
  if (!binary) return std::string(packed);
  std::string uid;
  for (char c : packed) {
    if (IsHyphenPlace(uid.size())) uid.push_back('-');
    uid.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    uid.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return uid;
}

}  // namespace homeostat::sdk
