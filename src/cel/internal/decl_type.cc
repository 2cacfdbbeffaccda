#include "cel/decl_type.h"
#include "cel/reserved_words.h"

#include <algorithm>
#include <array>

namespace homeostat::cel {

namespace {

constexpr int64_t kMaxDurationSize = 32;
constexpr int64_t kMaxDatetimeSize = 32;
constexpr int64_t kDateSize = 12;
constexpr int64_t kMinDurationSize = 3;
constexpr int64_t kMinDatetimeSize = 21;
constexpr int64_t kMinStringSize = 2;
constexpr int64_t kMaxTextSize = kMaxRequestSizeBytes - 2;
constexpr int kMaxSchemaDepth = 500;

std::optional<int64_t> Bound(const object::Value& schema, std::string_view name) {
  object::Value bound = schema.Get(name);
  if (!bound.IsNumber()) return std::nullopt;
  return std::max<int64_t>(0, bound.IsInt() ? bound.AsInt() : static_cast<int64_t>(bound.AsDouble()));
}

}  // namespace

class SchemaReader {
 public:
  static DeclTypePtr Read(const object::Value& schema, bool is_root, int depth) {
    if (!schema.IsObject() || depth > kMaxSchemaDepth) return nullptr;
    DeclType type;
    type.nullable_ = schema.Get("nullable").AsBool();
    if (schema.Get("x-kubernetes-int-or-string").AsBool()) {
      type.type_ = Type::Dyn();
      type.scalar_ = DeclType::Scalar::kIntOrString;
      auto max = Bound(schema, "maxLength");
      type.max_elements_ = max ? *max * 4 : kMaxTextSize;
      return std::make_shared<const DeclType>(std::move(type));
    }
    std::string_view kind = schema.Get("type").AsString();
    bool good = kind == "array"    ? ReadList(type, schema, depth)
                : kind == "object" ? ReadObject(type, schema, is_root, depth)
                                   : ReadScalar(type, schema, kind);
    return good ? std::make_shared<const DeclType>(std::move(type)) : nullptr;
  }

  static DeclTypePtr Named(const DeclType& type, const std::string& name) {
    DeclType named = type;
    switch (type.shape_) {
      case DeclType::Shape::kScalar: break;
      case DeclType::Shape::kObject:
        named.name_ = name;
        named.type_ = Type::Struct(name);
        for (DeclType::Field& field : named.fields_) field.type = Named(*field.type, name + "." + field.name);
        break;
      case DeclType::Shape::kList:
        named.element_ = Named(*type.element_, name + ".@idx");
        named.type_ = Type::List(named.element_->type());
        break;
      case DeclType::Shape::kMap:
        named.element_ = Named(*type.element_, name + ".@elem");
        named.type_ = Type::Map(Type::String(), named.element_->type());
        break;
    }
    return std::make_shared<const DeclType>(std::move(named));
  }

  static DeclTypePtr Make(DeclType::Shape shape, Type type, DeclTypePtr element, int64_t max_elements, int64_t min_size) {
    DeclType made;
    made.shape_ = shape;
    made.type_ = std::move(type);
    made.element_ = std::move(element);
    made.max_elements_ = max_elements;
    made.min_serialized_size_ = min_size;
    return std::make_shared<const DeclType>(std::move(made));
  }

  static DeclTypePtr MakeObject(std::string_view name, std::vector<DeclType::Field> fields, bool open) {
    DeclType made;
    made.shape_ = DeclType::Shape::kObject;
    made.name_ = name;
    made.type_ = Type::Struct(name);
    made.open_ = open;
    made.min_serialized_size_ = 2;
    made.max_elements_ = 0;
    SetFields(made, std::move(fields));
    return std::make_shared<const DeclType>(std::move(made));
  }

 private:
  static void SetFields(DeclType& type, std::vector<DeclType::Field> fields) {
    std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    type.fields_ = std::move(fields);
  }

  static bool IsEmbedded(const object::Value& schema) { return schema.Get("x-kubernetes-embedded-resource").AsBool(); }

  static bool ReadList(DeclType& type, const object::Value& schema, int depth) {
    object::Value items = schema.Get("items");
    type.element_ = Read(items, IsEmbedded(items), depth + 1);
    if (!type.element_) return false;
    type.shape_ = DeclType::Shape::kList;
    type.type_ = Type::List(type.element_->type());
    type.min_serialized_size_ = 2;
    auto max = Bound(schema, "maxItems");
    type.max_elements_ = max ? *max : kMaxTextSize / (type.element_->min_serialized_size() + 1);
    std::string_view kind = schema.Get("x-kubernetes-list-type").AsString();
    if (kind == "set") type.list_kind_ = DeclType::ListKind::kSet;
    if (kind == "map") type.list_kind_ = DeclType::ListKind::kMap;
    for (const object::Value& key : schema.Get("x-kubernetes-list-map-keys").items()) type.map_keys_.emplace_back(key.AsString());
    return true;
  }

  static bool ReadObject(DeclType& type, const object::Value& schema, bool is_root, int depth) {
    object::Value additional = schema.Get("additionalProperties");
    if (additional.IsObject()) {
      type.element_ = Read(additional, IsEmbedded(additional), depth + 1);
      if (!type.element_) return false;
      type.shape_ = DeclType::Shape::kMap;
      type.type_ = Type::Map(Type::String(), type.element_->type());
      type.min_serialized_size_ = 2;
      auto max = Bound(schema, "maxProperties");
      type.max_elements_ = max ? *max : kMaxTextSize / (type.element_->min_serialized_size() + 6);
      return true;
    }
    type.shape_ = DeclType::Shape::kObject;
    type.name_ = "object";
    type.type_ = Type::Struct("object");
    type.min_serialized_size_ = 2;
    type.max_elements_ = 0;
    std::vector<DeclType::Field> fields;
    for (const object::Member& property : schema.Get("properties").members()) {
      if (is_root && (property.name() == "apiVersion" || property.name() == "kind" || property.name() == "metadata")) continue;
      DeclTypePtr field = Read(property.value, IsEmbedded(property.value), depth + 1);
      if (!field) continue;
      if (IsRequired(schema, property.name()) && property.value.Get("default").IsAbsent()) {
        type.min_serialized_size_ += static_cast<int64_t>(property.name().size()) + field->min_serialized_size() + 4;
      }
      AddField(fields, property.name(), std::move(field));
    }
    if (is_root) AddRootFields(fields, schema, depth);
    SetFields(type, std::move(fields));
    return true;
  }

  static bool IsRequired(const object::Value& schema, std::string_view name) {
    auto required = schema.Get("required").items();
    return std::any_of(required.begin(), required.end(), [&](const object::Value& item) { return item.AsString() == name; });
  }

  static void AddField(std::vector<DeclType::Field>& fields, std::string_view name, DeclTypePtr type) {
    if (auto escaped = EscapeIdentifier(name)) fields.push_back({*escaped, std::string(name), std::move(type)});
  }

  // What every resource has: of its metadata, expressions see name and generateName only.
  static void AddRootFields(std::vector<DeclType::Field>& fields, const object::Value& schema, int depth) {
    DeclTypePtr text = DeclType::Of(Type::String(), kMaxTextSize, kMinStringSize);
    AddField(fields, "apiVersion", text);
    AddField(fields, "kind", text);
    std::vector<DeclType::Field> metadata = {{"name", "name", text}, {"generateName", "generateName", text}};
    object::Value own = schema.Path({"properties", "metadata"});
    for (const object::Member& property : own.Get("properties").members()) {
      if (property.name() != "name" && property.name() != "generateName") continue;
      DeclTypePtr type = Read(property.value, false, depth + 1);
      for (DeclType::Field& field : metadata) {
        if (type && field.name == property.name()) field.type = type;
      }
    }
    AddField(fields, "metadata", MakeObject("object", std::move(metadata), false));
  }

  static bool ReadScalar(DeclType& type, const object::Value& schema, std::string_view kind) {
    type.max_elements_ = 0;
    if (kind == "boolean") {
      type.type_ = Type::Bool();
      type.min_serialized_size_ = 4;
    } else if (kind == "integer") {
      type.type_ = Type::Int();
    } else if (kind == "number") {
      type.type_ = Type::Double();
      type.scalar_ = DeclType::Scalar::kDouble;
    } else {
      return kind == "string" && ReadString(type, schema);
    }
    return true;
  }

  static bool ReadString(DeclType& type, const object::Value& schema) {
    std::string_view format = schema.Get("format").AsString();
    auto max = Bound(schema, "maxLength");
    auto set = [&](const Type& cel_type, DeclType::Scalar scalar, int64_t min_size, int64_t max_size) {
      type.type_ = cel_type;
      type.scalar_ = scalar;
      type.min_serialized_size_ = min_size;
      type.max_elements_ = max_size;
    };
    if (format == "byte") {
      set(Type::Bytes(), DeclType::Scalar::kBytes, kMinStringSize, max.value_or(kMaxTextSize));
    } else if (format == "duration") {
      set(Type::Duration(), DeclType::Scalar::kDuration, kMinDurationSize, kMaxDurationSize);
    } else if (format == "date") {
      set(Type::Timestamp(), DeclType::Scalar::kDate, kDateSize, kDateSize);
    } else if (format == "date-time") {
      set(Type::Timestamp(), DeclType::Scalar::kDateTime, kMinDatetimeSize, kMaxDatetimeSize);
    } else {
      int64_t longest = 0;
      for (const object::Value& item : schema.Get("enum").items()) {
        longest = std::max(longest, static_cast<int64_t>(item.AsString().size()));
      }
      int64_t unbounded = schema.Get("enum").empty() ? kMaxTextSize : longest;
      set(Type::String(), DeclType::Scalar::kAsIs, kMinStringSize, max ? *max * 4 : unbounded);
    }
    return true;
  }
};

DeclTypePtr DeclType::FromSchema(const object::Value& schema, bool is_resource_root) {
  return SchemaReader::Read(schema, is_resource_root, 0);
}

DeclTypePtr DeclType::Of(cel::Type type, int64_t max_elements, int64_t min_serialized_size) {
  return SchemaReader::Make(Shape::kScalar, std::move(type), nullptr, max_elements, min_serialized_size);
}
DeclTypePtr DeclType::Object(std::string_view name, std::vector<Field> fields) {
  return SchemaReader::MakeObject(name, std::move(fields), false);
}
DeclTypePtr DeclType::OpenObject(std::string_view name) { return SchemaReader::MakeObject(name, {}, true); }
DeclTypePtr DeclType::List(DeclTypePtr element, int64_t max_items) {
  cel::Type type = cel::Type::List(element->type());
  return SchemaReader::Make(Shape::kList, std::move(type), std::move(element), max_items, 2);
}
DeclTypePtr DeclType::Map(DeclTypePtr element, int64_t max_properties) {
  cel::Type type = cel::Type::Map(cel::Type::String(), element->type());
  return SchemaReader::Make(Shape::kMap, std::move(type), std::move(element), max_properties, 2);
}

DeclTypePtr DeclType::MapOf(DeclTypePtr element, int64_t max_properties, int64_t max_key_length, bool named_entries) {
  auto map = std::make_shared<DeclType>(*Map(std::move(element), max_properties));
  map->max_key_length_ = max_key_length;
  map->named_entries_ = named_entries;
  return map;
}

DeclTypePtr DeclType::Named(std::string_view name) const { return SchemaReader::Named(*this, std::string(name)); }

const DeclType::Field* DeclType::FindField(std::string_view name) const {
  auto found = std::lower_bound(fields_.begin(), fields_.end(), name,
                                [](const Field& field, std::string_view wanted) { return field.name < wanted; });
  if (found != fields_.end() && found->name == name) return &*found;
  static const Field any{"", "", Of(cel::Type::Dyn())};
  return open_ ? &any : nullptr;
}

const DeclType::Field* DeclType::FindJsonField(std::string_view json_name) const {
  for (const Field& field : fields_) {
    if (field.json_name == json_name) return &field;
  }
  return nullptr;
}

std::optional<std::string> EscapeIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  if (IsReservedWord(name)) return "__" + std::string(name) + "__";
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') {
      out += c;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace homeostat::cel
