#include "patch/internal/go_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"

namespace homeostat::patch::internal {

using object::Member;
using object::Value;
using object::ValueKind;

namespace {

std::string Base64(const Value& bytes) {
  std::string text;
  object::AppendBase64(text, bytes.AsString());
  return text;
}

std::string Number(const Value& value, GoNumbers numbers) {
  if (value.IsInt() && numbers == GoNumbers::kIntegers) return std::to_string(value.AsInt());
  return GoDouble(value.AsDouble());
}

std::vector<const Member*> SortedByName(const Value& object) {
  std::vector<const Member*> sorted;
  sorted.reserve(object.size());
  for (const Member& member : object.members()) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const Member* a, const Member* b) { return a->name() < b->name(); });
  return sorted;
}

// How scalars are printed; lists and maps are the same with every verb.
using ScalarPrinter = void (*)(std::string& out, const Value& value, GoNumbers numbers);

void AppendScalar(std::string& out, const Value& value, GoNumbers numbers) {
  if (!value)
    out += "<nil>";
  else if (value.IsBool())
    out += value.AsBool() ? "true" : "false";
  else if (value.IsNumber())
    out += Number(value, numbers);
  else if (value.IsBytes())
    out += Base64(value);
  else
    out += value.AsString();
}

void AppendScalarAsString(std::string& out, const Value& value, GoNumbers numbers) {
  if (value.IsString() || value.IsBytes()) return AppendScalar(out, value, numbers);
  out += "%!s(";
  if (value) out.append(GoDynamicType(value, numbers)) += '=';
  AppendScalar(out, value, numbers);
  out += ')';
}

void AppendText(std::string& out, const Value& value, GoNumbers numbers, ScalarPrinter append_scalar) {
  if (!value.IsList() && !value.IsObject()) return append_scalar(out, value, numbers);
  if (value.IsList()) {
    out += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ' ';
      AppendText(out, value.items()[i], numbers, append_scalar);
    }
    out += ']';
    return;
  }
  out += "map[";
  bool first = true;
  for (const Member* member : SortedByName(value)) {
    if (!first) out += ' ';
    first = false;
    out.append(member->name()) += ':';
    AppendText(out, member->value, numbers, append_scalar);
  }
  out += ']';
}

void AppendSyntax(std::string& out, const Value& value, GoNumbers numbers) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      out += "interface {}(nil)";
      return;
    case ValueKind::kString:
      out += GoQuote(value.AsString());
      return;
    case ValueKind::kBytes:
      out += GoQuote(Base64(value));
      return;
    case ValueKind::kList:
      out += "[]interface {}{";
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += ", ";
        AppendSyntax(out, value.items()[i], numbers);
      }
      out += '}';
      return;
    case ValueKind::kObject:
      break;
    default:
      AppendScalar(out, value, numbers);
      return;
  }
  out += "map[string]interface {}{";
  bool first = true;
  for (const Member* member : SortedByName(value)) {
    if (!first) out += ", ";
    first = false;
    out.append(GoQuote(member->name())) += ':';
    AppendSyntax(out, member->value, numbers);
  }
  out += '}';
}

}  // namespace

std::string GoText(const Value& value, GoNumbers numbers) {
  std::string out;
  AppendText(out, value, numbers, AppendScalar);
  return out;
}

std::string GoStringText(const Value& value, GoNumbers numbers) {
  std::string out;
  AppendText(out, value, numbers, AppendScalarAsString);
  return out;
}

std::string GoSyntax(const Value& value, GoNumbers numbers) {
  std::string out;
  AppendSyntax(out, value, numbers);
  return out;
}

std::string_view GoDynamicType(const Value& value, GoNumbers numbers) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return "<nil>";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return numbers == GoNumbers::kIntegers ? "int64" : "float64";
    case ValueKind::kDouble:
      return "float64";
    case ValueKind::kString:
    case ValueKind::kBytes:
      return "string";
    case ValueKind::kList:
      return "[]interface {}";
    case ValueKind::kObject:
      return "map[string]interface {}";
  }
  return "<nil>";
}

std::string GoDouble(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  if (number == 0) return std::signbit(number) ? "-0" : "0";
  char text[40];
  auto scientific = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  std::string_view digits(text, static_cast<size_t>(scientific.ptr - text));
  int exponent = 0;
  size_t mark = digits.find('e');
  std::from_chars(digits.data() + mark + (digits[mark + 1] == '+' ? 2 : 1), digits.data() + digits.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(digits);
  auto fixed = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  return std::string(text, static_cast<size_t>(fixed.ptr - text));
}

}  // namespace homeostat::patch::internal
