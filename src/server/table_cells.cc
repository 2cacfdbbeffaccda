#include "server/table_cells.h"

#include <fmt/format.h>

#include "homeostat/object/json.h"
#include "homeostat/object/jsonpath.h"
#include "homeostat/object/selectors.h"
#include "homeostat/object/time.h"
#include "kinds/cells.h"
#include "object/go_value.h"

namespace homeostat::server {
namespace {

using object::Arena;
using object::Value;

Value Text(Arena& arena, std::string_view text) { return Value::String(arena, text); }

std::string ScalarText(const Value& value) {
  if (value.IsString()) return std::string(value.AsString());
  if (value.IsBool()) return value.AsBool() ? "True" : "False";
  return object::JsonText(value);
}

template <class Text>
std::string Join(const Value& list, Text text) {
  std::string joined;
  for (const Value& item : list.items()) {
    if (!joined.empty()) joined += ',';
    joined += text(item);
  }
  return joined;
}

std::string LabelsText(const Value& labels) {
  std::string text;
  for (const object::Member& label : labels.members()) {
    if (!text.empty()) text += ',';
    text += std::string(label.name()) + "=" + std::string(label.value.AsString());
  }
  return text;
}

std::string SelectorText(const Value& selector) {
  auto parsed = object::LabelSelector::FromLabelSelector(selector);
  return parsed ? parsed->ToString() : std::string("<error>");
}

// Everything at a path, or at several of them, comma separated.
std::vector<Value> Find(std::string_view paths, const Value& object) {
  std::vector<Value> found;
  while (!paths.empty()) {
    size_t comma = paths.find(',');
    if (auto values = object::EvaluateJsonPath(paths.substr(0, comma), object)) {
      found.insert(found.end(), values->begin(), values->end());
    }
    paths = comma == paths.npos ? std::string_view() : paths.substr(comma + 1);
  }
  return found;
}

int64_t Count(const std::vector<Value>& values) {
  int64_t count = 0;
  for (const Value& value : values) count += value.size();
  return count;
}

std::string GenericText(std::string_view cell, const Value& value) {
  if (cell == "join") return Join(value, ScalarText);
  if (cell == "labels") return LabelsText(value);
  if (cell == "selector") return SelectorText(value);
  if (cell == "container_names") return Join(value, [](const Value& c) { return std::string(c.Get("name").AsString()); });
  if (cell == "container_images") return Join(value, [](const Value& c) { return std::string(c.Get("image").AsString()); });
  return value ? ScalarText(value) : std::string();
}

std::string_view FallbackOf(const schema::Column& column) {
  if (!column.fallback.empty()) return column.fallback;
  if (column.cell == "labels" || column.cell == "selector") return "<none>";
  return "";
}

// The type at a path of fields; null where it leads elsewhere.
const schema::Type* TypeAt(const schema::Type& type, std::string_view path) {
  const schema::Type* at = &type;
  while (!path.empty()) {
    size_t dot = path.find('.');
    const schema::Field* field = at->FindField(path.substr(0, dot));
    if (field == nullptr) return nullptr;
    at = field->type;
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

// What an absent scalar of a Go struct shows as, whatever its column says of its type.
Value ZeroOf(const schema::Column& column, const schema::Type& type) {
  const schema::Type* of_field = TypeAt(type, column.path);
  bool number = of_field != nullptr && of_field->form >= schema::Form::kInt32 && of_field->form <= schema::Form::kDouble;
  if (number || column.type == "integer" || column.type == "number") return Value::Int(0);
  if (column.type == "boolean" || (of_field != nullptr && of_field->form == schema::Form::kBool)) return Value::Bool(false);
  return Value::StringRef("");
}

// Of a custom kind: the first thing at the path, if it is of the column's type. Source: apiextensions' tableconvertor.
Value CustomCell(Arena& arena, const schema::Column& column, const Value& object, WallTime now) {
  auto found = object::EvaluateJsonPath(column.path, object);
  if (!found || found->empty()) return column.format == "name" ? Value::StringRef("") : Value::Null();
  Value value = found->front();
  if (column.type == "string") {
    if (value.IsString()) return value;
    if (value.IsNull()) return Value::StringRef("<no value>");
    return Text(arena, value.IsObject() || value.IsList() ? object::WriteJson(value, {.sort_names = true}).value_or(object::GoText(value)) : object::GoText(value));
  }
  if (column.type == "integer") return value.IsDouble() ? Value::Int(static_cast<int64_t>(value.AsDouble())) : value.IsInt() ? value : Value::Null();
  if (column.type == "number") return value.IsNumber() ? Value::Double(value.AsDouble()) : Value::Null();
  if (column.type == "boolean") return value.IsBool() ? value : Value::Null();
  if (column.type != "date" || !value.IsString()) return Value::Null();
  if (!value.AsString().empty() && value.AsString() != "null" && !object::ParseTime(value.AsString())) return Value::StringRef("<invalid>");
  return Text(arena, kinds::Since(value, now));
}

// A plain path: what stands there, several things as text.
Value PathCell(Arena& arena, const schema::Column& column, const schema::Type& type, const Value& object) {
  std::vector<Value> found = Find(column.path, object);
  if (found.empty()) return column.fallback.empty() ? ZeroOf(column, type) : Text(arena, column.fallback);
  Value first = found.front();
  if (found.size() == 1 && (first.IsNumber() || first.IsBool() || column.type != "string")) return first;
  std::string text;
  for (const Value& value : found) text += (text.empty() ? "" : ",") + (value.IsString() ? std::string(value.AsString()) : object::JsonText(value));
  if (text.empty() && !column.fallback.empty()) text = column.fallback;
  return Text(arena, text);
}

}  // namespace

Value TableCell(Arena& arena, const schema::Column& column, const kinds::Behaviour& behaviour, const schema::Type& type,
                const Value& object, WallTime now) {
  if (column.path.empty()) {
    if (behaviour.cell != nullptr) return behaviour.cell(arena, column.cell, object, now);
    return Value::StringRef("<unknown>");
  }
  if (type.structural) return CustomCell(arena, column, object, now);
  if (column.cell.empty()) return PathCell(arena, column, type, object);
  std::vector<Value> found = Find(column.path, object);
  Value first = found.empty() ? Value() : found.front();
  if (column.cell == "count") return Value::Int(Count(found));
  if (column.cell == "age") {
    return !first && !column.fallback.empty() ? Text(arena, column.fallback) : Text(arena, kinds::Since(first, now));
  }
  std::string text = GenericText(column.cell, first);
  return Text(arena, text.empty() ? std::string(FallbackOf(column)) : text);
}

}  // namespace homeostat::server
