// What Go's converter from maps to structs minds, which is not what its JSON decoder minds: patched trees of a strategic merge
// patch go through it. Source of the rules and texts: apimachinery's runtime/converter.go.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/object/member_order.h"
#include "homeostat/schema/conform.h"
#include "schema/internal/presence.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;
using object::ValueKind;

namespace {

// reflect.Kind of what a JSON decoder makes of the value.
std::string_view GoKind(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool: return "bool";
    case ValueKind::kInt: return "int64";
    case ValueKind::kDouble: return "float64";
    case ValueKind::kList: return "slice";
    case ValueKind::kObject: return "map";
    default: return "string";
  }
}

bool IsInteger(Form form) { return form >= Form::kInt32 && form <= Form::kUint64; }

class Converter {
 public:
  explicit Converter(Arena& arena) : arena_(arena) {}

  Result<Value> Run(const Type& type, const Value& value) {
    Value converted = Convert(type, value);
    if (fault_) return Fail(BadRequestError(*fault_));
    return converted;
  }

 private:
  Value Convert(const Type& type, const Value& value) {
    if (fault_ || !value) return value;
    if (++depth_ > internal::kMaxDepth) return Fault("json: exceeded max depth");
    Value converted = ConvertPresent(type, value);
    --depth_;
    return converted;
  }

  Value ConvertPresent(const Type& type, const Value& value) {
    switch (type.form) {
      case Form::kStruct: return ConvertStruct(type, value);
      case Form::kMap: return ConvertMap(type, value);
      case Form::kList: return ConvertList(type, value);
      case Form::kBytes: return ConvertBytes(value);
      default: break;
    }
    return type.form <= Form::kString ? ConvertScalar(type, value) : ConvertByItself(type, value);
  }

  Value ConvertScalar(const Type& type, const Value& value) {
    bool wants_integer = IsInteger(type.form);
    if (type.form == Form::kString && value.IsString()) return value;
    if (type.form == Form::kBool && value.IsBool()) return value;
    if (type.form == Form::kDouble && value.IsNumber()) return Value::Double(value.AsDouble());
    if (wants_integer && value.IsInt()) return Value::Int(Wrap(type.form, value.AsInt()));
    if (wants_integer && value.IsDouble()) {
      double number = value.AsDouble();
      // What no int64 holds becomes the least one, as amd64 converts it.
      bool held = number >= -0x1p63 && number < 0x1p63;
      int64_t whole = held ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::min();
      if (number == std::trunc(number)) return Value::Int(Wrap(type.form, whole));
    }
    // Go calls a whole number convertible to text, and thinks better of it.
    bool convertible = (wants_integer && value.IsDouble()) || (type.form == Form::kString && value.IsInt());
    if (convertible) return Fault("cannot convert " + std::string(GoKind(value)) + " to " + GoTypeName(type));
    return Fault("unrecognized type: " + std::string(ScalarType(type.form).go_name));
  }

  // Numbers that are too large lose their upper bits, as in any Go conversion.
  static int64_t Wrap(Form form, int64_t number) {
    if (form == Form::kInt32) return static_cast<int32_t>(number);
    if (form == Form::kUint32) return static_cast<uint32_t>(number);
    return number;
  }

  Value ConvertBytes(const Value& value) {
    if (value.IsString()) {
      auto octets = object::DecodeBase64(value.AsString());
      return octets ? value : Fault("error decoding from json: " + octets.error().message());
    }
    if (!value.IsList()) return Fault("cannot restore slice from " + std::string(GoKind(value)));
    object::ListBuilder items(arena_);
    for (const Value& item : value.items()) {
      if (!item.IsInt()) return Fault("unrecognized type: uint8");
      items.Append(Value::Int(static_cast<uint8_t>(item.AsInt())));
    }
    return items.Build();
  }

  // Types with a JSON decoder of their own.
  Value ConvertByItself(const Type& type, const Value& value) {
    ConformReport report;
    report.collect = false;
    auto decoded = Conform(arena_, value, type, report);
    if (!decoded) return Fault(decoded.error().message());
    bool raw = type.form == Form::kRawExtension || type.form == Form::kJson || type.form == Form::kFieldsV1;
    return raw ? object::WithSortedMembers(arena_, value) : value;  // written anew, from a map
  }

  Value ConvertStruct(const Type& type, const Value& value) {
    if (!value.IsObject()) return Fault("cannot restore struct from: " + std::string(GoKind(value)));
    object::ObjectBuilder changed(arena_, value);
    for (const Field& field : type.fields) {
      Value member = value.Get(field.name);
      if (!member) continue;
      Value converted = Convert(*field.type, member);
      if (fault_) return value;
      changed.Set(field.name, converted);
    }
    return changed.Build();
  }

  Value ConvertMap(const Type& type, const Value& value) {
    if (!value.IsObject()) return Fault("cannot restore map from " + std::string(GoKind(value)));
    object::ObjectBuilder changed(arena_);
    for (const Member& member : value.members()) changed.Append(member.name(), Convert(ElementType(type), member.value));
    return changed.Build();
  }

  Value ConvertList(const Type& type, const Value& value) {
    if (!value.IsList()) return Fault("cannot restore slice from " + std::string(GoKind(value)));
    object::ListBuilder changed(arena_);
    for (const Value& item : value.items()) changed.Append(Convert(ElementType(type), item));
    return changed.Build();
  }

  // The first one counts.
  Value Fault(std::string message) {
    if (!fault_) fault_ = std::move(message);
    return {};
  }

  Arena& arena_;
  std::optional<std::string> fault_;
  int depth_ = 0;
};

}  // namespace

Result<Value> FromUnstructured(Arena& arena, const Value& untyped, const Type& type) { return Converter(arena).Run(type, untyped); }

}  // namespace homeostat::schema
