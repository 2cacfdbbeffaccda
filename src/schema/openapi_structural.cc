#include "schema/internal/openapi_structural.h"

#include <algorithm>

#include "homeostat/schema/conditions.h"
#include "schema/internal/tree_builder.h"

namespace homeostat::schema::internal {

using object::Arena;
using object::Member;
using object::Value;

namespace {

// The first words are what Kubernetes' conformance tests look for.
constexpr std::string_view kApiVersionText = "APIVersion defines the group and version of the form that this object is written in.";
constexpr std::string_view kKindText = "Names what this object is, in CamelCase.";
constexpr std::string_view kMetadataText = "Standard object's metadata: names, labels, owners and the like.";

class Publisher {
 public:
  Publisher(Arena& arena, OpenApiVersion version, std::vector<const Type*>* referenced)
      : arena_(arena), tree_(arena), v3_(version == OpenApiVersion::kV3), referenced_(referenced) {}

  Value Root(const Type& type) {
    const Value& schema = type.condition->schema;
    bool open = !v3_ && type.preserve_unknown_fields;
    // More would make kubectl refuse everything else.
    if (!schema || open) return tree_.Object({{"type", tree_.Text("object")}});
    metadata_ = type.FindField("metadata")->type;
    return WithResourceFields(Part(schema, false), false);
  }

 private:
  // A part of a schema; `nested`: within a junctor, where nothing is unfolded.
  Value Part(const Value& schema, bool nested) {
    object::ObjectBuilder result(arena_);
    for (const Member& member : schema.members()) {
      Value value = member.value;
      if (value.IsNull()) continue;
      if (member.name() == "properties") value = Properties(value, nested);
      else if (member.name() == "items" || member.name() == "additionalProperties" || member.name() == "not") {
        if (value.IsObject()) value = Part(value, nested || member.name() == "not");
      } else if (member.name() == "allOf" || member.name() == "anyOf" || member.name() == "oneOf") {
        value = Alternatives(value);
      }
      result.Append(member.name(), value);
    }
    if (nested) return result.Build();
    if (schema.Get("x-kubernetes-int-or-string").AsBool()) Unfold(schema, result);
    if (!v3_) Simplify(schema, result);
    Value part = result.Build();
    bool embedded = schema.Get("x-kubernetes-embedded-resource").AsBool();
    bool open = !v3_ && schema.Get("x-kubernetes-preserve-unknown-fields").AsBool();
    return embedded && !open ? WithResourceFields(part, true) : part;
  }

  Value Properties(const Value& properties, bool nested) {
    object::ObjectBuilder result(arena_);
    for (const Member& property : properties.members()) result.Append(property.name(), Part(property.value, nested));
    return result.Build();
  }

  Value Alternatives(const Value& list) {
    object::ListBuilder result(arena_);
    for (const Value& item : list.items()) result.Append(Part(item, true));
    return result.Build();
  }

  Value IntOrString() {
    return tree_.List({tree_.Object({{"type", tree_.Text("integer")}}), tree_.Object({{"type", tree_.Text("string")}})});
  }

  static bool IsPair(const Value& any_of) {
    auto bare = [](const Value& one, std::string_view type) { return one.size() == 1 && one.Get("type").AsString() == type; };
    return any_of.size() == 2 && bare(any_of.At(0), "integer") && bare(any_of.At(1), "string");
  }

  // What takes numbers and texts says so in a way that everybody understands.
  void Unfold(const Value& schema, object::ObjectBuilder& result) {
    Value any_of = schema.Get("anyOf"), all_of = schema.Get("allOf");
    if (IsPair(any_of) || IsPair(all_of.At(0).Get("anyOf"))) return;
    if (any_of.empty()) {
      result.Set("anyOf", IntOrString());
      return;
    }
    object::ListBuilder all(arena_);
    all.Append(tree_.Object({{"anyOf", IntOrString()}}));
    for (const Value& item : result.Get("allOf").items()) all.Append(item);
    result.Set("allOf", all.Build());
  }

  // Version 2 has neither junctors nor null nor defaults, and old kubectl trips over some combinations.
  void Simplify(const Value& schema, object::ObjectBuilder& result) {
    for (std::string_view part : {"allOf", "anyOf", "oneOf", "not", "default"}) result.Erase(part);
    bool nullable = schema.Get("nullable").AsBool(), open = schema.Get("x-kubernetes-preserve-unknown-fields").AsBool();
    if (nullable) {
      result.Erase("nullable");
      result.Erase("type");
    }
    if (nullable || open) {
      result.Erase("items");
      result.Erase("properties");
    }
    std::string_view type = result.Get("type").AsString();
    if ((type == "array" && !result.Get("items")) || (open && type == "object")) result.Erase("type");
    object::ListBuilder required(arena_);
    for (const Value& name : schema.Get("required").items()) {
      if (!schema.Get("properties").Get(name.AsString()).Get("nullable").AsBool()) required.Append(name);
    }
    if (schema.Get("additionalProperties").Get("nullable").AsBool()) required.items().clear();
    if (schema.Get("required")) required.empty() ? result.Erase("required") : result.Set("required", required.Build());
  }

  Value WithResourceFields(const Value& part, bool required) {
    object::ObjectBuilder properties(arena_, part.Get("properties"));
    auto text = [&](std::string_view description) {
      return tree_.Object({{"description", tree_.Text(description)}, {"type", tree_.Text("string")}});
    };
    properties.Set("apiVersion", text(kApiVersionText));
    properties.Set("kind", text(kKindText));
    properties.Set("metadata", Metadata());
    object::ObjectBuilder result(arena_, part);
    result.Set("properties", properties.Build());
    if (!required) return result.Build();
    object::ListBuilder names(arena_, part.Get("required"));
    for (std::string_view name : {"kind", "apiVersion"}) {
      bool listed = std::any_of(names.items().begin(), names.items().end(), [&](const Value& item) { return item.AsString() == name; });
      if (!listed) names.Append(Value::StringRef(name));
    }
    result.Set("required", names.Build());
    return result.Build();
  }

  Value Metadata() {
    if (referenced_ != nullptr) referenced_->push_back(metadata_);
    std::string target = std::string(v3_ ? "#/components/schemas/" : "#/definitions/") + std::string(metadata_->name);
    Value reference = tree_.Object({{"$ref", tree_.Text(target)}}), description = tree_.Text(kMetadataText);
    if (v3_) return tree_.Object({{"description", description}, {"allOf", tree_.List({reference})}});
    return tree_.Object({{"description", description}, {"$ref", tree_.Text(target)}});
  }

  Arena& arena_;
  TreeBuilder tree_;
  const bool v3_;
  std::vector<const Type*>* referenced_;
  const Type* metadata_ = nullptr;
};

}  // namespace

Value StructuralDefinition(Arena& arena, const Type& type, OpenApiVersion version, std::vector<const Type*>* referenced) {
  return Publisher(arena, version, referenced).Root(type);
}

}  // namespace homeostat::schema::internal
