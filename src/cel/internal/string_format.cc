#include "cel/internal/string_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "cel/internal/functions.h"
#include "cel/internal/source.h"
#include "cel/internal/text_form.h"
#include "homeostat/base/text.h"

namespace homeostat::cel::internal {

namespace {

using Formatted = std::expected<std::string, std::string>;

constexpr int kMaxPrecision = 1'000'000;
constexpr int kMaxDepth = 200;

std::string Decimal(double value, int precision, std::chars_format form) {
  std::string buffer(static_cast<size_t>(precision) + 400, '\0');
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form, precision);
  buffer.resize(static_cast<size_t>(end - buffer.data()));
  return buffer;
}

std::string NotFinite(double value) {
  if (std::isnan(value)) return "NaN";
  return value < 0 ? "-∞" : "∞";
}

// English: 1,234.500.
std::string Grouped(double value, int precision) {
  if (!std::isfinite(value)) return NotFinite(value);
  std::string text = Decimal(value, precision, std::chars_format::fixed);
  size_t begin = text[0] == '-' ? 1 : 0;
  size_t point = std::min(text.find('.'), text.size());
  for (size_t at = point; at > begin + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// English: 1.052033×10⁰³. The precision is, as in the original, the least width.
std::string Scientific(double value, int width) {
  std::string text = NotFinite(value);
  if (std::isfinite(value)) {
    text = Decimal(value, 6, std::chars_format::scientific);
    size_t e = text.find('e');
    std::string_view exponent = std::string_view(text).substr(e + 1);
    static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string raised = text.substr(0, e) + "×10";
    if (exponent[0] == '-') raised += "⁻";
    for (char digit : exponent.substr(1)) raised += kDigits[digit - '0'];
    text = raised;
  }
  size_t length = CountCodePoints(text);
  if (length < static_cast<size_t>(width)) text.insert(0, static_cast<size_t>(width) - length, ' ');
  return text;
}

std::string Unsigned(uint64_t value, int base, bool upper) {
  char buffer[72];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, base);
  std::string text(buffer, end);
  if (upper) std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string Integer(const Value& value, int base, bool upper = false) {
  if (value.IsUint()) return Unsigned(value.AsUint(), base, upper);
  uint64_t magnitude = static_cast<uint64_t>(value.AsInt());
  if (value.AsInt() < 0) return "-" + Unsigned(0 - magnitude, base, upper);
  return Unsigned(magnitude, base, upper);
}

Formatted Inner(const Value& value, int depth);

// What %s makes of it.
Formatted Plain(const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::kList: case ValueKind::kMap: return Inner(value, depth);
    case ValueKind::kTimestamp: return FormatTimestamp(value);
    case ValueKind::kDuration: return FormatDurationSeconds(value.nanoseconds());
    case ValueKind::kBytes:
      for (size_t at = 0; at < value.text().size();) {
        size_t begin = at;
        if (NextCodePoint(value.text(), at) == 0xFFFD && at - begin == 1) {
          return std::unexpected("could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string");
        }
      }
      return std::string(value.text());
    case ValueKind::kOpaque: case ValueKind::kOptional: case ValueKind::kError:
      return std::unexpected(FormatClauseError('s', value.TypeName()));
    default: return ToText(value);
  }
}

Formatted InnerMap(const Map& map, int depth) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (uint64_t i = 0; i < map.size(); ++i) {
    Value key = map.KeyAt(i);
    if (!key.IsString() && !key.IsBool() && !key.IsInt() && !key.IsUint()) {
      return std::unexpected("no formatting function for map key of type " + std::string(key.TypeName()));
    }
    auto value = Inner(map.ValueAt(i), depth + 1);
    if (!value) return value;
    entries.emplace_back(key.IsString() ? GoQuote(key.text()) : ToText(key), std::move(*value));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out = "{";
  for (const auto& [key, value] : entries) {
    if (out.size() > 1) out += ", ";
    out += key + ":" + value;
  }
  return out + "}";
}

// What stands inside a formatted list or map.
Formatted Inner(const Value& value, int depth) {
  if (depth > kMaxDepth) return std::unexpected("value is nested too deep");
  switch (value.kind()) {
    case ValueKind::kMap: return InnerMap(value.map(), depth);
    case ValueKind::kList: {
      std::string out = "[";
      for (uint64_t i = 0; i < value.list().size(); ++i) {
        auto item = Inner(value.list().At(i), depth + 1);
        if (!item) return item;
        if (i > 0) out += ", ";
        out += *item;
      }
      return out + "]";
    }
    case ValueKind::kString: return GoQuote(value.text());
    case ValueKind::kDouble: {
      if (!std::isfinite(value.AsDouble())) return "\"" + FormatG(value.AsDouble()) + "\"";
      return Decimal(value.AsDouble(), 6, std::chars_format::fixed);
    }
    case ValueKind::kTimestamp: return "timestamp(" + GoQuote(FormatTimestamp(value)) + ")";
    case ValueKind::kDuration: return "duration(" + GoQuote(FormatDurationSeconds(value.nanoseconds())) + ")";
    case ValueKind::kBytes: {
      auto text = Plain(value, depth);
      return text ? "b" + GoQuote(*text) : text;
    }
    case ValueKind::kOpaque: case ValueKind::kOptional: case ValueKind::kError:
      return std::unexpected("no formatting function for " + std::string(value.TypeName()));
    default: return ToText(value);
  }
}

Formatted Hexadecimal(const Value& value, bool upper) {
  if (value.IsInt() || value.IsUint()) return Integer(value, 16, upper);
  if (!value.IsString() && !value.IsBytes()) return std::unexpected(FormatClauseError('x', value.TypeName()));
  std::string out;
  for (char c : value.text()) {
    std::string digits = Unsigned(static_cast<uint8_t>(c), 16, upper);
    out += (digits.size() < 2 ? "0" : "") + digits;
  }
  return out;
}

Formatted Clause(const FormatClause& clause, const Value& value) {
  bool integer = value.IsInt() || value.IsUint();
  switch (clause.verb) {
    case 's': return Plain(value, 0);
    case 'd': if (integer) return Integer(value, 10); break;
    case 'o': if (integer) return Integer(value, 8); break;
    case 'b':
      if (integer) return Integer(value, 2);
      if (value.IsBool()) return value.AsBool() ? "1" : "0";
      break;
    case 'x': case 'X': return Hexadecimal(value, clause.verb == 'X');
    case 'f': case 'e': {
      double number = value.IsDouble() ? value.AsDouble() : 0;
      if (value.IsString() && value.text() == "NaN") number = std::nan("");
      else if (value.IsString() && value.text() == "Infinity") number = HUGE_VAL;
      else if (value.IsString() && value.text() == "-Infinity") number = -HUGE_VAL;
      else if (!value.IsDouble()) break;
      return clause.verb == 'f' ? Grouped(number, clause.precision) : Scientific(number, clause.precision);
    }
    default: break;
  }
  return std::unexpected(FormatClauseError(clause.verb, value.TypeName()));
}

}  // namespace

std::string FormatClauseError(char verb, std::string_view type_name) {
  std::string_view text;
  switch (verb) {
    case 's': text = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"; break;
    case 'd': text = "decimal clause can only be used on integers"; break;
    case 'f': text = "fixed-point clause can only be used on doubles"; break;
    case 'e': text = "scientific clause can only be used on doubles"; break;
    case 'b': text = "only integers and bools can be formatted as binary"; break;
    case 'o': text = "octal clause can only be used on integers"; break;
    default: text = "only integers, byte buffers, and strings can be formatted as hex";
  }
  return std::string(text) + ", was given " + std::string(type_name);
}

std::string WalkFormat(std::string_view format, uint64_t argument_count, const std::function<void(std::string_view)>& text,
                       const std::function<std::string(const FormatClause&, uint64_t)>& clause) {
  static constexpr std::string_view kUnread = "could not parse formatting clause: ";
  uint64_t argument = 0;
  for (size_t at = 0; at < format.size();) {
    size_t percent = std::min(format.find('%', at), format.size());
    text(format.substr(at, percent - at));
    if (percent == format.size()) break;
    at = percent + 1;
    if (at < format.size() && format[at] == '%') {
      text("%");
      ++at;
      continue;
    }
    bool missing = argument >= argument_count;
    if (at >= format.size() && !missing) return "unexpected end of string";
    if (missing) return "index " + std::to_string(argument) + " out of range";
    FormatClause read{};
    if (format[at] == '.') {
      size_t digits = ++at;
      while (at < format.size() && format[at] >= '0' && format[at] <= '9') ++at;
      std::string number(format.substr(digits, at - digits));
      std::string error;
      auto [end, result] = std::from_chars(number.data(), number.data() + number.size(), read.precision);
      if (at >= format.size()) {
        error = "could not find end of precision specifier";
      } else if (number.empty()) {
        error = "error while converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax";
      } else if (result != std::errc() || read.precision > kMaxPrecision) {
        error = "error while converting precision to integer: strconv.Atoi: parsing \"" + number + "\": value out of range";
      }
      if (!error.empty()) return std::string(kUnread) + "error while parsing precision: " + error;
    }
    read.verb = format[at++];
    if (std::string_view("sdfebxXo").find(read.verb) == std::string_view::npos) {
      std::string shown;
      AppendUtf8(shown, static_cast<uint8_t>(read.verb));
      return std::string(kUnread) + "unrecognized formatting clause \"" + shown + "\"";
    }
    if (std::string error = clause(read, argument++); !error.empty()) return "error during formatting: " + error;
  }
  return "";
}

std::expected<std::string, std::string> FormatString(std::string_view format, const List& args) {
  std::string out;
  std::string error = WalkFormat(
      format, args.size(), [&](std::string_view text) { out += text; },
      [&](const FormatClause& clause, uint64_t argument) {
        auto text = Clause(clause, args.At(argument));
        if (!text) return text.error();
        out += *text;
        return std::string(out.size() > UINT32_MAX ? "text is too long" : "");
      });
  if (!error.empty()) return std::unexpected(std::move(error));
  return out;
}

}  // namespace homeostat::cel::internal
