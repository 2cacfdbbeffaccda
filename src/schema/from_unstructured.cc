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
#include "schema/internal/tree.h"

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
      bool whole = item.IsDouble() && item.AsDouble() == std::trunc(item.AsDouble());
      if (item.IsDouble() && !whole) return Fault("cannot convert float64 to uint8");
      if (!item.IsNull() && !item.IsNumber()) return Fault("unrecognized type: uint8");
      // Of no value Go makes a zero, and of one that is too large its lower bits.
      int64_t number = !whole ? item.AsInt() : std::abs(item.AsDouble()) < 0x1p63 ? static_cast<int64_t>(item.AsDouble()) : 0;
      items.Append(Value::Int(static_cast<uint8_t>(number)));
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

  // Trees share what does not change, which is nearly all of them.
  Value ConvertStruct(const Type& type, const Value& value) {
    if (!value.IsObject()) return Fault("cannot restore struct from: " + std::string(GoKind(value)));
    std::vector<Member> changed;
    for (const Place& place : PlacesOf(type, value)) {
      const Value& member = value.members()[place.member].value;
      Value converted = Convert(*type.fields[place.field].type, member);
      if (fault_) return value;
      if (internal::IsSame(converted, member)) continue;
      if (changed.empty()) changed.assign(value.members().begin(), value.members().end());
      changed[place.member].value = converted;
    }
    return changed.empty() ? value : internal::CopyMembers(arena_, changed);
  }

  // A member that is a field of the struct, and is there.
  struct Place {
    size_t field, member;
  };
  // In the order of the fields, in which faults are met.
  static std::vector<Place> PlacesOf(const Type& type, const Value& value) {
    std::vector<Place> places;
    places.reserve(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      const Member& member = value.members()[i];
      if (!member.value) continue;
      bool known = member.field < type.fields.size() && type.fields[member.field].name == member.name();
      int field = known ? member.field : type.FieldIndex(member.name());
      if (field >= 0) places.push_back({static_cast<size_t>(field), i});
    }
    auto before = [](const Place& a, const Place& b) { return a.field < b.field; };
    if (!std::is_sorted(places.begin(), places.end(), before)) std::stable_sort(places.begin(), places.end(), before);
    return places;
  }

  Value ConvertMap(const Type& type, const Value& value) {
    if (!value.IsObject()) return Fault("cannot restore map from " + std::string(GoKind(value)));
    std::vector<Member> converted(value.members().begin(), value.members().end());
    bool same = true;
    for (Member& member : converted) {
      Value old = member.value;
      same = same && member.field == object::kNoField;
      member = Member(member.name(), Convert(ElementType(type), old));
      same = same && internal::IsSame(member.value, old);
    }
    return same ? value : internal::CopyMembers(arena_, converted);
  }

  Value ConvertList(const Type& type, const Value& value) {
    if (!value.IsList()) return Fault("cannot restore slice from " + std::string(GoKind(value)));
    std::vector<Value> converted(value.items().begin(), value.items().end());
    bool same = true;
    for (Value& item : converted) {
      Value old = item;
      item = Convert(ElementType(type), old);
      same = same && internal::IsSame(item, old);
    }
    return same ? value : internal::CopyItems(arena_, converted);
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
