#include "cel/internal/text_form.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "homeostat/base/text.h"
#include "homeostat/object/time.h"

namespace homeostat::cel {

namespace internal {

namespace {

std::string NotFinite(double value) {
  if (std::isnan(value)) return "NaN";
  return value < 0 ? "-Inf" : "+Inf";
}

std::string Padded(int64_t number, size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

std::string Offset(int minutes, bool colon) {
  int size = minutes < 0 ? -minutes : minutes;
  return (minutes < 0 ? "-" : "+") + Padded(size / 60, 2) + (colon ? ":" : "") + Padded(size % 60, 2);
}

std::string Fraction(uint32_t nanos) {
  if (nanos == 0) return "";
  std::string digits = Padded(nanos, 9);
  digits.resize(digits.find_last_not_of('0') + 1);
  return "." + digits;
}

std::string TimeText(const Value& timestamp, char between) {
  CivilTime civil = ToCivil(timestamp.seconds(), timestamp.offset_minutes() * 60);
  return Padded(civil.year, 4) + "-" + Padded(civil.month, 2) + "-" + Padded(civil.day, 2) + between + Padded(civil.hour, 2) +
         ":" + Padded(civil.minute, 2) + ":" + Padded(civil.second, 2) + Fraction(timestamp.nanos());
}

}  // namespace

std::string FormatG(double value) {
  if (!std::isfinite(value)) return NotFinite(value);
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  // Go changes to an exponent here already, however many digits there are.
  return exponent >= -4 && exponent < 6 ? FormatF(value) : std::string(text);
}

std::string FormatF(double value) {
  if (!std::isfinite(value)) return NotFinite(value);
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  // The fewest digits that mean the number, then noughts up to the point.
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string sign = text[0] == '-' ? "-" : "";
  text.remove_prefix(sign.size());
  size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + (digits.size() > whole ? "." + digits.substr(whole) : "");
}

std::string FormatTimestamp(const Value& timestamp) {
  int minutes = timestamp.offset_minutes();
  return TimeText(timestamp, 'T') + (minutes == 0 ? "Z" : Offset(minutes, true));
}

std::string FormatDurationSeconds(int64_t nanoseconds) {
  double seconds = static_cast<double>(nanoseconds / 1'000'000'000) + static_cast<double>(nanoseconds % 1'000'000'000) / 1e9;
  return FormatF(seconds) + "s";
}

CivilTime ToCivil(int64_t seconds, int offset_seconds) {
  seconds += offset_seconds;
  int64_t days = seconds / 86400;
  int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  CivilTime civil{};
  civil.hour = static_cast<int>(rest / 3600);
  civil.minute = static_cast<int>(rest / 60 % 60);
  civil.second = static_cast<int>(rest % 60);
  civil.weekday = static_cast<int>(((days % 7) + 11) % 7);
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  civil.year = static_cast<int>(date.year());
  civil.month = static_cast<int>(static_cast<unsigned>(date.month()));
  civil.day = static_cast<int>(static_cast<unsigned>(date.day()));
  std::chrono::sys_days first{date.year() / std::chrono::January / 1};
  civil.year_day = static_cast<int>(days - first.time_since_epoch().count()) + 1;
  return civil;
}

}  // namespace internal

using internal::FormatDurationSeconds;
using internal::FormatF;
using internal::FormatG;

namespace {

// Values nest as deep as expressions and JSON do; messages show so much of them.
constexpr int kMaxTextDepth = 200;

std::string Joined(const Value& value, int depth, std::string (*text)(const Value&, int)) {
  std::string out;
  if (depth > kMaxTextDepth) return "…";
  if (value.IsList()) {
    out = "[";
    for (uint64_t i = 0; i < value.list().size(); ++i) {
      if (i > 0) out += ", ";
      out += text(value.list().At(i), depth + 1);
    }
    return out + "]";
  }
  std::vector<std::string> entries;
  for (uint64_t i = 0; i < value.map().size(); ++i) {
    entries.push_back(text(value.map().KeyAt(i), depth + 1) + ": " + text(value.map().ValueAt(i), depth + 1));
  }
  std::sort(entries.begin(), entries.end());
  out = "{";
  for (const std::string& entry : entries) {
    if (out.size() > 1) out += ", ";
    out += entry;
  }
  return out + "}";
}

std::string TextOf(const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::kNull: return "null";
    case ValueKind::kBool: return value.AsBool() ? "true" : "false";
    case ValueKind::kInt: return std::to_string(value.AsInt());
    case ValueKind::kUint: return std::to_string(value.AsUint());
    case ValueKind::kDouble: return FormatG(value.AsDouble());
    case ValueKind::kString: case ValueKind::kType: case ValueKind::kError: return std::string(value.text());
    case ValueKind::kBytes: {
      std::string out = "[";
      for (char c : value.text()) out += (out.size() > 1 ? " " : "") + std::to_string(static_cast<uint8_t>(c));
      return out + "]";
    }
    case ValueKind::kTimestamp: {
      std::string zone = value.offset_minutes() == 0 ? "+0000 UTC"
                                                     : internal::Offset(value.offset_minutes(), false) + " " +
                                                           internal::Offset(value.offset_minutes(), false);
      return internal::TimeText(value, ' ') + " " + zone;
    }
    case ValueKind::kDuration: return object::FormatDuration(std::chrono::nanoseconds(value.nanoseconds()));
    case ValueKind::kList: case ValueKind::kMap: return Joined(value, depth, TextOf);
    case ValueKind::kOptional: return value.optional() ? "optional(" + TextOf(*value.optional(), depth + 1) + ")" : "optional.none()";
    case ValueKind::kOpaque: return value.opaque().ToString();
  }
  return "";
}

std::string LiteralOf(const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::kString: return GoQuote(value.text());
    case ValueKind::kUint: return std::to_string(value.AsUint()) + "u";
    case ValueKind::kDouble:
      if (std::isnan(value.AsDouble())) return "double(\"NaN\")";
      if (std::isinf(value.AsDouble())) return value.AsDouble() < 0 ? "double(\"-Infinity\")" : "double(\"Infinity\")";
      {
        std::string text = FormatF(value.AsDouble());
        return text.find('.') == std::string::npos ? text + ".0" : text;
      }
    case ValueKind::kBytes: {
      std::string out = "b\"";
      for (char c : value.text()) {
        auto octet = static_cast<uint8_t>(c);
        out += {'\\', static_cast<char>('0' + (octet >> 6)), static_cast<char>('0' + (octet >> 3 & 7)), static_cast<char>('0' + (octet & 7))};
      }
      return out + "\"";
    }
    case ValueKind::kTimestamp:
      return "timestamp(\"" + internal::FormatTimestamp(Value::Timestamp(value.seconds(), value.nanos())) + "\")";
    case ValueKind::kDuration: return "duration(\"" + FormatDurationSeconds(value.nanoseconds()) + "\")";
    case ValueKind::kList: case ValueKind::kMap: return Joined(value, depth, LiteralOf);
    case ValueKind::kOptional:
      return value.optional() ? "optional.of(" + LiteralOf(*value.optional(), depth + 1) + ")" : "optional.none()";
    default: return TextOf(value, depth);
  }
}

}  // namespace

std::string ToText(const Value& value) { return TextOf(value, 0); }
std::string ToLiteral(const Value& value) { return LiteralOf(value, 0); }

}  // namespace homeostat::cel
