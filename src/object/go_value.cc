#include "object/go_value.h"

#include "homeostat/base/go_text.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/member_order.h"

namespace homeostat::object {

namespace {

std::string Base64(const Value& bytes) {
  std::string text;
  AppendBase64(text, bytes.AsString());
  return text;
}

std::string Number(const Value& value, GoNumbers numbers) {
  if (value.IsInt() && numbers == GoNumbers::kIntegers) return std::to_string(value.AsInt());
  return GoFloat(value.AsDouble());
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
  if (value) out.append(GoTypeOf(value, numbers)) += '=';
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

std::string_view GoTypeOf(const Value& value, GoNumbers numbers) {
  switch (value.kind()) {
    case ValueKind::kBool: return "bool";
    case ValueKind::kInt: return numbers == GoNumbers::kIntegers ? "int64" : "float64";
    case ValueKind::kDouble: return "float64";
    case ValueKind::kString: case ValueKind::kBytes: return "string";
    case ValueKind::kList: return "[]interface {}";
    case ValueKind::kObject: return "map[string]interface {}";
    case ValueKind::kAbsent: case ValueKind::kNull: break;
  }
  return "<nil>";
}

}  // namespace homeostat::object
