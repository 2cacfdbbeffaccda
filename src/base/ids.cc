#include "homeostat/base/ids.h"

#include <cstdint>

namespace homeostat {

std::string NewUuid(Runtime& runtime) {
  uint64_t high = (runtime.Random() & ~uint64_t{0xF000}) | 0x4000;                    // version 4
  uint64_t low = (runtime.Random() & ~(uint64_t{0xC0} << 56)) | (uint64_t{0x80} << 56);  // variant 10
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    uint64_t half = i < 16 ? high : low;
    out += kDigits[half >> (60 - 4 * (i % 16)) & 15];
  }
  return out;
}

std::string RandomSuffix(Runtime& runtime, size_t length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  out.reserve(length);
  // Eight characters from each number: what is left of 64 bits then is still many times the alphabet.
  uint64_t bits = 0;
  for (size_t i = 0; i < length; ++i) {
    if (i % 8 == 0) bits = runtime.Random();
    out += kAlphabet[bits % kAlphabet.size()];
    bits /= kAlphabet.size();
  }
  return out;
}

std::string GenerateName(Runtime& runtime, std::string_view base) {
  constexpr size_t kLongestBase = 58;
  return std::string(base.substr(0, kLongestBase)) + RandomSuffix(runtime);
}

}  // namespace homeostat
