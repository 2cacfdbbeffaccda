#include "homeostat/object/quantity.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <limits>

namespace homeostat::object {

using boost::multiprecision::cpp_int;

// unscaled × 10^-scale.
struct Quantity::Decimal {
  cpp_int unscaled;
  int32_t scale = 0;
};

namespace {

using Format = Quantity::Format;
using Decimal = std::pair<cpp_int, int32_t>;  // unscaled, scale

constexpr int kNano = -9;
// Digits of a number, and decimal places between two operands, that are still worth exact arithmetic.
constexpr int kMostDigits = 1000;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr std::string_view kFormatWrong =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kNumericWrong = "unable to parse numeric part of quantity";
constexpr std::string_view kSuffixWrong = "unable to parse quantity's suffix";

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr Suffix kDecimalSuffixes[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},  {"k", 3},
                                       {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}};
constexpr Suffix kBinarySuffixes[] = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

cpp_int PowerOfTen(int exponent) { return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent)); }

int Digits(const cpp_int& number) {
  if (number == 0) return 1;
  unsigned bits = boost::multiprecision::msb(abs(number)) + 1;
  int estimate = static_cast<int>(bits * 30103ull / 100000ull);  // log10(2); one too few at most
  return abs(number) >= PowerOfTen(estimate) ? estimate + 1 : estimate;
}

bool Multiply(int64_t a, int64_t b, int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }

bool ScaleUp(int64_t value, int64_t places, int64_t& result) {
  result = value;
  if (value == 0) return true;
  for (int64_t i = 0; i < places; ++i) {
    if (!Multiply(result, 10, result)) return false;
  }
  return true;
}

// What upstream answers for a number that does not fit: the steps that it has a shortcut for wrap, others give 0.
int64_t Overflowed(int64_t value, int64_t places) {
  uint64_t factor = places == 1   ? 10
                    : places == 2 ? 100
                    : places == 3 ? 1000
                    : places == 6 ? 1'000'000
                    : places == 9 ? 1'000'000'000
                                  : 0;
  return static_cast<int64_t>(static_cast<uint64_t>(value) * factor);
}

// Divides by 10^places, away from zero; false if that was not exact.
bool ScaleDown(int64_t value, int64_t places, int64_t& result) {
  bool exact = true;
  result = value;
  for (int64_t i = 0; i < places && result != 0; ++i) {
    if (result % 10 != 0) exact = false;
    result /= 10;
  }
  if (!exact) result += value > 0 ? 1 : -1;
  return exact;
}

// To another scale, away from zero.
cpp_int Rescale(const cpp_int& unscaled, int64_t scale, int64_t new_scale) {
  if (new_scale >= scale) return unscaled * PowerOfTen(static_cast<int>(new_scale - scale));
  int64_t places = scale - new_scale;
  cpp_int sign = unscaled < 0 ? -1 : 1;
  if (places > Digits(unscaled)) return unscaled == 0 ? cpp_int(0) : sign;
  cpp_int divisor = PowerOfTen(static_cast<int>(places));
  cpp_int quotient, remainder;
  boost::multiprecision::divide_qr(unscaled, divisor, quotient, remainder);
  return remainder == 0 ? quotient : quotient + sign;
}

int CompareDecimals(const cpp_int& a, int64_t a_scale, const cpp_int& b, int64_t b_scale) {
  int a_sign = a.sign(), b_sign = b.sign();
  if (a_sign != b_sign || a_sign == 0) return a_sign < b_sign ? -1 : a_sign > b_sign;
  // The places before the point decide unless they are as many; then the numbers are close enough to bring to one scale.
  int64_t a_places = Digits(a) - a_scale, b_places = Digits(b) - b_scale;
  if (a_places != b_places) return (a_places < b_places) == (a_sign > 0) ? -1 : 1;
  int64_t scale = std::max(a_scale, b_scale);
  return Rescale(a, a_scale, scale).compare(Rescale(b, b_scale, scale));
}

// Rounded to nearest; Boost's own conversion throws where the result is infinite.
double ToDouble(const cpp_int& number) {
  cpp_int magnitude = abs(number);
  if (magnitude == 0) return 0;
  int shift = static_cast<int>(boost::multiprecision::msb(magnitude)) - 63;
  double result = 0;
  if (shift <= 0) {
    result = static_cast<double>(static_cast<uint64_t>(magnitude));
  } else {
    // The lowest bit stands for all that are cut off, so that rounding sees them.
    uint64_t top = static_cast<uint64_t>(magnitude >> shift);
    bool rest = (magnitude & ((cpp_int(1) << shift) - 1)) != 0;
    result = std::ldexp(static_cast<double>(top | (rest ? 1 : 0)), shift);
  }
  return number < 0 ? -result : result;
}

// The low 64 bits, as Go's big.Int gives them.
int64_t LowBits(const cpp_int& number) {
  uint64_t low = static_cast<uint64_t>(abs(number) & std::numeric_limits<uint64_t>::max());
  return static_cast<int64_t>(number < 0 ? 0 - low : low);
}

// Takes out factors; how many there were.
int RemoveFactors(cpp_int& number, int factor) {
  int times = 0;
  while (number != 0) {
    cpp_int quotient, remainder;
    boost::multiprecision::divide_qr(number, cpp_int(factor), quotient, remainder);
    if (remainder != 0) break;
    number = std::move(quotient);
    ++times;
  }
  return times;
}

// A number and its suffix's exponent, a multiple of three.
std::string PrintDecimal(cpp_int amount, int64_t exponent, Format format) {
  if (amount != 0) exponent += RemoveFactors(amount, 10);
  while (exponent % 3 != 0) {
    amount *= 10;
    --exponent;
  }
  std::string text = amount.str();
  if (format == Format::kDecimalExponent) return exponent == 0 ? text : text + "e" + std::to_string(exponent);
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (suffix.exponent == exponent) return text.append(suffix.text);
  }
  return text;
}

std::string PrintBinary(cpp_int amount) {
  int exponent = RemoveFactors(amount, 1024) * 10;
  std::string text = amount.str();
  for (const Suffix& suffix : kBinarySuffixes) {
    if (suffix.exponent == exponent) return text.append(suffix.text);
  }
  return text;
}

// A text taken apart: [sign] [zeros] whole [. fraction] suffix.
struct Parts {
  bool negative = false;
  std::string_view number;  // sign, zeros, whole and fraction
  std::string_view whole;
  std::string_view fraction;
  std::string_view suffix;
};

// The characters at the front that are such, taken off.
template <class Is>
std::string_view TakeWhile(std::string_view& text, Is is) {
  size_t count = 0;
  while (count < text.size() && is(text[count])) ++count;
  std::string_view taken = text.substr(0, count);
  text.remove_prefix(count);
  return taken;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
std::string_view TakeDigits(std::string_view& text) { return TakeWhile(text, IsDigit); }

bool Split(std::string_view text, Parts& parts) {
  std::string_view rest = text;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    parts.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  TakeWhile(rest, [](char c) { return c == '0'; });
  if (rest.empty()) {
    parts.whole = parts.number = "0";
    return true;
  }
  parts.whole = TakeDigits(rest);
  if (parts.whole.empty()) parts.whole = "0";
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    parts.fraction = TakeDigits(rest);
  }
  parts.number = text.substr(0, text.size() - rest.size());
  parts.suffix = rest;
  TakeWhile(rest, [](char c) { return std::string_view("eEinumkKMGTP").contains(c); });
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  return std::ranges::all_of(rest, IsDigit);
}

struct Unit {
  int base = 10;
  int exponent = 0;
  Format format = Format::kDecimalSI;
};

std::optional<Unit> ReadSuffix(std::string_view text) {
  if (text.empty()) return Unit{};
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (suffix.text == text) return Unit{10, suffix.exponent, Format::kDecimalSI};
  }
  for (const Suffix& suffix : kBinarySuffixes) {
    if (suffix.text == text) return Unit{2, suffix.exponent, Format::kBinarySI};
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') text.remove_prefix(1);
  if (text.starts_with('+')) return std::nullopt;
  int64_t exponent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Unit{10, static_cast<int32_t>(exponent), Format::kDecimalExponent};
}

// Whether 64-bit arithmetic holds the number with certainty, by its count of digits.
bool IsShort(const Parts& parts, const Unit& unit) {
  int64_t digits = static_cast<int64_t>(parts.whole.size() + parts.fraction.size());
  if (unit.format != Format::kBinarySI) return digits <= 18;
  return parts.fraction.empty() && 15 - digits - unit.exponent * 3 / 10 - 1 >= 0;
}

std::unexpected<Status> Wrong(std::string_view message) { return Fail(BadRequestError(message)); }

}  // namespace

Quantity Quantity::Of(int64_t value, Format format, int scale) {
  Quantity quantity;
  quantity.value_ = value;
  quantity.scale_ = scale;
  quantity.format_ = format;
  return quantity;
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  if (text.empty()) return Wrong(kFormatWrong);
  Quantity quantity;
  if (text == "0") {
    quantity.text_ = text;
    return quantity;
  }
  Parts parts;
  if (!Split(text, parts)) return Wrong(kFormatWrong);
  std::optional<Unit> unit = ReadSuffix(parts.suffix);
  if (!unit) return Wrong(kSuffixWrong);
  bool binary = unit->format == Format::kBinarySI;
  int64_t scale = (binary ? 0 : int64_t{unit->exponent}) - static_cast<int64_t>(parts.fraction.size());
  if (!IsShort(parts, *unit) || scale < kNano) return ParseLarge(parts.number, unit->base, unit->exponent, unit->format);

  int64_t value = 0;  // all digits, as if the point stood behind them
  for (std::string_view digits : {parts.whole, parts.fraction}) {
    for (char digit : digits) value = value * 10 + (digit - '0');
  }
  quantity.format_ = unit->format;
  quantity.scale_ = static_cast<int32_t>(scale);
  quantity.value_ = binary ? value << unit->exponent : value;
  if (parts.negative) quantity.value_ = -quantity.value_;
  bool canonical = binary ? (value & 7) != 0 : scale % 3 == 0 && value % 1000 != 0 && parts.whole[0] != '0';
  if (canonical) quantity.text_ = text;
  return quantity;
}

Result<Quantity> Quantity::ParseLarge(std::string_view number, int base, int exponent, Format format) {
  bool negative = number.starts_with('-');
  std::string digits(number);
  std::erase_if(digits, [](char c) { return c == '-' || c == '+'; });
  int64_t scale = 0;
  if (size_t point = digits.find('.'); point != std::string::npos) {
    scale = static_cast<int64_t>(digits.size() - point) - 1;
    digits.erase(point, 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - (digits.empty() ? 0 : 1)));
  if (digits.empty() || digits.size() > kMostDigits) return Wrong(kNumericWrong);
  cpp_int amount(digits);
  if (base == 10) scale -= exponent;
  if (base == 2) amount <<= exponent;
  // Numbers with more zeros behind them than anyone would write keep their scale: there is nothing to round.
  if (amount != 0 && -kNano - scale <= kMostDigits) {
    amount = Rescale(amount, scale, -kNano);
    scale = -kNano;
  }
  if (format == Format::kBinarySI) {
    if (CompareDecimals(amount, scale, kMost, 0) > 0) {
      amount = kMost;
      scale = 0;
    }
    if (amount != 0 && CompareDecimals(amount, scale, 1, 0) < 0) format = Format::kDecimalSI;
  }
  Quantity quantity;
  quantity.format_ = format;
  if (negative) amount = -amount;
  quantity.large_ = std::make_shared<const Decimal>(Decimal{std::move(amount), static_cast<int32_t>(scale)});
  return quantity;
}

std::shared_ptr<const Quantity::Decimal> Quantity::AsDecimal() const {
  if (large_) return large_;
  return std::make_shared<const Decimal>(Decimal{value_, -scale_});
}

std::string Quantity::ToString() const {
  if (!text_.empty()) return text_;
  if (IsZero()) return "0";
  if (format_ == Format::kBinarySI && (Compare(Of(-1024)) <= 0 || Compare(Of(1024)) >= 0)) {
    Quantity whole = *this;
    // What a sum with an absurd exponent left behind is not written out in full.
    int64_t zeros = large_ ? -int64_t{large_->scale} : scale_;
    if (zeros <= 2 * kMostDigits && whole.RoundUp(0)) {
      int64_t value = 0;
      if (!whole.large_ && ScaleUp(whole.value_, whole.scale_, value)) return PrintBinary(value);
      std::shared_ptr<const Decimal> decimal = whole.AsDecimal();
      return PrintBinary(Rescale(decimal->unscaled, decimal->scale, 0));
    }
  }
  Format format = format_ == Format::kBinarySI ? Format::kDecimalSI : format_;
  std::shared_ptr<const Decimal> decimal = AsDecimal();
  return PrintDecimal(decimal->unscaled, -int64_t{decimal->scale}, format);
}

int Quantity::Sign() const {
  if (large_) return large_->unscaled.sign();
  return value_ < 0 ? -1 : value_ > 0;
}

int Quantity::Compare(const Quantity& other) const {
  if (!large_ && !other.large_ && scale_ == other.scale_) {
    return value_ < other.value_ ? -1 : value_ > other.value_;
  }
  std::shared_ptr<const Decimal> a = AsDecimal(), b = other.AsDecimal();
  return CompareDecimals(a->unscaled, a->scale, b->unscaled, b->scale);
}

void Quantity::Add(const Quantity& other) { AddSigned(other, false); }

void Quantity::Sub(const Quantity& other) { AddSigned(other, true); }

void Quantity::AddSigned(const Quantity& other, bool negative) {
  text_.clear();
  if (IsZero()) format_ = other.format_;
  if (!large_ && !other.large_) {
    if (other.value_ == 0) return;
    int64_t addend = negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(other.value_)) : other.value_;
    if (value_ == 0) {
      value_ = addend;
      scale_ = other.scale_;
      return;
    }
    int32_t scale = std::min(scale_, other.scale_);
    int64_t a = 0, b = 0, sum = 0;
    if (ScaleUp(value_, int64_t{scale_} - scale, a) && ScaleUp(addend, int64_t{other.scale_} - scale, b) &&
        !__builtin_add_overflow(a, b, &sum)) {
      value_ = sum;
      scale_ = scale;
      return;
    }
  }
  std::shared_ptr<const Decimal> a = AsDecimal(), b = other.AsDecimal();
  if (std::abs(int64_t{a->scale} - b->scale) > 2 * kMostDigits) {
    // The larger is, to every digit that could be shown, the sum.
    if (CompareDecimals(abs(a->unscaled), a->scale, abs(b->unscaled), b->scale) >= 0) return;
    large_ = std::make_shared<const Decimal>(Decimal{negative ? cpp_int(-b->unscaled) : b->unscaled, b->scale});
    return;
  }
  int32_t scale = std::max(a->scale, b->scale);
  cpp_int sum = Rescale(a->unscaled, a->scale, scale);
  cpp_int addend = Rescale(b->unscaled, b->scale, scale);
  if (negative) {
    sum -= addend;
  } else {
    sum += addend;
  }
  large_ = std::make_shared<const Decimal>(Decimal{std::move(sum), scale});
}

void Quantity::Mul(int64_t factor) {
  text_.clear();
  int64_t product = 0;
  if (!large_ && Multiply(value_, factor, product)) {
    value_ = product;
    if (product == 0) scale_ = 0;
    return;
  }
  std::shared_ptr<const Decimal> a = AsDecimal();
  large_ = std::make_shared<const Decimal>(Decimal{a->unscaled * factor, a->scale});
}

void Quantity::Neg() {
  text_.clear();
  if (large_) {
    large_ = std::make_shared<const Decimal>(Decimal{-large_->unscaled, large_->scale});
  } else {
    value_ = static_cast<int64_t>(0 - static_cast<uint64_t>(value_));
  }
}

bool Quantity::RoundUp(int scale) {
  if (large_) {
    text_.clear();
    // Upstream sets the new scale even where nothing is cut off; the printed form is the same.
    if (large_->scale <= -scale) return true;
    Decimal rounded{Rescale(large_->unscaled, large_->scale, -scale), -scale};
    bool exact = CompareDecimals(rounded.unscaled, rounded.scale, large_->unscaled, large_->scale) == 0;
    large_ = std::make_shared<const Decimal>(std::move(rounded));
    return exact;
  }
  if (scale_ >= scale) return true;
  text_.clear();
  bool exact = ScaleDown(value_, int64_t{scale} - scale_, value_);
  scale_ = scale;
  return exact;
}

int64_t Quantity::ScaledValue(int scale) const {
  int64_t result = 0;
  if (!large_) {
    if (scale_ < scale) {
      ScaleDown(value_, int64_t{scale} - scale_, result);
      return result;
    }
    int64_t places = int64_t{scale_} - scale;
    return ScaleUp(value_, places, result) ? result : Overflowed(value_, places);
  }
  int64_t places = int64_t{large_->scale} + scale;  // to cut off
  if (places <= 0) {
    if (-places > 2 * kMostDigits) return large_->unscaled == 0 ? 0 : large_->unscaled < 0 ? -kMost - 1 : kMost;
    return LowBits(Rescale(large_->unscaled, large_->scale, -scale));
  }
  // Upstream computes in 64 bits whatever is below 2^63, however far below, and rounds the two ways differently.
  if (large_->unscaled < kMost && places < 19) {
    int64_t low = LowBits(large_->unscaled), divisor = 0;
    ScaleUp(1, places, divisor);
    return low / divisor + (low % divisor != 0 ? 1 : 0);
  }
  if (places > Digits(large_->unscaled)) return large_->unscaled > 0 ? 1 : 0;
  cpp_int quotient, remainder;
  boost::multiprecision::divide_qr(large_->unscaled, PowerOfTen(static_cast<int>(places)), quotient, remainder);
  uint64_t low = static_cast<uint64_t>(LowBits(quotient));
  return static_cast<int64_t>(low + (remainder > 0 ? 1 : 0));
}

std::optional<int64_t> Quantity::AsInt64() const {
  int64_t result = 0;
  if (large_ || scale_ < 0 || !ScaleUp(value_, scale_, result)) return std::nullopt;
  return result;
}

double Quantity::AsApproximateDouble() const {
  if (IsZero()) return 0;  // also with an exponent that a double does not have
  if (!large_) return scale_ == 0 ? static_cast<double>(value_) : static_cast<double>(value_) * std::pow(10.0, scale_);
  double base = ToDouble(large_->unscaled);
  return large_->scale == 0 ? base : base * std::pow(10.0, -large_->scale);
}

}  // namespace homeostat::object
