// Quantity: a fixed-point number with a suffix, as resources are counted: 250m, 1.5Gi, 12e6.
//
// Source of the rules: apimachinery's api/resource. What it parses, rounds, prints and computes, down to its oddities
// (text that is already canonical is printed as it was written; a decimal suffix beyond E is dropped), so that objects
// keep their bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::object {

// Copyable; values that fit in 64 bits hold no memory outside. Not to be changed by two threads at once.
class Quantity {
 public:
  // The family of suffixes that it is printed with.
  enum class Format : uint8_t {
    kDecimalSI,        // n u m k M G T P E
    kBinarySI,         // Ki Mi Gi Ti Pi Ei
    kDecimalExponent,  // e6
  };

  Quantity() = default;  // 0
  // value × 10^scale.
  static Quantity Of(int64_t value, Format format = Format::kDecimalSI, int scale = 0);
  static Quantity OfMilli(int64_t value, Format format = Format::kDecimalSI) { return Of(value, format, -3); }

  // Fractions are rounded up (away from zero) to whole nanos; binary quantities end at 2^63-1. BadRequest with upstream's
  // text if it is none, or has more than a thousand digits.
  static Result<Quantity> Parse(std::string_view text);

  // Canonical: no fraction, the largest suffix that leaves a whole number.
  std::string ToString() const;
  Format format() const { return format_; }

  bool IsZero() const { return Sign() == 0; }
  int Sign() const;
  int Compare(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return Compare(other) == 0; }
  auto operator<=>(const Quantity& other) const { return Compare(other) <=> 0; }

  // Exact. A zero takes over the other's format. Operands more than a thousand decimal places apart: the larger one wins.
  void Add(const Quantity& other);
  void Sub(const Quantity& other);
  void Mul(int64_t factor);
  void Neg();
  // Away from zero to a multiple of 10^scale; false if that changed it.
  bool RoundUp(int scale);

  // Rounded up to whole numbers, thousandths, or multiples of 10^scale. What does not fit in 64 bits: 0 or the low 64
  // bits, as upstream (see AsInt64 for a safe reading).
  int64_t Value() const { return ScaledValue(0); }
  int64_t MilliValue() const { return ScaledValue(-3); }
  int64_t ScaledValue(int scale) const;
  // The number, if it is whole, fits, and was not too long for 64-bit arithmetic.
  std::optional<int64_t> AsInt64() const;
  double AsApproximateDouble() const;

 private:
  struct Decimal;  // of any size

  static Result<Quantity> ParseLarge(std::string_view number, int base, int exponent, Format format);
  std::shared_ptr<const Decimal> AsDecimal() const;
  void AddSigned(const Quantity& other, bool negative);

  int64_t value_ = 0;
  int32_t scale_ = 0;
  Format format_ = Format::kDecimalSI;
  std::shared_ptr<const Decimal> large_;  // instead of value_ and scale_
  std::string text_;                      // as it was written, where that is canonical
};

}  // namespace homeostat::object
