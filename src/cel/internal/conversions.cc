// int(), string(), timestamp() and the like, and type().
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cel/internal/functions.h"
#include "cel/internal/source.h"
#include "cel/internal/text_form.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"

namespace homeostat::cel::internal {

namespace {

constexpr int64_t kMinSeconds = -62135596800;
constexpr int64_t kMaxSeconds = 253402300799;
constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

Value ConversionError(CallContext& context, const Value& from, std::string_view to) {
  return MakeError(context.arena, "type conversion error from '" + std::string(from.TypeName()) + "' to '" + std::string(to) + "'");
}

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
    if constexpr (std::is_unsigned_v<T>) return std::nullopt;
  }
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As Go's strconv.ParseFloat: decimal, hexadecimal with an exponent, inf, infinity, nan.
std::optional<double> ParseDouble(std::string_view text) {
  std::string_view body = text;
  if (body.starts_with('+') || body.starts_with('-')) body.remove_prefix(1);
  if (body.empty()) return std::nullopt;
  if (EqualsIgnoreCase(body, "inf") || EqualsIgnoreCase(body, "infinity")) return text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  if (EqualsIgnoreCase(text, "nan")) return std::nan("");
  bool hex = body.size() > 2 && body[0] == '0' && (body[1] | 0x20) == 'x';
  if (hex && body.find_first_of("pP") == std::string_view::npos) return std::nullopt;
  for (char c : body) {
    bool digit = (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || (c | 0x20) == 'e';
    if (!digit && !(hex && (((c | 0x20) >= 'a' && (c | 0x20) <= 'f') || (c | 0x20) == 'x' || (c | 0x20) == 'p'))) {
      return std::nullopt;
    }
  }
  std::string copy(text);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isinf(value)) return std::nullopt;
  return value;
}

std::optional<bool> ParseBool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

Value Same(CallContext&, std::span<const Value> args) { return args[0]; }

Value StringToBool(CallContext& context, std::span<const Value> args) {
  auto value = ParseBool(args[0].text());
  return value ? Value::Bool(*value) : ConversionError(context, args[0], "bool");
}
Value StringToBytes(CallContext&, std::span<const Value> args) { return Value::Bytes(args[0].text()); }

Value ToDouble(CallContext& context, std::span<const Value> args) {
  const Value& a = args[0];
  if (a.IsInt()) return Value::Double(static_cast<double>(a.AsInt()));
  if (a.IsUint()) return Value::Double(static_cast<double>(a.AsUint()));
  auto value = ParseDouble(a.text());
  return value ? Value::Double(*value) : ConversionError(context, a, "double");
}

Value ToInt(CallContext& context, std::span<const Value> args) {
  const Value& a = args[0];
  switch (a.kind()) {
    case ValueKind::kDouble:
      if (!(a.AsDouble() > -kTwoTo63 && a.AsDouble() < kTwoTo63)) return Value::Error("integer overflow");
      return Value::Int(static_cast<int64_t>(a.AsDouble()));
    case ValueKind::kUint:
      return a.AsUint() > INT64_MAX ? Value::Error("integer overflow") : Value::Int(static_cast<int64_t>(a.AsUint()));
    case ValueKind::kDuration: return Value::Int(a.nanoseconds());
    case ValueKind::kTimestamp: return Value::Int(a.seconds());
    default: {
      auto value = ParseNumber<int64_t>(a.text());
      return value ? Value::Int(*value) : ConversionError(context, a, "int");
    }
  }
}

Value ToUint(CallContext& context, std::span<const Value> args) {
  const Value& a = args[0];
  if (a.IsDouble()) {
    if (!(a.AsDouble() >= 0 && a.AsDouble() < kTwoTo64)) return Value::Error("unsigned integer overflow");
    return Value::Uint(static_cast<uint64_t>(a.AsDouble()));
  }
  if (a.IsInt()) {
    return a.AsInt() < 0 ? Value::Error("unsigned integer overflow") : Value::Uint(static_cast<uint64_t>(a.AsInt()));
  }
  auto value = ParseNumber<uint64_t>(a.text());
  return value ? Value::Uint(*value) : ConversionError(context, a, "uint");
}

Value IntToDuration(CallContext& context, std::span<const Value> args) {
  return ConversionError(context, args[0], "google.protobuf.Duration");
}
Value StringToDuration(CallContext& context, std::span<const Value> args) {
  auto value = object::ParseDuration(args[0].text());
  return value ? Value::Duration(value->count()) : ConversionError(context, args[0], "google.protobuf.Duration");
}

Value IntToTimestamp(CallContext&, std::span<const Value> args) {
  int64_t seconds = args[0].AsInt();
  if (seconds < kMinSeconds || seconds > kMaxSeconds) return Value::Error("timestamp overflow");
  return Value::Timestamp(seconds, 0);
}
Value StringToTimestamp(CallContext& context, std::span<const Value> args) {
  std::string_view text = args[0].text();
  auto time = object::ParseTime(text);
  if (!time) return ConversionError(context, args[0], "google.protobuf.Timestamp");
  if (time->seconds < kMinSeconds || time->seconds > kMaxSeconds) return Value::Error("timestamp overflow");
  int minutes = 0;
  if (!text.ends_with('Z') && text.size() > 6) {
    std::string_view offset = text.substr(text.size() - 6);
    minutes = ((offset[1] - '0') * 10 + offset[2] - '0') * 60 + (offset[4] - '0') * 10 + offset[5] - '0';
    if (offset[0] == '-') minutes = -minutes;
  }
  return Value::Timestamp(time->seconds, static_cast<uint32_t>(time->nanos), minutes);
}

Value ToString(CallContext& context, std::span<const Value> args) {
  const Value& a = args[0];
  switch (a.kind()) {
    case ValueKind::kDuration: return MakeString(context.arena, FormatDurationSeconds(a.nanoseconds()));
    case ValueKind::kTimestamp: return MakeString(context.arena, FormatTimestamp(a));
    case ValueKind::kBytes:
      for (size_t at = 0; at < a.text().size();) {
        size_t begin = at;
        if (NextCodePoint(a.text(), at) == 0xFFFD && a.text().substr(begin, at - begin) != "\xEF\xBF\xBD") {
          return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
        }
      }
      return Value::String(a.text());
    default: return MakeString(context.arena, ToText(a));
  }
}

Value TypeOf(CallContext&, std::span<const Value> args) { return Value::TypeNamed(args[0].TypeName()); }

}  // namespace

std::span<const Binding> ConversionBindings() {
  static constexpr Binding kBindings[] = {
      {"bool_to_bool", Same}, {"string_to_bool", StringToBool},
      {"bytes_to_bytes", Same}, {"string_to_bytes", StringToBytes},
      {"double_to_double", Same}, {"int64_to_double", ToDouble}, {"string_to_double", ToDouble}, {"uint64_to_double", ToDouble},
      {"duration_to_duration", Same}, {"int64_to_duration", IntToDuration}, {"string_to_duration", StringToDuration},
      {"int64_to_int64", Same}, {"double_to_int64", ToInt}, {"duration_to_int64", ToInt}, {"string_to_int64", ToInt},
      {"timestamp_to_int64", ToInt}, {"uint64_to_int64", ToInt},
      {"string_to_string", Same}, {"bool_to_string", ToString}, {"bytes_to_string", ToString}, {"double_to_string", ToString},
      {"duration_to_string", ToString}, {"int64_to_string", ToString}, {"timestamp_to_string", ToString},
      {"uint64_to_string", ToString}, {"ip_to_string", ToString}, {"cidr_to_string", ToString},
      {"timestamp_to_timestamp", Same}, {"int64_to_timestamp", IntToTimestamp}, {"string_to_timestamp", StringToTimestamp},
      {"uint64_to_uint64", Same}, {"double_to_uint64", ToUint}, {"int64_to_uint64", ToUint}, {"string_to_uint64", ToUint},
      {"dyn()", Same}, {"type()", TypeOf},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
