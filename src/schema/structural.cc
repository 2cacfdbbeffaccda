#include "homeostat/schema/structural.h"

#include <algorithm>
#include <new>
#include <unordered_map>

#include "homeostat/object/json.h"
#include "schema/internal/pattern.h"

namespace homeostat::schema {

using object::Member;
using object::Value;

namespace {

// Schemas nest no deeper than this; what is below takes any value. Far more than objects that are stored have.
constexpr int kMaxSchemaDepth = 200;

// The parts of a schema that are schemas themselves, wherever they stand.
template <class Visit>
bool VisitParts(const Value& schema, Visit visit) {
  for (std::string_view one : {"items", "additionalProperties", "additionalItems", "not"}) {
    Value part = schema.Get(one);
    if (part.IsObject() && visit(part)) return true;
    for (const Value& item : part.items()) {
      if (visit(item)) return true;
    }
  }
  for (std::string_view list : {"allOf", "anyOf", "oneOf"}) {
    for (const Value& item : schema.Get(list).items()) {
      if (visit(item)) return true;
    }
  }
  for (std::string_view map : {"properties", "patternProperties", "definitions", "dependencies"}) {
    for (const Member& member : schema.Get(map).members()) {
      if (member.value.IsObject() && visit(member.value)) return true;
    }
  }
  return false;
}

std::vector<Member> SortedMembers(const Value& object) {
  std::vector<Member> members(object.members().begin(), object.members().end());
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name() < b.name(); });
  return members;
}

uint8_t KindBitOf(std::string_view type) {
  if (type == "boolean") return kBooleanKind;
  if (type == "integer") return kIntegerKind;
  if (type == "number") return kNumberKind;
  if (type == "string") return kStringKind;
  if (type == "array") return kArrayKind;
  if (type == "object") return kObjectKind;
  return kUnknownKind;
}

}  // namespace

bool AnySchema(const Value& schema, const std::function<bool(const Value&)>& visit) {
  if (!schema.IsObject()) return false;
  if (visit(schema)) return true;
  return VisitParts(schema, [&](const Value& part) { return AnySchema(part, visit); });
}

// Makes types and conditions in the schema's arena.
class StructuralCompiler {
 public:
  StructuralCompiler(StructuralSchema& result, const StructuralOptions& options)
      : result_(result), arena_(result.arena_), options_(options) {}

  const Type* Root(const Value& schema) {
    Type* root = New<Type>();
    root->form = Form::kStruct;
    root->structural = true;
    root->name = options_.name;
    root->go_name = options_.go_name;
    root->preserve_unknown_fields =
        options_.preserve_unknown_fields || !schema || schema.Get("x-kubernetes-preserve-unknown-fields").AsBool();
    const Condition* condition = MakeCondition(schema, 0);
    root->condition = condition;
    root->constraints = &condition->limits;
    SetFields(*root, schema, true, 0);
    SetAdditional(*root, schema, 0);
    return root;
  }

 private:
  template <class T>
  T* New() {
    return new (arena_.Allocate(sizeof(T), alignof(T))) T();
  }
  template <class T>
  std::span<const T> Copy(const std::vector<T>& items) {
    if (items.empty()) return {};
    T* copy = arena_.AllocateArray<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), copy);
    return {copy, items.size()};
  }
  std::span<const std::string_view> Texts(const Value& list) {
    std::vector<std::string_view> texts;
    for (const Value& item : list.items()) texts.push_back(item.AsString());
    return Copy(texts);
  }
  std::span<const Value> Values(const Value& list) {
    return list.IsList() ? list.items() : std::span<const Value>();
  }

  // The type of values of a schema below the root.
  const Type* MakeType(const Value& schema, int depth) {
    Type* type = New<Type>();
    const Condition* condition = MakeCondition(schema, depth);
    type->structural = true;
    type->condition = condition;
    type->constraints = &condition->limits;
    std::string_view name = schema.Get("type").AsString();
    bool preserve = schema.Get("x-kubernetes-preserve-unknown-fields").AsBool();
    type->preserve_unknown_fields = preserve;
    type->embedded_resource = schema.Get("x-kubernetes-embedded-resource").AsBool();
    if (schema.Get("x-kubernetes-int-or-string").AsBool()) {
      type->form = Form::kIntOrString;
    } else if (name == "string") {
      type->form = Form::kString;
    } else if (name == "boolean") {
      type->form = Form::kBool;
    } else if (name == "integer") {
      type->form = Form::kInt64;
    } else if (name == "number") {
      type->form = Form::kDouble;
    } else if (name == "array") {
      MakeList(*type, schema, depth);
    } else {
      MakeObject(*type, schema, name, depth);
    }
    return type;
  }

  void MakeList(Type& type, const Value& schema, int depth) {
    type.form = Form::kList;
    Value items = schema.Get("items");
    if (items.IsObject() && depth < kMaxSchemaDepth) {
      type.element = MakeType(items, depth + 1);
      type.element_nullable = items.Get("nullable").AsBool();
      SetElementDefault(type, items);
    }
    std::string_view list_type = schema.Get("x-kubernetes-list-type").AsString();
    type.list_type_declared = !list_type.empty();
    if (list_type == "set") type.list_type = ListType::kSet;
    if (list_type == "map") type.list_type = ListType::kMap;
    type.list_map_keys = Texts(schema.Get("x-kubernetes-list-map-keys"));
  }

  void MakeObject(Type& type, const Value& schema, std::string_view name, int depth) {
    std::string_view map_type = schema.Get("x-kubernetes-map-type").AsString();
    type.atomic = map_type == "atomic";
    type.list_type_declared = !map_type.empty();
    Value properties = schema.Get("properties");
    bool anything = name.empty() && properties.empty() && !type.embedded_resource && !schema.Get("additionalProperties");
    if (anything || depth >= kMaxSchemaDepth) {
      type.form = Form::kJson;
      type.preserve_unknown_fields = true;
      return;
    }
    type.form = Form::kStruct;
    SetFields(type, schema, type.embedded_resource, depth);
    SetAdditional(type, schema, depth);
    if (type.fields.empty() && type.element != nullptr) type.form = Form::kMap;
  }

  void SetElementDefault(Type& type, const Value& element) {
    if (Value fallback = element.Get("default"); fallback && !type.element_nullable) type.element_default_json = arena_.Copy(object::JsonText(fallback));
  }

  // additionalProperties without a schema keeps members, but nothing within them.
  void SetAdditional(Type& type, const Value& schema, int depth) {
    Value additional = schema.Get("additionalProperties");
    if (additional.IsAbsent() || additional.IsNull() || depth >= kMaxSchemaDepth) return;
    if (additional.IsObject()) {
      type.element = MakeType(additional, depth + 1);
      type.element_nullable = additional.Get("nullable").AsBool();
      SetElementDefault(type, additional);
      return;
    }
    Type* emptied = New<Type>();
    emptied->form = Form::kStruct;
    emptied->structural = true;
    type.element = emptied;
    type.element_nullable = true;
  }

  // Fields in order of names; of a resource kind, apiVersion and metadata come first.
  void SetFields(Type& type, const Value& schema, bool resource, int depth) {
    std::vector<Field> fields;
    Value properties = schema.Get("properties");
    if (resource) {
      for (std::string_view name : {"kind", "apiVersion"}) {
        Value property = properties.Get(name);
        fields.push_back(NewField(name, property.IsObject() ? MakeType(property, depth + 1) : &ScalarText(), property));
      }
      fields.push_back(NewField("metadata", options_.object_meta, properties.Get("metadata")));
      fields.back().default_json = {};
      fields.back().flags &= ~kNullable;
    }
    std::vector<std::string_view> required;
    for (const Value& name : schema.Get("required").items()) required.push_back(name.AsString());
    for (const Member& member : SortedMembers(properties)) {
      if (resource && (member.name() == "kind" || member.name() == "apiVersion" || member.name() == "metadata")) continue;
      if (fields.size() >= object::kNoField) break;
      fields.push_back(NewField(member.name(), MakeType(member.value, depth + 1), member.value));
      if (std::find(required.begin(), required.end(), member.name()) != required.end()) fields.back().flags |= kRequired;
    }
    type.fields = Copy(fields);
    std::vector<uint16_t> by_name(fields.size());
    for (size_t i = 0; i < by_name.size(); ++i) by_name[i] = static_cast<uint16_t>(i);
    std::sort(by_name.begin(), by_name.end(), [&](uint16_t a, uint16_t b) { return fields[a].name < fields[b].name; });
    type.by_name = Copy(by_name);
  }

  Field NewField(std::string_view name, const Type* type, const Value& schema) {
    Field field;
    field.name = field.proto_name = name;
    field.type = type;
    field.flags = kPointer | kOmitEmpty;
    if (schema.Get("nullable").AsBool()) field.flags |= kNullable;
    if (Value fallback = schema.Get("default"); fallback) field.default_json = arena_.Copy(object::JsonText(fallback));
    field.documentation = schema.Get("description").AsString();
    return field;
  }

  static const Type& ScalarText() {
    static constexpr Type kText{.form = Form::kString, .structural = true};
    return kText;
  }

  // Made once for each schema: the root's reaches all below it, which types then share.
  // nested: within an alternative.
  const Condition* MakeCondition(const Value& schema, int depth, bool nested = false) {
    if (schema.empty()) return NewCondition(schema, depth, nested);
    const void* identity = schema.members().data();
    if (auto made = conditions_.find(identity); made != conditions_.end()) return made->second;
    const Condition* condition = NewCondition(schema, depth, nested);
    conditions_[identity] = condition;
    return condition;
  }

  const Condition* NewCondition(const Value& schema, int depth, bool nested) {
    Condition* condition = New<Condition>();
    condition->schema = schema;
    if (!schema || depth >= kMaxSchemaDepth) return condition;
    SetKinds(*condition, schema);
    SetLimits(condition->limits, schema);
    condition->caps_length = schema.Get("maxLength").IsInt();
    condition->caps_items = schema.Get("maxItems").IsInt();
    condition->caps_properties = schema.Get("maxProperties").IsInt();
    if (!condition->limits.pattern.empty()) {
      result_.patterns_.push_back(std::make_unique<const Pattern>(condition->limits.pattern));
      condition->pattern = result_.patterns_.back().get();
    }
    condition->enums = Values(schema.Get("enum"));
    condition->required = Texts(schema.Get("required"));
    condition->rules = Values(schema.Get("x-kubernetes-validations"));
    std::vector<PropertyCondition> properties;
    for (const Member& member : SortedMembers(schema.Get("properties"))) {
      properties.push_back({member.name(), MakeCondition(member.value, depth + 1, nested)});
    }
    condition->properties = Copy(properties);
    Value additional = schema.Get("additionalProperties"), items = schema.Get("items"), none = schema.Get("not");
    if (nested && options_.for_defaults) additional = Value();
    if (additional.IsObject()) condition->additional = MakeCondition(additional, depth + 1, nested);
    condition->forbids_additional = additional.IsBool() && !additional.AsBool();
    if (items.IsObject()) condition->items = MakeCondition(items, depth + 1, nested);
    condition->all_of = Alternatives(schema.Get("allOf"), depth);
    condition->any_of = Alternatives(schema.Get("anyOf"), depth);
    condition->one_of = Alternatives(schema.Get("oneOf"), depth);
    if (none.IsObject()) condition->none_of = MakeCondition(none, depth + 1, true);
    return condition;
  }

  std::span<const Condition* const> Alternatives(const Value& list, int depth) {
    std::vector<const Condition*> conditions;
    for (const Value& item : list.items()) conditions.push_back(MakeCondition(item, depth + 1, true));
    return Copy(conditions);
  }

  void SetKinds(Condition& condition, const Value& schema) const {
    std::string_view type = schema.Get("type").AsString(), format = schema.Get("format").AsString();
    condition.nullable = schema.Get("nullable").AsBool();
    condition.kind_text = type;
    if (!type.empty()) condition.kinds = KindBitOf(type);
    if (schema.Get("x-kubernetes-int-or-string").AsBool() && !options_.for_defaults) {
      condition.kinds = kIntegerKind | kStringKind;
      condition.kind_text = "integer,string";
      type = {};
    }
    if (options_.for_defaults || IsKnownFormat(type, format)) condition.format = format;
    condition.format_of_texts = IsKnownFormat("string", condition.format);
  }

  static void SetLimits(Constraints& limits, const Value& schema) {
    auto number = [&](std::string_view name, bool& has, double& limit) {
      Value value = schema.Get(name);
      has = value.IsNumber();
      limit = value.AsDouble();
    };
    auto count = [&](std::string_view name, int64_t& limit) {
      if (Value value = schema.Get(name); value.IsInt()) limit = value.AsInt();
    };
    number("minimum", limits.has_minimum, limits.minimum);
    number("maximum", limits.has_maximum, limits.maximum);
    limits.exclusive_minimum = schema.Get("exclusiveMinimum").AsBool();
    limits.exclusive_maximum = schema.Get("exclusiveMaximum").AsBool();
    limits.multiple_of = schema.Get("multipleOf").AsDouble();
    count("minLength", limits.min_length);
    count("maxLength", limits.max_length);
    count("minItems", limits.min_items);
    count("maxItems", limits.max_items);
    count("minProperties", limits.min_properties);
    count("maxProperties", limits.max_properties);
    limits.unique_items = schema.Get("uniqueItems").AsBool();
    limits.pattern = schema.Get("pattern").AsString();
    limits.format = schema.Get("format").AsString();
  }

  StructuralSchema& result_;
  object::Arena& arena_;
  const StructuralOptions& options_;
  std::unordered_map<const void*, const Condition*> conditions_;  // by the members of their schemas
};

StructuralSchema::StructuralSchema() = default;
StructuralSchema::~StructuralSchema() = default;

std::shared_ptr<const StructuralSchema> StructuralSchema::Compile(const Value& schema, std::shared_ptr<const void> owner,
                                                                  const StructuralOptions& options) {
  std::shared_ptr<StructuralSchema> result(new StructuralSchema());
  result->owner_ = std::move(owner);
  result->type_ = StructuralCompiler(*result, options).Root(schema);
  return result;
}

}  // namespace homeostat::schema
