// Built-in types as OpenAPI definitions; those of custom resources are openapi_structural.cc's.
#include <algorithm>

#include "homeostat/object/json.h"
#include "schema/internal/openapi_structural.h"
#include "schema/internal/presence.h"
#include "schema/internal/tree_builder.h"
#include "schema/openapi.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;

namespace {

class DefinitionBuilder {
 public:
  DefinitionBuilder(Arena& arena, OpenApiVersion version, bool enums, std::vector<const Type*>* referenced)
      : tree_(arena), version_(version), enums_(enums), referenced_(referenced) {}

  Value Definition(const Type& type) {
    std::vector<Member> members;
    AddDescription(type.documentation, members);
    AddInline(type, members);
    return tree_.Object(members);
  }

 private:
  bool v3() const { return version_ == OpenApiVersion::kV3; }

  void AddDescription(std::string_view text, std::vector<Member>& members) {
    if (!text.empty()) members.emplace_back("description", tree_.Text(text));
  }

  void AddType(std::string_view type, std::string_view format, std::vector<Member>& members) {
    if (!format.empty()) members.emplace_back("format", tree_.Text(format));
    members.emplace_back("type", tree_.Text(type));
  }

  void AddOneOf(std::initializer_list<std::string_view> types, std::vector<Member>& members) {
    std::vector<Value> alternatives;
    for (std::string_view type : types) alternatives.push_back(tree_.Object({{"type", tree_.Text(type)}}));
    members.emplace_back("oneOf", tree_.List(alternatives));
  }

  // The schema of a type in place, whether or not it has a name.
  void AddInline(const Type& type, std::vector<Member>& members) {
    switch (type.form) {
      case Form::kBool:
        AddType("boolean", {}, members);
        break;
      case Form::kInt32:
        AddType("integer", "int32", members);
        break;
      case Form::kInt64:
      case Form::kUint32:
      case Form::kUint64:
        AddType("integer", "int64", members);
        break;
      case Form::kDouble:
        AddType("number", "double", members);
        break;
      case Form::kBytes:
        AddType("string", "byte", members);
        if (type.list_type_declared) members.emplace_back("x-kubernetes-list-type", tree_.Text("atomic"));
        break;
      case Form::kTime:
      case Form::kMicroTime:
        AddType("string", "date-time", members);
        break;
      case Form::kString:
      case Form::kDuration:
        AddType("string", type.constraints != nullptr ? type.constraints->format : std::string_view(), members);
        break;
      case Form::kQuantity:
        v3() ? AddOneOf({"string", "number"}, members) : AddType("string", {}, members);
        break;
      case Form::kIntOrString:
        AddIntOrString(members);
        break;
      case Form::kFieldsV1:
      case Form::kRawExtension:
        AddType("object", {}, members);
        break;
      case Form::kStruct:
        AddStruct(type, members);
        break;
      case Form::kList:
        AddList(type, members);
        break;
      case Form::kMap:
        AddType("object", {}, members);
        members.emplace_back("additionalProperties", ItemSchema(type));
        if (type.list_type_declared)
          members.emplace_back("x-kubernetes-map-type", tree_.Text(type.atomic ? "atomic" : "granular"));
        break;
      default:
        break;  // any JSON: nothing to say
    }
    AddEnum(type, members);
  }

  void AddIntOrString(std::vector<Member>& members) {
    if (v3()) {
      members.emplace_back("format", tree_.Text("int-or-string"));
      AddOneOf({"integer", "string"}, members);
    } else {
      AddType("string", "int-or-string", members);
    }
  }

  void AddStruct(const Type& type, std::vector<Member>& members) {
    members.emplace_back("type", tree_.Text("object"));
    std::vector<Member> properties;
    std::vector<Value> required;
    for (const Field& field : type.fields) {
      properties.emplace_back(field.name, FieldSchema(field));
      if (field.Has(kRequired)) required.push_back(Value::StringRef(field.name));
    }
    if (!properties.empty()) members.emplace_back("properties", tree_.Object(properties));
    if (!required.empty()) members.emplace_back("required", tree_.List(required));
    if (type.atomic) members.emplace_back("x-kubernetes-map-type", tree_.Text("atomic"));
    if (type.preserve_unknown_fields) members.emplace_back("x-kubernetes-preserve-unknown-fields", Value::Bool(true));
  }

  void AddList(const Type& type, std::vector<Member>& members) {
    members.emplace_back("type", tree_.Text("array"));
    members.emplace_back("items", ItemSchema(type));
    if (!type.list_type_declared) return;
    std::string_view name = type.list_type == ListType::kMap   ? "map"
                            : type.list_type == ListType::kSet ? "set"
                                                               : "atomic";
    members.emplace_back("x-kubernetes-list-type", tree_.Text(name));
    if (type.list_map_keys.empty()) return;
    std::vector<Value> keys;
    for (std::string_view key : type.list_map_keys) keys.push_back(Value::StringRef(key));
    members.emplace_back("x-kubernetes-list-map-keys", tree_.List(keys));
  }

  // Limits of built-in types are not published.
  void AddEnum(const Type& type, std::vector<Member>& members) {
    if (!enums_ || type.constraints == nullptr || type.constraints->enum_values.empty()) return;
    std::vector<Value> values;
    for (std::string_view value : type.constraints->enum_values) values.push_back(Value::StringRef(value));
    members.emplace_back("enum", tree_.List(values));
  }

  // Named lists and maps are written in place, as Go's named slices are.
  static bool IsReferenced(const Type& type) {
    return !type.name.empty() && type.form != Form::kList && type.form != Form::kMap;
  }

  Value Reference(const Type& type) {
    if (referenced_ != nullptr) referenced_->push_back(&type);
    std::string target(v3() ? "#/components/schemas/" : "#/definitions/");
    target += type.name;
    return tree_.Object({{"$ref", tree_.Text(target)}});
  }

  // The schema of a list's items or a map's values.
  Value ItemSchema(const Type& container) {
    const Type& element = ElementType(container);
    Value zero = v3() ? ZeroItem(element) : Value();
    if (IsReferenced(element)) {
      Value reference = Reference(element);
      if (zero.IsAbsent()) return reference;
      return tree_.Object({{"allOf", tree_.List({reference})}, {"default", zero}});
    }
    std::vector<Member> members;
    AddDescription(element.documentation, members);
    AddInline(element, members);
    if (!zero.IsAbsent()) members.emplace_back("default", zero);
    return tree_.Object(members);
  }

  // The zero value that is published as an item's default; absent where none is, as for custom resources in their list.
  static Value ZeroItem(const Type& element) {
    bool plain = !element.structural && (element.form <= Form::kString || element.form == Form::kStruct);
    return plain ? internal::ZeroElement(element) : Value();
  }

  Value FieldSchema(const Field& field) {
    std::vector<Member> siblings;
    AddDescription(field.documentation, siblings);
    if (v3()) AddDefault(field, siblings);
    AddPatchStrategy(field, siblings);
    if (!IsReferenced(*field.type)) {
      AddInline(*field.type, siblings);
      return tree_.Object(siblings);
    }
    // A field may say that it is merged although its type says otherwise.
    bool granular = field.type->form == Form::kStruct && field.type->list_type_declared && !field.type->atomic;
    if (granular) siblings.emplace_back("x-kubernetes-map-type", tree_.Text("granular"));
    Value reference = Reference(*field.type);
    if (siblings.empty()) return reference;
    if (v3()) {
      siblings.emplace_back("allOf", tree_.List({reference}));
    } else {
      siblings.push_back(reference.members()[0]);
    }
    return tree_.Object(siblings);
  }

  void AddDefault(const Field& field, std::vector<Member>& members) {
    if (field.openapi_default.empty()) return;
    auto value = object::ParseJson(tree_.arena(), field.openapi_default);
    if (value) members.emplace_back("default", *value);
  }

  void AddPatchStrategy(const Field& field, std::vector<Member>& members) {
    std::string strategy;
    auto add = [&](FieldFlag flag, std::string_view name) {
      if (field.Has(flag)) (strategy += strategy.empty() ? "" : ",") += name;
    };
    add(kPatchMerge, "merge");
    add(kPatchReplace, "replace");
    add(kRetainKeys, "retainKeys");
    if (!strategy.empty()) members.emplace_back("x-kubernetes-patch-strategy", tree_.Text(strategy));
    if (!field.merge_key.empty())
      members.emplace_back("x-kubernetes-patch-merge-key", Value::StringRef(field.merge_key));
  }

  internal::TreeBuilder tree_;
  const OpenApiVersion version_;
  const bool enums_;
  std::vector<const Type*>* referenced_;
};

}  // namespace

Value OpenApiDefinition(Arena& arena, const Type& type, OpenApiVersion version, bool enums,
                        std::vector<const Type*>* referenced) {
  if (type.condition != nullptr) return internal::StructuralDefinition(arena, type, version, referenced);
  return DefinitionBuilder(arena, version, enums, referenced).Definition(type);
}

}  // namespace homeostat::schema
