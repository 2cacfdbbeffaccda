#include <algorithm>
#include <set>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/base/text.h"
#include "kinds/apiextensions/schema_rules.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

using object::Member;

bool HasNewline(std::string_view text) { return text.find_first_of("\n\r") != text.npos; }
bool IsSet(const Value& value) { return !value.IsAbsent() && !value.IsNull(); }

// Where a part stands: what is allowed there depends on what it is inside of.
struct Place {
  bool allow_defaults = true;
  std::string no_defaults_reason;
  bool in_metadata = false;
};

class Parts {
 public:
  Parts(const SchemaRuleOptions& options, FieldErrors& errors) : options_(options), errors_(errors) {}

  void Check(const Value& schema, bool root, const Place& place, const FieldPath& path) {
    if (!schema.IsObject()) return;
    const size_t before = errors_.size();
    Supported(schema, place, path);
    if (schema.Get("uniqueItems").AsBool()) {
      errors_.Forbidden(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    Members(schema, root, place, path);
    Junctors(schema, place, path);
    Value items = schema.Get("items");
    if (items.IsObject()) Check(items, false, place, path.Child("items"));
    for (size_t i = 0; items.IsList() && i < items.size(); ++i) Check(items.At(i), false, place, path.Child("items").Index(i));
    for (const Member& dependency : schema.Get("dependencies").members()) {
      Check(dependency.value, false, place, path.Child("dependencies").Key(dependency.name()));
    }
    Value preserve = schema.Get("x-kubernetes-preserve-unknown-fields");
    if (preserve.IsBool() && !preserve.AsBool()) {
      errors_.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    }
    MapType(schema, path);
    ListType(schema, path);
    MapKeys(schema, path);
    if (options_.require_map_keys) CheckFixedKeys(schema, path, errors_);
    Rules(schema, path);
    if (errors_.size() > before) faulty_.insert(path.String());
  }

  std::set<std::string> TakeFaulty() { return std::move(faulty_); }

 private:
  void Supported(const Value& schema, const Place& place, const FieldPath& path) {
    std::string_view type = schema.Get("type").AsString();
    if (options_.require_known_types) CheckKnownType(schema, path, errors_);
    if (IsSet(schema.Get("default")) && !place.allow_defaults) {
      std::string detail = "must not be set";
      if (!place.no_defaults_reason.empty()) detail += " " + place.no_defaults_reason;
      errors_.Forbidden(path.Child("default"), detail);
    }
    auto forbid = [&](std::string_view part, bool present) {
      if (present) errors_.Forbidden(path.Child(part), std::string(part) + " is not supported");
    };
    forbid("id", !schema.Get("id").AsString().empty());
    forbid("additionalItems", IsSet(schema.Get("additionalItems")));
    forbid("patternProperties", !schema.Get("patternProperties").empty());
    forbid("definitions", !schema.Get("definitions").empty());
    forbid("dependencies", !schema.Get("dependencies").empty());
    forbid("$ref", IsSet(schema.Get("$ref")));
    if (type == "null") errors_.Forbidden(path.Child("type"), "type cannot be set to null, use nullable as an alternative");
    if (schema.Get("items").IsList() && !schema.Get("items").empty()) {
      errors_.Forbidden(path.Child("items"), "items must be a schema object and not an array");
    }
    if (place.in_metadata && schema.Get("x-kubernetes-embedded-resource").AsBool()) {
      errors_.Forbidden(path.Child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
    }
  }

  void Members(const Value& schema, bool root, const Place& place, const FieldPath& path) {
    Value additional = schema.Get("additionalProperties"), properties = schema.Get("properties");
    if (IsSet(additional)) {
      bool anything = additional.IsBool() && additional.AsBool();
      if (!properties.empty() && !anything) {
        errors_.Forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive");
      }
      Place below = place;
      if (place.in_metadata) {
        below.allow_defaults = false;
        below.no_defaults_reason = "inside additionalProperties applying to object metadata";
      }
      Check(additional, false, below, path.Child("additionalProperties"));
    }
    bool resource = root || schema.Get("x-kubernetes-embedded-resource").AsBool();
    for (const Member& property : properties.members()) {
      Place below = place;
      if (resource && IsOneOf(property.name(), {"metadata", "kind", "apiVersion"})) {
        below.in_metadata = true;
        if (root) {
          below.allow_defaults = false;
          below.no_defaults_reason = "in top-level " + std::string(property.name());
        }
      }
      Check(property.value, false, below, path.Child("properties").Key(property.name()));
    }
  }

  void Junctors(const Value& schema, const Place& place, const FieldPath& path) {
    Check(schema.Get("not"), false, place, path.Child("not"));
    for (std::string_view junctor : {"allOf", "oneOf", "anyOf"}) {
      Value list = schema.Get(junctor);
      for (size_t i = 0; i < list.size(); ++i) Check(list.At(i), false, place, path.Child(junctor).Index(i));
    }
    for (const Member& definition : schema.Get("definitions").members()) {
      Check(definition.value, false, place, path.Child("definitions").Key(definition.name()));
    }
  }

  // The type that an extension asks for.
  void WantType(const Value& schema, std::string_view wanted, std::string_view extension, const FieldPath& path) {
    std::string_view type = schema.Get("type").AsString();
    std::string detail = "must be " + std::string(wanted) + " if " + std::string(extension) + " is specified";
    if (type.empty()) errors_.Required(path.Child("type"), detail);
    else if (type != wanted) errors_.Invalid(path.Child("type"), type, detail);
  }

  void MapType(const Value& schema, const FieldPath& path) {
    Value map_type = schema.Get("x-kubernetes-map-type");
    if (!IsSet(map_type)) return;
    WantType(schema, "object", "x-kubernetes-map-type", path);
    if (!IsOneOf(map_type.AsString(), {"atomic", "granular"})) {
      errors_.NotSupportedText(path.Child("x-kubernetes-map-type"), map_type.AsString(), {"atomic", "granular"});
    }
  }

  void ListType(const Value& schema, const FieldPath& path) {
    Value list_type = schema.Get("x-kubernetes-list-type");
    if (!IsSet(list_type)) return;
    if (schema.Get("type").AsString() != "array") {
      WantType(schema, "array", "x-kubernetes-list-type", path);
    } else if (options_.require_atomic_sets) {
      CheckAtomicItems(schema, path, errors_);
    }
    if (!IsOneOf(list_type.AsString(), {"atomic", "set", "map"})) {
      errors_.NotSupportedText(path.Child("x-kubernetes-list-type"), list_type.AsString(), {"atomic", "set", "map"});
    }
  }

  void MapKeys(const Value& schema, const FieldPath& path) {
    Value list_type = schema.Get("x-kubernetes-list-type"), keys = schema.Get("x-kubernetes-list-map-keys"), items = schema.Get("items");
    constexpr std::string_view kWithKeys = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (!keys.empty() && !IsSet(list_type)) errors_.Required(path.Child("x-kubernetes-list-type"), kWithKeys);
    if (!keys.empty() && IsSet(list_type) && list_type.AsString() != "map") {
      errors_.Invalid(path.Child("x-kubernetes-list-type"), list_type.AsString(), kWithKeys);
    }
    if (list_type.AsString() != "map") return;
    if (keys.empty()) errors_.Required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map");
    if (!IsSet(items)) {
      return errors_.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map");
    }
    if (!items.IsObject()) {
      const schema::Type& type = *api::apiextensions::v1::JSONSchemaProps::SchemaType().FindField("items")->type;
      return errors_.Invalid(path.Child("items"), InternalValue(type, items), "must only have a single schema if x-kubernetes-list-type is map");
    }
    std::string_view type = items.Get("type").AsString();
    if (type != "object") {
      return errors_.Invalid(path.Child("items", "type"), type, "must be object if parent array's x-kubernetes-list-type is map");
    }
    std::set<std::string_view> seen;
    for (const Value& key : keys.items()) {
      const Member* property = items.Get("properties").Find(key.AsString());
      if (property == nullptr) {
        errors_.Invalid(path.Child("x-kubernetes-list-map-keys"), keys, "entries must all be names of item properties");
      } else if (IsOneOf(property->value.Get("type").AsString(), {"array", "object"})) {
        errors_.Invalid(path.Child("items", "properties").Key(key.AsString()).Child("type"), type,
                        "must be a scalar type if parent array's x-kubernetes-list-type is map");
      }
      if (!seen.insert(key.AsString()).second) {
        errors_.Invalid(path.Child("x-kubernetes-list-map-keys"), keys, "must not contain duplicate entries");
      }
    }
  }

  // Everything of x-kubernetes-validations but the expressions themselves.
  void Rules(const Value& schema, const FieldPath& path) {
    Value rules = schema.Get("x-kubernetes-validations");
    for (size_t i = 0; i < rules.size(); ++i) Rule(schema, rules.At(i), path.Child("x-kubernetes-validations").Index(i));
  }

  void Rule(const Value& schema, const Value& rule, const FieldPath& path) {
    std::string_view text = rule.Get("rule").AsString(), message = rule.Get("message").AsString();
    std::string_view field = rule.Get("fieldPath").AsString(), expression = rule.Get("messageExpression").AsString();
    if (TrimSpace(text).empty()) {
      errors_.Required(path.Child("rule"), "rule is not specified");
    } else if (!message.empty() && TrimSpace(message).empty()) {
      errors_.Invalid(path.Child("message"), message, "must be non-empty if specified");
    } else if (HasNewline(TrimSpace(message))) {
      errors_.Invalid(path.Child("message"), message, "must not contain line breaks");
    } else if (HasNewline(TrimSpace(text)) && TrimSpace(message).empty()) {
      errors_.Required(path.Child("message"), "message must be specified if rule contains line breaks");
    }
    if (!expression.empty() && TrimSpace(expression).empty()) {
      errors_.Required(path.Child("messageExpression"), "messageExpression must be non-empty if specified");
    }
    Value reason = rule.Get("reason");
    if (IsSet(reason)) {
      CheckOneOf(reason.AsString(), {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"},
                 path.Child("reason"), errors_);
    }
    if (field.empty()) return;
    if (TrimSpace(field).empty()) errors_.Invalid(path.Child("fieldPath"), field, "must be non-empty if specified");
    if (HasNewline(field)) errors_.Invalid(path.Child("fieldPath"), field, "must not contain line breaks");
    // In a schema that can't be structural upstream finds no path to be wrong.
    if (UnsupportedPart(schema).empty() && !FollowSchemaPath(field, schema, true).fault.empty()) errors_.Invalid(path.Child("fieldPath"), field, "must be a valid path");
  }

  const SchemaRuleOptions& options_;
  FieldErrors& errors_;
  std::set<std::string> faulty_;
};

}  // namespace

void CheckKnownType(const Value& part, const FieldPath& path, FieldErrors& errors) {
  static const std::initializer_list<std::string_view> kTypes = {"array", "boolean", "integer", "number", "object", "string"};
  std::string_view type = part.Get("type").AsString();
  if (!type.empty() && !IsOneOf(type, kTypes)) errors.NotSupportedText(path.Child("type"), type, kTypes);
}

// Items of sets are compared whole.
void CheckAtomicItems(const Value& part, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kAtomic = "must be atomic as item of a list with x-kubernetes-list-type=set";
  Value items = part.Get("items");
  if (part.Get("x-kubernetes-list-type").AsString() != "set" || !items.IsObject()) return;
  std::string_view type = items.Get("type").AsString();
  Value inner = items.Get("x-kubernetes-list-type");
  BadValue shown = IsSet(inner) ? BadValue(inner.AsString()) : BadValue::Null();
  if (type == "array" && IsSet(inner) && inner.AsString() != "atomic") {
    errors.Invalid(path.Child("items", "x-kubernetes-list-type"), shown, kAtomic);
  }
  if (type == "object" && items.Get("x-kubernetes-map-type").AsString() != "atomic") {
    errors.Invalid(path.Child("items", "x-kubernetes-map-type"), shown, kAtomic);
  }
}

// Every item of a map has its keys.
void CheckFixedKeys(const Value& part, const FieldPath& path, FieldErrors& errors) {
  Value items = part.Get("items");
  std::string_view list_type = part.Get("x-kubernetes-list-type").AsString();
  if (!items.IsObject() || !IsOneOf(list_type, {"set", "map"})) return;
  if (items.Get("nullable").AsBool()) {
    errors.Forbidden(path.Child("items", "nullable"), "cannot be nullable when x-kubernetes-list-type is " + std::string(list_type));
  }
  if (list_type != "map") return;
  Value required = items.Get("required");
  for (const Value& key : part.Get("x-kubernetes-list-map-keys").items()) {
    const Member* property = items.Get("properties").Find(key.AsString());
    if (property == nullptr) continue;
    FieldPath at = path.Child("items", "properties").Key(key.AsString());
    bool is_required = std::ranges::any_of(required.items(), [&](const Value& name) { return name.AsString() == key.AsString(); });
    if (!is_required && !IsSet(property->value.Get("default"))) {
      errors.Required(at.Child("default"),
                       "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
    }
    if (property->value.Get("nullable").AsBool()) {
      errors.Forbidden(at.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }
}

std::set<std::string> CheckSchemaParts(const Value& schema, const SchemaRuleOptions& options, const FieldPath& path, FieldErrors& errors) {
  Parts parts(options, errors);
  parts.Check(schema, true, Place(), path);
  return parts.TakeFaulty();
}

}  // namespace homeostat::kinds
