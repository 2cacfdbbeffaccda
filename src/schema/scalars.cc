#include "schema/internal/scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/quantity.h"
#include "homeostat/object/time.h"

namespace homeostat::schema::internal {

using object::Arena;
using object::Quantity;
using object::Timestamp;
using object::Value;
using object::ValueKind;

namespace {

constexpr int64_t kZeroTime = -62135596800;  // 0001-01-01T00:00:00Z, Go's zero time

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether the text is a plain whole number with a common suffix that is surely canonical: most quantities are. A
// decimal one is if it can't take a larger suffix, a binary one likewise and if it can't overflow.
bool IsPlainQuantity(std::string_view text) {
  size_t digits = 0;
  int64_t number = 0;
  while (digits < text.size() && digits < 6 && IsDigit(text[digits])) number = number * 10 + (text[digits++] - '0');
  if (digits == 0 || text[0] == '0') return text == "0";
  std::string_view suffix = text.substr(digits);
  if (suffix.empty() || suffix == "m" || suffix == "k" || suffix == "M" || suffix == "G") return number % 1000 != 0;
  return (suffix == "Ki" || suffix == "Mi" || suffix == "Gi") && number % 1024 != 0;
}

// Whether the text is a time as FormatTime writes it, later than the year 1: most times are.
bool IsPlainTime(std::string_view text) {
  static constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  if (text.size() != kShape.size()) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == '0' ? !IsDigit(text[i]) : text[i] != kShape[i]) return false;
  }
  auto two = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  return two(0) >= 1 && two(5) >= 1 && two(5) <= 12 && two(8) >= 1 && two(8) <= 28 && two(11) < 24 && two(14) < 60 &&
         two(17) < 60;
}

ScalarResult CanonicalQuantity(Arena& arena, const Value& value) {
  if (value.IsString() && IsPlainQuantity(value.AsString())) return value;
  if (value.IsInt() && value.AsInt() == 0) return Value::StringRef("0");
  std::string text = value.IsNumber()   ? NumberText(value)
                     : value.IsString() ? std::string(value.AsString())
                                        : object::JsonText(value);
  // Go trims what stands between the quotes.
  auto quantity = Quantity::Parse(TrimSpace(text));
  if (!quantity) return std::unexpected(quantity.error().message());
  std::string canonical = quantity->ToString();
  if (value.IsString() && canonical == value.AsString()) return value;
  return Value::String(arena, canonical);
}

ScalarResult CanonicalTime(Arena& arena, Form form, const Value& value) {
  std::string_view text = value.AsString();
  if (form == Form::kTime && IsPlainTime(text)) return value;
  auto time = form == Form::kTime ? object::ParseTime(text) : object::ParseMicroTime(text);
  if (!time) return std::unexpected(time.error().message());
  if (time->seconds == kZeroTime && time->nanos == 0) return Value::Null();
  std::string canonical = form == Form::kTime ? object::FormatTime(*time) : object::FormatMicroTime(*time);
  if (canonical == text) return value;
  return Value::String(arena, canonical);
}

ScalarResult CanonicalDuration(Arena& arena, const Value& value) {
  auto duration = object::ParseDuration(value.AsString());
  if (!duration) return std::unexpected(duration.error().message());
  std::string canonical = object::FormatDuration(*duration);
  if (canonical == value.AsString()) return value;
  return Value::String(arena, canonical);
}

}  // namespace

ScalarResult CanonicalScalar(Arena& arena, Form form, const Value& value) {
  switch (form) {
    case Form::kQuantity:
      return CanonicalQuantity(arena, value);
    case Form::kTime:
    case Form::kMicroTime:
      return CanonicalTime(arena, form, value);
    case Form::kDuration:
      return CanonicalDuration(arena, value);
    default:
      return value;
  }
}

WireTime TimeOnWire(Form form, const Value& value) {
  if (!value.IsString()) return {};
  auto time = form == Form::kTime ? object::ParseTime(value.AsString()) : object::ParseMicroTime(value.AsString());
  if (!time) return {};
  return {.zero = false, .seconds = time->seconds, .nanoseconds = form == Form::kTime ? 0 : time->nanos};
}

ScalarResult TimeFromWire(Arena& arena, Form form, const WireTime& time) {
  constexpr int64_t kFirst = -62167219200, kLast = 253402300799;  // the years 0 to 9999
  constexpr int32_t kNanos = 1'000'000'000;
  bool micro = form == Form::kMicroTime;
  int64_t seconds = time.seconds;
  int32_t nanos = micro ? time.nanoseconds - time.nanoseconds % 1000 : 0;
  if (seconds < kFirst || seconds > kLast || nanos <= -kNanos || nanos >= kNanos)
    return std::unexpected("time out of range");
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  }
  if (seconds == kZeroTime && nanos == 0) return Value::Null();
  Timestamp stamp{.seconds = seconds, .nanos = nanos};
  return Value::String(arena, micro ? object::FormatMicroTime(stamp) : object::FormatTime(stamp));
}

int64_t DurationNanoseconds(const Value& value) {
  if (!value.IsString()) return 0;
  auto duration = object::ParseDuration(value.AsString());
  return duration ? duration->count() : 0;
}

Value DurationText(Arena& arena, int64_t nanoseconds) {
  if (nanoseconds == 0) return Value::StringRef("0s");
  return Value::String(arena, object::FormatDuration(std::chrono::nanoseconds(nanoseconds)));
}

int CompareQuantities(const Value& a, const Value& b) {
  if (a.AsString("0") == b.AsString("0")) return 0;
  auto left = Quantity::Parse(a.AsString("0")), right = Quantity::Parse(b.AsString("0"));
  if (!left || !right) return a.AsString().compare(b.AsString());
  return left->Compare(*right);
}

std::string_view JsonKindName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
    case ValueKind::kDouble:
      return "number";
    case ValueKind::kString:
    case ValueKind::kBytes:
      return "string";
    case ValueKind::kList:
      return "array";
    case ValueKind::kObject:
      return "object";
    default:
      return "null";
  }
}

std::string NumberText(const Value& value) {
  if (value.IsInt()) return std::to_string(value.AsInt());
  double number = value.AsDouble();
  if (std::abs(number) >= 0x1p63 && std::abs(number) < 1e21) {  // an integer of more than 64 bits
    char digits[32];
    return {digits, std::to_chars(digits, std::end(digits), number, std::chars_format::fixed, 0).ptr};
  }
  std::string text;
  object::AppendJsonDouble(text, number);
  // Smaller whole numbers are doubles because they were written with a point.
  bool whole = text.find_first_of(".e") == std::string::npos;
  return whole ? text + ".0" : text;
}

}  // namespace homeostat::schema::internal
