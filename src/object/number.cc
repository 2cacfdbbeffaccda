#include "object/internal/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace homeostat::object::internal {
namespace {

// The power of ten just above the number; nullopt for zero.
std::optional<int64_t> Magnitude(std::string_view number) {
  size_t exponent_at = number.find_first_of("eE");
  std::string_view mantissa = number.substr(0, exponent_at);
  size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return std::nullopt;
  size_t point = std::min(mantissa.find('.'), mantissa.size());
  int64_t magnitude = first < point ? static_cast<int64_t>(point - first) : 1 - static_cast<int64_t>(first - point);
  if (exponent_at == std::string_view::npos) return magnitude;
  std::string_view digits = number.substr(exponent_at + 1);
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  constexpr int64_t kFar = 1'000'000'000'000;  // further than any mantissa can reach back
  int64_t exponent = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc() || exponent > kFar) exponent = kFar;
  return magnitude + (negative ? -exponent : exponent);
}

// The digits after sign and prefix, and their base.
struct Digits {
  std::string_view text;
  int base;
};

Digits TakePrefix(std::string_view text, int base) {
  if (base != 0) return {text, base};
  if (!text.starts_with('0') || text.size() == 1) return {text, 10};
  switch (text[1]) {
    case 'x':
    case 'X':
      return {text.substr(2), 16};
    case 'o':
    case 'O':
      return {text.substr(2), 8};
    case 'b':
    case 'B':
      return {text.substr(2), 2};
    default:
      return {text.substr(1), 8};
  }
}

template <class Float>
std::string Shortest(Float number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  char text[64];
  std::string_view scientific(text, static_cast<size_t>(
      std::to_chars(text, text + sizeof(text), number, std::chars_format::scientific).ptr - text));
  int exponent = 0;
  size_t e = scientific.find('e');
  std::string_view digits = scientific.substr(e + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  // As %g decides it for six digits, which is what Go takes where the shortest text is asked for.
  constexpr int kLargestPlain = 5;
  if (exponent < -4 || exponent > kLargestPlain) return std::string(scientific);
  char fixed[64];
  return std::string(fixed, static_cast<size_t>(
      std::to_chars(fixed, fixed + sizeof(fixed), number, std::chars_format::fixed).ptr - fixed));
}

}  // namespace

std::optional<double> ParseDouble(std::string_view number) {
  if (number.starts_with('+')) number.remove_prefix(1);
  std::optional<int64_t> magnitude = Magnitude(number);
  if (magnitude && *magnitude > 310) return std::nullopt;
  bool tiny = !magnitude || *magnitude < -400;
  if (tiny) return number.starts_with('-') ? -0.0 : 0.0;
  double value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc()) return value;
  if (*magnitude > 0) return std::nullopt;
  return number.starts_with('-') ? -0.0 : 0.0;
}

std::optional<uint64_t> ParseUint(std::string_view text, int base) {
  Digits digits = TakePrefix(text, base);
  uint64_t number = 0;
  const char* last = digits.text.data() + digits.text.size();
  auto [end, error] = std::from_chars(digits.text.data(), last, number, digits.base);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

std::optional<int64_t> ParseInt(std::string_view text, int base) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<uint64_t> magnitude = ParseUint(text, base);
  uint64_t limit = (uint64_t{1} << 63) - (negative ? 0 : 1);
  if (!magnitude || *magnitude > limit) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::string FormatShortest(double number) { return Shortest(number); }
std::string FormatShortest(float number) { return Shortest(number); }

}  // namespace homeostat::object::internal
