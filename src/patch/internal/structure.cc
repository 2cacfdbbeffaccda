#include "patch/internal/structure.h"

#include <algorithm>
#include <array>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"

namespace homeostat::patch::internal {

using object::Member;
using schema::Field;
using schema::Form;
using schema::ListType;
using schema::Type;

namespace {

constexpr uint8_t kAnyPart = kScalarPart | kListPart | kMapPart;

const Type& AnythingAtomic() { return schema::ScalarType(Form::kRawExtension); }
const Type& Anything() { return schema::ScalarType(Form::kJson); }

Scalar StringScalar(const Type& type) {
  // To apply, a format says that the text may be something else; only []byte's does not.
  bool formatted = type.constraints && !type.constraints->format.empty() && type.constraints->format != "byte";
  return formatted ? Scalar::kUntyped : Scalar::kString;
}

Value IndexedObject(Arena& arena, const Structure& structure, const Value& value);

Value Indexed(Arena& arena, const Structure& structure, const Value& value) {
  if (value.empty() || !structure.declared()) return value;
  if (value.IsObject())
    return (structure.parts() & kMapPart) && !structure.IsFreeForm() ? IndexedObject(arena, structure, value) : value;
  if (structure.parts() != kListPart) return value;
  Structure element = structure.ListElement();
  if (element.parts() == kScalarPart) return value;
  Value* items = arena.AllocateArray<Value>(value.size());
  for (size_t i = 0; i < value.size(); ++i) new (items + i) Value(Indexed(arena, element, value.items()[i]));
  return Value::List({items, value.size()});
}

Value IndexedObject(Arena& arena, const Structure& structure, const Value& value) {
  bool is_struct = structure.type().form == Form::kStruct;
  Member* members = arena.AllocateArray<Member>(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const Member& member = value.members()[i];
    int index = is_struct ? structure.type().FieldIndex(member.name()) : -1;
    if (index < 0) {
      new (members + i)
          Member(member.name(),
                 is_struct ? member.value : Indexed(arena, structure.MapChild(member.name()).structure, member.value));
      continue;
    }
    const Field& field = structure.type().fields[static_cast<size_t>(index)];
    new (members + i)
        Member(field.name, Indexed(arena, Structure(*field.type), member.value), static_cast<uint16_t>(index));
  }
  return Value::Object({members, value.size()});
}

}  // namespace

Value WithFieldIndexes(Arena& arena, const schema::Type& type, const Value& value) {
  return Indexed(arena, Structure(type), value);
}

namespace {

// What a form says by itself.
struct FormStructure {
  Scalar scalar = Scalar::kNone;
  uint8_t parts = 0;
  bool list_atomic = false, map_atomic = false, free_form = false;
};

constexpr FormStructure Plain(Scalar scalar) { return {scalar, kScalarPart}; }

constexpr FormStructure OfForm(Form form) {
  switch (form) {
    case Form::kBool:
      return Plain(Scalar::kBoolean);
    case Form::kInt32:
    case Form::kInt64:
    case Form::kUint32:
    case Form::kUint64:
    case Form::kDouble:
      return Plain(Scalar::kNumeric);
    case Form::kString:
    case Form::kBytes:
    case Form::kDuration:
      return Plain(Scalar::kString);
    case Form::kQuantity:
    case Form::kTime:
    case Form::kMicroTime:
      return Plain(Scalar::kUntyped);
    case Form::kRawExtension:
      return {Scalar::kUntyped, kAnyPart, true, true};
    case Form::kIntOrString:
    case Form::kJson:
    case Form::kSchemaOrBool:
    case Form::kSchemaOrList:
    case Form::kSchemaOrStrings:
      return {Scalar::kUntyped, kAnyPart, true};
    case Form::kFieldsV1:
      return {Scalar::kNone, kMapPart, false, false, true};
    case Form::kStruct:
    case Form::kMap:
      return {Scalar::kNone, kMapPart};
    case Form::kList:
      return {Scalar::kNone, kListPart};
  }
  return {};
}

constexpr size_t kForms = static_cast<size_t>(Form::kSchemaOrStrings) + 1;
constexpr auto kOfForm = [] {
  std::array<FormStructure, kForms> table;
  for (size_t i = 0; i < kForms; ++i) table[i] = OfForm(static_cast<Form>(i));
  return table;
}();

}  // namespace

Structure::Structure(const Type& type, bool preserve)
    : type_(&type), preserve_(preserve || type.preserve_unknown_fields) {
  const FormStructure& form = kOfForm[static_cast<size_t>(type.form)];
  scalar_ = form.scalar;
  parts_ = form.parts;
  list_atomic_ = form.list_atomic;
  map_atomic_ = form.map_atomic;
  free_form_ = form.free_form;
  if (type.form == Form::kString) {
    if (type.structural) scalar_ = StringScalar(type);
  } else if (type.form == Form::kList) {
    list_atomic_ = type.list_type == ListType::kAtomic;
  } else if (type.form == Form::kStruct || type.form == Form::kMap) {
    map_atomic_ = type.atomic;
    named_fields_ = type.form == Form::kStruct && !type.fields.empty();
    free_form_ = !named_fields_ && type.element == nullptr;
  }
}

uint8_t Structure::PartsFor(const Value& value) const {
  uint8_t wanted = value.IsObject() ? kMapPart : value.IsList() ? kListPart : value ? kScalarPart : 0;
  return (parts_ & wanted) != 0 ? wanted : parts_;
}

Structure Structure::ListElement() const {
  if (type_->form != Form::kList || type_->element == nullptr) return Structure(AnythingAtomic());
  return Structure(*type_->element, preserve_);
}

Structure::Child Structure::MapChild(const Member& member) const {
  if (named_fields_ && member.field < type_->fields.size()) {
    const Field& field = type_->fields[member.field];
    if (field.name.data() == member.name_data || field.name == member.name())
      return {Below(*field.type), true};
  }
  return MapChild(member.name());
}

Structure::Child Structure::MapChild(std::string_view name) const {
  if (named_fields_) {
    if (const Field* field = type_->FindField(name)) return {Below(*field->type), true};
  }
  if (type_->form == Form::kRawExtension) return {Structure(AnythingAtomic()), false};
  if (type_->form != Form::kStruct && type_->form != Form::kMap) return {Structure(Anything()), false};
  if (type_->element) return {Structure(*type_->element, preserve_), false};
  if (free_form_ || preserve_) return {Structure(Anything()), false};
  return {};
}

namespace {

// Fields that Go always writes are published with their zero value as the default.
Value ZeroDefault(const Field& field) {
  if (field.Has(schema::kPointer) || field.Has(schema::kOmitEmpty)) return {};
  switch (Structure(*field.type).scalar()) {
    case Scalar::kString:
      return Value::StringRef("");
    case Scalar::kNumeric:
      return Value::Int(0);
    case Scalar::kBoolean:
      return Value::Bool(false);
    default:
      return {};
  }
}

}  // namespace

Value KeyDefault(Arena& arena, const Type& element, std::string_view name) {
  const Field* field = element.FindField(name);
  if (field == nullptr) return {};
  std::string_view json = field->openapi_default;
  if (json.empty() && element.structural) json = field->default_json;
  if (json.empty()) return element.structural ? Value() : ZeroDefault(*field);
  if (json.size() >= 2 && json.front() == '"' && json.find('\\') == std::string_view::npos) {
    return Value::StringRef(json.substr(1, json.size() - 2));
  }
  Result<Value> parsed = object::ParseJson(arena, json);
  return parsed && *parsed ? *parsed : Value();
}

namespace {

std::string NoKeys(std::span<const std::string_view> keys) {
  std::string names;
  for (std::string_view key : keys) {
    if (!names.empty()) names += ' ';
    names += GoQuote(key);
  }
  return "associative list with keys has an element that omits all key fields [" + names +
         "] (and doesn't have default values for any key fields)";
}

std::expected<PathElement, std::string> KeyElement(Arena& arena, const Type& list, const Value& item) {
  if (!item) return std::unexpected("associative list with keys may not have a null element");
  if (!item.IsObject()) return std::unexpected("associative list with keys may not have non-map elements");
  std::span<const std::string_view> keys = list.list_map_keys;
  Member* fields = arena.AllocateArray<Member>(keys.size());
  size_t count = 0;
  for (std::string_view key : keys) {
    const Member* member = item.Find(key);
    if (member) {
      fields[count++] = Member(key, member->value);
      continue;
    }
    if (list.element == nullptr || (Structure(*list.element).parts() & kMapPart) == 0) {
      return std::unexpected("couldn't find default value for " + std::string(key) +
                             ": associative list may not have non-map types");
    }
    Value value = KeyDefault(arena, *list.element, key);
    if (!value.IsAbsent()) fields[count++] = Member(key, value);
  }
  if (!keys.empty() && count == 0) return std::unexpected(NoKeys(keys));
  if (count > 1) std::sort(fields, fields + count, [](const Member& a, const Member& b) { return a.name() < b.name(); });
  return PathElement::Key(Value::Object({fields, count}));
}

}  // namespace

std::expected<PathElement, std::string> ItemElement(Arena& arena, const Structure& list, const Value& item) {
  if (list.list_atomic()) return std::unexpected("invalid indexing of non-associative list");
  if (list.type().list_type == ListType::kMap) return KeyElement(arena, list.type(), item);
  if (item.IsObject()) return std::unexpected("associative list without keys has an element that's a map type");
  if (item.IsList()) return std::unexpected("not supported: associative list with lists as elements");
  if (!item) return std::unexpected("associative list without keys has an element that's an explicit null");
  return PathElement::Item(item);
}

}  // namespace homeostat::patch::internal
