#include "object/internal/yaml_resolve.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "object/internal/number.h"

namespace homeostat::object::internal {
namespace {

using Kind = YamlScalar::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

YamlScalar Bool(bool value) { return {.kind = Kind::kBool, .boolean = value}; }
YamlScalar Float(double value) { return {.kind = Kind::kFloat, .number = value}; }
YamlScalar Int(int64_t value) { return {.kind = Kind::kInt, .integer = value}; }
YamlScalar Uint(uint64_t value) { return {.kind = Kind::kUint, .unsigned_integer = value}; }

const std::unordered_map<std::string_view, YamlScalar>& Words() {
  static const auto* words = [] {
    auto* map = new std::unordered_map<std::string_view, YamlScalar>;
    for (const char* word : {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) (*map)[word] = Bool(true);
    for (const char* word : {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) (*map)[word] = Bool(false);
    for (const char* word : {"", "~", "null", "Null", "NULL"}) (*map)[word] = {.kind = Kind::kNull};
    double infinity = std::numeric_limits<double>::infinity();
    for (const char* word : {".nan", ".NaN", ".NAN"}) (*map)[word] = Float(std::numeric_limits<double>::quiet_NaN());
    for (const char* word : {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"}) (*map)[word] = Float(infinity);
    for (const char* word : {"-.inf", "-.Inf", "-.INF"}) (*map)[word] = Float(-infinity);
    (*map)["<<"] = {.kind = Kind::kMerge};
    return map;
  }();
  return *words;
}

// Whether a word or a number may begin so: the words are few, and most scalars are neither.
bool MayBeOther(std::string_view text) {
  return text.empty() || IsDigit(text[0]) || std::string_view("+-.yYnNtTfFoO~").find(text[0]) != std::string_view::npos;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool IsFloat(std::string_view text) {
  auto skip_digits = [&text] {
    size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  bool whole = skip_digits() > 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (skip_digits() == 0 && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return skip_digits() > 0 && text.empty();
}

// A number or, as the fallback, a string. Underscores between digits say nothing.
YamlScalar ResolveNumber(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  std::string_view view = plain;
  if (std::optional<int64_t> integer = ParseInt(view, 0)) return Int(*integer);
  if (std::optional<uint64_t> integer = ParseUint(view, 0)) return Uint(*integer);
  if (IsFloat(view)) {
    if (std::optional<double> number = ParseDouble(view)) return Float(*number);
  }
  // A sign behind 0b passes, as upstream reads what follows it as a number of its own.
  if (view.starts_with("0b")) {
    if (std::optional<int64_t> integer = ParseInt(view.substr(2), 2)) return Int(*integer);
  } else if (view.starts_with("-0b")) {
    if (std::optional<int64_t> integer = ParseInt("-" + plain.substr(3), 2)) return Int(*integer);
  }
  return {};
}

YamlScalar ResolvePlain(std::string_view text) {
  if (!MayBeOther(text)) return {};
  if (auto word = Words().find(text); word != Words().end()) return word->second;
  if (text[0] == '.') {
    std::optional<double> number = IsFloat(text) ? ParseDouble(text) : std::nullopt;
    return number ? Float(*number) : YamlScalar{};
  }
  return IsDigit(text[0]) || text[0] == '-' || text[0] == '+' ? ResolveNumber(text) : YamlScalar{};
}

// Takes numbers and marks from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  // A number of at least and at most so many digits, in that range.
  bool Number(size_t least, size_t most, int low, int high, int& number) {
    size_t count = 0;
    number = 0;
    for (; count < most && count < text_.size() && IsDigit(text_[count]); ++count) number = number * 10 + (text_[count] - '0');
    text_.remove_prefix(count);
    return count >= least && number >= low && number <= high;
  }
  bool Mark(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_[0]) == std::string_view::npos) return false;
    last_mark_ = text_[0];
    text_.remove_prefix(1);
    return true;
  }
  bool SkipDigits() {
    size_t count = std::min(text_.find_first_not_of("0123456789"), text_.size());
    text_.remove_prefix(count);
    return count > 0;
  }
  bool NextIsDigit(size_t at) const { return at < text_.size() && IsDigit(text_[at]); }
  char last_mark() const { return last_mark_; }

 private:
  std::string_view text_;
  char last_mark_ = '\0';
};

// 2006-1-2, alone, with a time behind a space, or with a time and a zone behind a T: YAML's timestamps, which stay text
// but must be quoted where they are written.
bool IsTimestamp(std::string_view text) {
  Cursor cursor(text);
  int year = 0, month = 0, day = 0, number = 0;
  if (!cursor.Number(4, 4, 0, 9999, year) || !cursor.Mark("-") || !cursor.Number(1, 2, 1, 12, month) || !cursor.Mark("-") ||
      !cursor.Number(1, 2, 1, 31, day)) {
    return false;
  }
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  if (cursor.empty()) return true;
  if (!cursor.Mark("Tt ")) return false;
  bool zoned = cursor.last_mark() != ' ';
  if (!cursor.Number(1, 2, 0, 23, number) || !cursor.Mark(":") || !cursor.Number(1, 2, 0, 59, number) || !cursor.Mark(":") ||
      !cursor.Number(1, 2, 0, 59, number)) {
    return false;
  }
  if (cursor.NextIsDigit(1) && cursor.Mark(".,")) cursor.SkipDigits();
  if (!zoned) return cursor.empty();
  if (cursor.Mark("Z")) return cursor.empty();
  return cursor.Mark("+-") && cursor.Number(2, 2, 0, 24, number) && cursor.Mark(":") && cursor.Number(2, 2, 0, 60, number) &&
         cursor.empty();
}

std::string_view ShortName(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "!!null";
    case Kind::kBool:
      return "!!bool";
    case Kind::kInt:
    case Kind::kUint:
      return "!!int";
    case Kind::kFloat:
      return "!!float";
    case Kind::kTimestamp:
      return "!!timestamp";
    case Kind::kMerge:
      return "!!merge";
    case Kind::kString:
    case Kind::kBinary:
      break;
  }
  return "!!str";
}

}  // namespace

Result<YamlScalar> ResolveYaml(std::string_view tag, std::string_view text) {
  if (tag.empty()) return ResolvePlain(text);
  if (!tag.starts_with(kYamlTagPrefix)) return YamlScalar{};
  std::string name = "!!" + std::string(tag.substr(kYamlTagPrefix.size()));
  if (name == "!!binary") return YamlScalar{.kind = Kind::kBinary};
  if (name != "!!bool" && name != "!!int" && name != "!!float" && name != "!!null" && name != "!!timestamp") return YamlScalar{};
  YamlScalar scalar = name == "!!timestamp" && IsTimestamp(text) ? YamlScalar{.kind = Kind::kTimestamp} : ResolvePlain(text);
  if (ShortName(scalar.kind) == name) return scalar;
  if (name == "!!float" && scalar.kind == Kind::kInt) return Float(static_cast<double>(scalar.integer));
  return Fail(BadRequestError("cannot decode " + std::string(ShortName(scalar.kind)) + " `" + std::string(text) +
                              "` as a " + name));
}

bool IsYamlString(std::string_view text) { return ResolvePlain(text).kind == Kind::kString && !IsTimestamp(text); }

}  // namespace homeostat::object::internal
