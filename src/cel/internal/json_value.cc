// JSON trees as values of the language and back; nothing is copied on the way in.
//
// Source of the rules: Kubernetes' cel/common/valuesunstructured.go for values of a schema, cel-go's default adapter for
// those without.
#include <algorithm>

#include "cel/decl_type.h"
#include "cel/internal/evaluator.h"
#include "cel/internal/text_form.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "object/go_value.h"

namespace homeostat::cel {

namespace {

constexpr int kMaxDepth = 1000;

class JsonList final : public List {
 public:
  JsonList(object::Arena& arena, object::Value value, const DeclType* type) : arena_(arena), value_(value), type_(type) {}
  uint64_t size() const override { return value_.size(); }
  Value At(uint64_t position) const override {
    return FromJson(arena_, value_.At(position), type_ ? type_->element().get() : nullptr);
  }
  object::Value Json() const override { return value_; }
  std::string_view GoTypeName() const override {
    if (type_ == nullptr) return List::GoTypeName();
    switch (type_->list_kind()) {
      case DeclType::ListKind::kSet: return "*common.unstructuredSetList";
      case DeclType::ListKind::kMap: return "*common.unstructuredMapList";
      case DeclType::ListKind::kAtomic: return "*common.unstructuredList";
    }
    return List::GoTypeName();
  }
  std::string_view NativeGoTypeName() const override { return type_ == nullptr ? object::GoTypeOf(value_) : GoTypeName(); }
  const List* Joined(object::Arena& arena, const List& other) const override;
  std::optional<bool> EqualTo(const List& other) const override;

 private:
  bool IsKeyed() const { return type_ != nullptr && type_->list_kind() != DeclType::ListKind::kAtomic; }
  // Whether two items of a set are the same, or two of a map have the same keys.
  bool SameKey(const object::Value& a, const object::Value& b) const {
    if (type_->list_kind() == DeclType::ListKind::kSet) return object::Equal(a, b);
    for (const std::string& key : type_->map_keys()) {
      if (!object::Equal(a.Get(key), b.Get(key))) return false;
    }
    return true;
  }

  object::Arena& arena_;
  object::Value value_;
  const DeclType* type_;
};

std::optional<std::vector<object::Value>> JsonItems(object::Arena& arena, const List& list) {
  std::vector<object::Value> items;
  for (uint64_t i = 0; i < list.size(); ++i) {
    JsonResult item = ToJson(arena, list.At(i));
    if (!item.error.empty()) return std::nullopt;
    items.push_back(item.value);
  }
  return items;
}

const List* JsonList::Joined(object::Arena& arena, const List& other) const {
  if (!IsKeyed()) return nullptr;
  auto more = JsonItems(arena, other);
  if (!more) return nullptr;
  object::ListBuilder items(arena, value_);
  for (const object::Value& item : *more) {
    auto same = std::find_if(items.items().begin(), items.items().end(), [&](const object::Value& old) { return SameKey(old, item); });
    if (same == items.items().end()) {
      items.Append(item);
    } else if (type_->list_kind() == DeclType::ListKind::kMap) {
      *same = item;
    }
  }
  return MakeInArena<JsonList>(arena, arena_, items.Build(), type_);
}

std::optional<bool> JsonList::EqualTo(const List& other) const {
  if (!IsKeyed()) return std::nullopt;
  if (size() != other.size()) return false;
  auto items = JsonItems(arena_, other);
  if (!items) return std::nullopt;
  for (uint64_t i = 0; i < items->size(); ++i) {
    auto own = value_.items();
    auto same = std::find_if(own.begin(), own.end(), [&](const object::Value& old) { return SameKey(old, (*items)[i]); });
    if (same == own.end()) return false;
    if (!Equal(FromJson(arena_, *same, type_->element().get()), other.At(i))) return false;
  }
  return true;
}

// An object: a map of anything, a map of a schema's values, or an object with a schema's fields.
class JsonMap final : public Map {
 public:
  JsonMap(object::Arena& arena, object::Value value, const DeclType* type) : arena_(arena), value_(value), type_(type) {}
  uint64_t size() const override { return value_.size(); }
  std::optional<Value> Find(const Value& key) const override {
    if (!key.IsString()) {
      if (type_ != nullptr) return internal::NoSuchOverload();
      return std::nullopt;
    }
    if (type_ == nullptr || type_->shape() == DeclType::Shape::kMap) {
      object::Value found = value_.Get(key.text());
      if (found.IsAbsent()) return std::nullopt;
      return FromJson(arena_, found, type_ ? type_->element().get() : nullptr);
    }
    const DeclType::Field* field = type_->FindField(key.text());
    if (field == nullptr) return std::nullopt;
    object::Value found = value_.Get(field->json_name);
    if (!found) return std::nullopt;  // null counts as not being there
    return FromJson(arena_, found, field->type.get());
  }
  Value KeyAt(uint64_t position) const override {
    const object::Member& member = value_.members()[position];
    if (type_ != nullptr && type_->shape() == DeclType::Shape::kObject) {
      if (const DeclType::Field* field = type_->FindJsonField(member.name())) return Value::String(field->name);
    }
    return Value::String(member.name());
  }
  Value ValueAt(uint64_t position) const override {
    if (type_ == nullptr) return FromJson(arena_, value_.members()[position].value);
    Value key = KeyAt(position);
    return Find(key).value_or(MakeError(arena_, "no such key: " + ToText(key)));
  }
  std::optional<bool> EqualTo(const Map& other) const override;
  object::Value Json() const override { return value_; }
  std::string_view GoTypeName() const override { return type_ == nullptr ? Map::GoTypeName() : "*common.unstructuredMap"; }
  std::string_view NativeGoTypeName() const override { return type_ == nullptr ? object::GoTypeOf(value_) : GoTypeName(); }

 private:
  object::Arena& arena_;
  object::Value value_;
  const DeclType* type_;
};

// Fields that the schema knows are compared as values. Others (in defaults that are not pruned yet) are compared as JSON, and
// only where the other object has them too.
std::optional<bool> JsonMap::EqualTo(const Map& other) const {
  if (type_ == nullptr || type_->shape() != DeclType::Shape::kObject) return std::nullopt;
  for (const object::Member& member : value_.members()) {
    const DeclType::Field* field = type_->FindJsonField(member.name());
    if (field == nullptr) {
      object::Value there = other.Json().Get(member.name());
      if (!there.IsAbsent() && !object::Equal(member.value, there)) return false;
      continue;
    }
    Value name = Value::String(field->name);
    std::optional<Value> own = Find(name), theirs = other.Find(name);
    if (own.has_value() != theirs.has_value() || (own && !Equal(*own, *theirs))) return false;
  }
  return true;
}

// An object that an expression constructed.
class StructMap final : public Map {
 public:
  StructMap(std::string_view name, const ArrayMap* fields) : name_(name), fields_(fields) {}
  uint64_t size() const override { return fields_->size(); }
  std::optional<Value> Find(const Value& key) const override { return fields_->Find(key); }
  Value KeyAt(uint64_t position) const override { return fields_->KeyAt(position); }
  Value ValueAt(uint64_t position) const override { return fields_->ValueAt(position); }
  std::string_view StructName() const override { return name_; }

 private:
  std::string_view name_;
  const ArrayMap* fields_;
};

Value BytesOf(object::Arena& arena, std::string_view text) {
  size_t standard = text.find_first_of("+/");
  std::string url(text);
  std::replace(url.begin(), url.end(), '-', '+');
  std::replace(url.begin(), url.end(), '_', '/');
  if (standard == std::string_view::npos) {
    if (auto octets = Base64Decode(url)) return Value::Bytes(arena.Copy(*octets));
    standard = text.size();
  }
  return MakeError(arena, "Invalid byte formatted string " + std::string(text) + ": illegal base64 data at input byte " +
                              std::to_string(standard));
}

Value TimeOf(object::Arena& arena, std::string_view text, bool date_only) {
  std::string full(text);
  if (date_only) full += "T00:00:00Z";
  if (!date_only && text.empty()) return Value::Timestamp(0, 0);
  auto time = object::ParseTime(full);
  bool local = !time && !date_only;  // without a zone
  if (local) time = object::ParseTime(full + "Z");
  if (!time || (date_only && text.size() != 10)) {
    std::string message = time ? "parsing time" : time.error().message();
    return MakeError(arena, (date_only ? "Invalid date formatted string " : "Invalid date-time formatted string ") +
                                std::string(text) + ": " + message);
  }
  int minutes = 0;
  if (!local && !full.ends_with('Z') && full.size() > 6) {
    std::string offset = full.substr(full.size() - 6);
    minutes = ((offset[1] - '0') * 10 + offset[2] - '0') * 60 + (offset[4] - '0') * 10 + offset[5] - '0';
    if (offset[0] == '-') minutes = -minutes;
  }
  return Value::Timestamp(time->seconds, static_cast<uint32_t>(time->nanos), minutes);
}

Value StringOf(object::Arena& arena, const object::Value& value, const DeclType& type) {
  if (!value.IsString()) return MakeError(arena, "invalid data, expected string, got " + std::string(object::GoTypeOf(value)));
  switch (type.scalar()) {
    case DeclType::Scalar::kBytes: return BytesOf(arena, value.AsString());
    case DeclType::Scalar::kDuration: {
      auto duration = object::ParseDuration(value.AsString());
      if (duration) return Value::Duration(duration->count());
      std::string text(value.AsString());
      return MakeError(arena, "Invalid duration " + text + ": unable to parse " + text + " as duration");
    }
    case DeclType::Scalar::kDate: return TimeOf(arena, value.AsString(), true);
    case DeclType::Scalar::kDateTime: return TimeOf(arena, value.AsString(), false);
    default: return Value::String(value.AsString());
  }
}

Value TypedFromJson(object::Arena& arena, const object::Value& value, const DeclType& type) {
  if (!value) return type.nullable() ? Value::Null() : Value::Error("invalid data, got null for schema with nullable=false");
  if (type.scalar() == DeclType::Scalar::kIntOrString) {
    if (value.IsString()) return Value::String(value.AsString());
    if (value.IsInt()) return Value::Int(value.AsInt());
    return Value::Error("invalid data, expected XIntOrString value to be either a string or integer");
  }
  switch (type.type().kind()) {
    case TypeKind::kStruct: case TypeKind::kMap:
      if (!value.IsObject()) return Value::Error("invalid data, expected a map for the provided schema with type=object");
      return Value::Of(static_cast<const Map*>(MakeInArena<JsonMap>(arena, arena, value, &type)));
    case TypeKind::kList:
      if (!value.IsList()) return Value::Error("invalid data, expected an array for the provided schema with type=array");
      return Value::Of(static_cast<const List*>(MakeInArena<JsonList>(arena, arena, value, &type)));
    case TypeKind::kInt:
      if (value.IsInt()) return Value::Int(value.AsInt());
      return MakeError(arena, "invalid data, expected int, got " + std::string(object::GoTypeOf(value)));
    case TypeKind::kDouble:
      if (value.IsNumber()) return Value::Double(value.AsDouble());
      return MakeError(arena, "invalid data, expected float, got " + std::string(object::GoTypeOf(value)));
    case TypeKind::kBool:
      if (value.IsBool()) return Value::Bool(value.AsBool());
      return MakeError(arena, "invalid data, expected bool, got " + std::string(object::GoTypeOf(value)));
    case TypeKind::kString: case TypeKind::kBytes: case TypeKind::kDuration: case TypeKind::kTimestamp:
      return StringOf(arena, value, type);
    default: return FromJson(arena, value);
  }
}

JsonResult Refused(const Value& value) { return {{}, "unsupported conversion of " + std::string(value.TypeName()) + " to JSON"}; }

JsonResult ToJsonAt(object::Arena& arena, const Value& value, int depth) {
  if (depth > kMaxDepth) return {{}, "value is nested too deep"};
  auto text = [&](const std::string& s) { return JsonResult{object::Value::String(arena, s), ""}; };
  switch (value.kind()) {
    case ValueKind::kNull: return {object::Value::Null(), ""};
    case ValueKind::kBool: return {object::Value::Bool(value.AsBool()), ""};
    case ValueKind::kInt: return {object::Value::Int(value.AsInt()), ""};
    case ValueKind::kUint:
      if (value.AsUint() > INT64_MAX) return {object::Value::Double(static_cast<double>(value.AsUint())), ""};
      return {object::Value::Int(static_cast<int64_t>(value.AsUint())), ""};
    case ValueKind::kDouble: return {object::Value::Double(value.AsDouble()), ""};
    case ValueKind::kString: return {object::Value::StringRef(value.text()), ""};
    case ValueKind::kBytes: return text(Base64Encode(value.text()));
    case ValueKind::kTimestamp: return text(internal::FormatTimestamp(value));
    case ValueKind::kDuration: return text(internal::FormatDurationSeconds(value.nanoseconds()));
    case ValueKind::kOptional: return value.optional() ? ToJsonAt(arena, *value.optional(), depth) : Refused(value);
    case ValueKind::kList: {
      if (object::Value json = value.list().Json(); !json.IsAbsent()) return {json, ""};
      object::ListBuilder items(arena);
      for (uint64_t i = 0; i < value.list().size(); ++i) {
        JsonResult item = ToJsonAt(arena, value.list().At(i), depth + 1);
        if (!item.error.empty()) return item;
        items.Append(item.value);
      }
      return {items.Build(), ""};
    }
    case ValueKind::kMap: {
      if (object::Value json = value.map().Json(); !json.IsAbsent()) return {json, ""};
      object::ObjectBuilder members(arena);
      for (uint64_t i = 0; i < value.map().size(); ++i) {
        Value key = value.map().KeyAt(i);
        if (!key.IsString()) {
          return {{}, "map key \"" + ToText(key) + "\" is of type " + std::string(internal::GoTypeName(key)) + ", not string"};
        }
        JsonResult item = ToJsonAt(arena, value.map().ValueAt(i), depth + 1);
        if (!item.error.empty()) return item;
        members.Append(key.text(), item.value);
      }
      return {members.Build(), ""};
    }
    case ValueKind::kError: return {{}, std::string(value.text())};
    default: return Refused(value);
  }
}

std::string CheckNames(const Value& value, const std::string& path, int depth) {
  if (depth > kMaxDepth) return "value is nested too deep";
  std::string errors;
  auto add = [&](const std::string& error) {
    if (!errors.empty() && !error.empty()) errors += '\n';
    errors += error;
  };
  if (value.IsList() && value.list().Json().IsAbsent()) {
    for (uint64_t i = 0; i < value.list().size(); ++i) add(CheckNames(value.list().At(i), path, depth + 1));
  }
  if (!value.IsMap() || !value.map().Json().IsAbsent()) return errors;
  std::string_view name = value.map().StructName();
  if (!name.empty() && name != path) {
    add("unexpected type name " + GoQuote(name) + ", expected " + GoQuote(path) +
        ", which matches field name path from root Object type");
  }
  for (uint64_t i = 0; i < value.map().size(); ++i) {
    std::string below = name.empty() ? path : path + "." + std::string(value.map().KeyAt(i).text());
    add(CheckNames(value.map().ValueAt(i), below, depth + 1));
  }
  return errors;
}

}  // namespace

Value FromJson(object::Arena& arena, const object::Value& value, const DeclType* type) {
  if (type != nullptr && !type->type().IsDyn()) return TypedFromJson(arena, value, *type);
  if (type != nullptr && type->scalar() == DeclType::Scalar::kIntOrString) return TypedFromJson(arena, value, *type);
  switch (value.kind()) {
    case object::ValueKind::kBool: return Value::Bool(value.AsBool());
    case object::ValueKind::kInt: return Value::Int(value.AsInt());
    case object::ValueKind::kDouble: return Value::Double(value.AsDouble());
    case object::ValueKind::kString: return Value::String(value.AsString());
    case object::ValueKind::kBytes: return MakeString(arena, Base64Encode(value.AsString()));
    case object::ValueKind::kList:
      return Value::Of(static_cast<const List*>(MakeInArena<JsonList>(arena, arena, value, nullptr)));
    case object::ValueKind::kObject:
      return Value::Of(static_cast<const Map*>(MakeInArena<JsonMap>(arena, arena, value, nullptr)));
    default: return Value::Null();
  }
}

JsonResult ToJson(object::Arena& arena, const Value& value) { return ToJsonAt(arena, value, 0); }

std::string CheckTypeNamesMatchFieldPathNames(const Value& value) {
  return CheckNames(value, std::string(value.TypeName()), 0);
}

namespace internal {

Value MakeObject(object::Arena& arena, const DeclType& type, std::span<const std::string_view> names,
                 std::span<const Value> values) {
  auto* fields = MakeInArena<ArrayMap>(arena);
  for (size_t i = 0; i < names.size(); ++i) fields->Set(arena, Value::String(names[i]), values[i]);
  return Value::Of(static_cast<const Map*>(MakeInArena<StructMap>(arena, type.type().name(), fields)));
}

}  // namespace internal

}  // namespace homeostat::cel
