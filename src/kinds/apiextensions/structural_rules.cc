#include <algorithm>

#include "homeostat/base/text.h"
#include "kinds/apiextensions/schema_rules.h"

namespace homeostat::kinds {
namespace {

using object::Member;

enum class Level : uint8_t { kRoot, kItem, kField };

bool Has(const Value& schema, std::string_view part) { return schema.Get(part).AsBool(); }

// {type: TYPE} and nothing else.
bool IsBareType(const Value& schema, std::string_view type) {
  return schema.size() == 1 && schema.Get("type").AsString() == type;
}
bool IsIntOrStringPair(const Value& any_of) {
  return any_of.size() == 2 && IsBareType(any_of.At(0), "integer") && IsBareType(any_of.At(1), "string");
}

class Invariants {
 public:
  explicit Invariants(FieldErrors& errors) : errors_(errors) {}

  void Structural(const Value& schema, Level level, const FieldPath& path) {
    std::string_view type = schema.Get("type").AsString();
    Value items = schema.Get("items"), properties = schema.Get("properties"), additional = schema.Get("additionalProperties");
    if (type == "array" && !items) errors_.Required(path.Child("items"), "must be specified");
    if (items.IsObject()) Structural(items, Level::kItem, path.Child("items"));
    for (const Member& property : properties.members()) {
      Structural(property.value, Level::kField, path.Child("properties").Key(property.name()));
    }
    if (!additional.IsAbsent() && !additional.IsNull()) {
      if (level == Level::kRoot) errors_.Forbidden(path.Child("additionalProperties"), "must not be used at the root");
      if (additional.IsObject()) Structural(additional, Level::kField, path.Child("additionalProperties"));
    }
    Extensions(schema, path);
    Conditions(schema, IsIntOrStringPair(schema.Get("anyOf")), IsIntOrStringPair(schema.Get("allOf").At(0).Get("anyOf")), path);
    Typed(schema, type, level, path);
    Metadata(schema, level, path);
  }

 private:
  void Extensions(const Value& schema, const FieldPath& path) {
    if (!Has(schema, "x-kubernetes-int-or-string")) return;
    for (std::string_view other : {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"}) {
      if (Has(schema, other)) errors_.Invalid(path.Child(other), true, "must be false if x-kubernetes-int-or-string is true");
    }
  }

  void Typed(const Value& schema, std::string_view type, Level level, const FieldPath& path) {
    constexpr std::string_view kEmbedded = "must be object if x-kubernetes-embedded-resource is true";
    bool embedded = Has(schema, "x-kubernetes-embedded-resource"), preserves = Has(schema, "x-kubernetes-preserve-unknown-fields");
    if (embedded && type != "object") {
      if (type.empty()) errors_.Required(path.Child("type"), kEmbedded);
      else errors_.Invalid(path.Child("type"), type, kEmbedded);
    } else if (type.empty() && !Has(schema, "x-kubernetes-int-or-string") && !preserves) {
      errors_.Required(path.Child("type"), level == Level::kRoot   ? "must not be empty at the root"
                                           : level == Level::kItem ? "must not be empty for specified array items"
                                                                   : "must not be empty for specified object fields");
    }
    Value additional = schema.Get("additionalProperties");
    if (embedded && !additional.IsAbsent() && !additional.IsNull()) {
      errors_.Forbidden(path.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set");
    }
    if (level == Level::kRoot && !type.empty() && type != "object") errors_.Invalid(path.Child("type"), type, "must be object at the root");
  }

  // Of a resource, kind and apiVersion are texts, and of the root's metadata only names can be restricted.
  void Metadata(const Value& schema, Level level, const FieldPath& path) {
    bool embedded = Has(schema, "x-kubernetes-embedded-resource"), resource = level == Level::kRoot || embedded;
    Value properties = schema.Get("properties");
    for (std::string_view name : {"kind", "apiVersion"}) {
      const Member* property = properties.Find(name);
      if (property == nullptr || !resource) continue;
      std::string_view type = property->value.Get("type").AsString();
      if (type != "string") errors_.Invalid(path.Child("properties").Key(name).Child("type"), type, "must be string");
    }
    if (const Member* metadata = properties.Find("metadata")) {
      FieldPath below = path.Child("properties").Key("metadata");
      std::string_view type = metadata->value.Get("type").AsString();
      if (resource && type != "object") errors_.Invalid(below.Child("type"), type, "must be object");
      if (level == Level::kRoot && !IsNamesOnly(metadata->value)) {
        errors_.Forbidden(below, "must not specify anything other than name and generateName, but metadata is implicitly specified");
      }
    }
    if (embedded && !Has(schema, "x-kubernetes-preserve-unknown-fields") && properties.empty()) {
      errors_.Required(path.Child("properties"),
                       "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields");
    }
  }

  static bool IsNamesOnly(const Value& metadata) {
    return std::ranges::all_of(metadata.members(), [](const Member& member) {
      if (member.name() == "type" || member.name() == "default") return true;
      if (member.name() != "properties") return false;
      bool named = std::ranges::all_of(member.value.members(), [](const Member& property) {
        return property.name() == "name" || property.name() == "generateName";
      });
      return named;
    });
  }

  // What a schema asks of values: nested schemas in junctors.
  void Conditions(const Value& schema, bool skip_any_of, bool skip_first_any_of, const FieldPath& path) {
    Value any_of = schema.Get("anyOf"), all_of = schema.Get("allOf"), one_of = schema.Get("oneOf"), none = schema.Get("not");
    for (size_t i = 0; !skip_any_of && i < any_of.size(); ++i) Nested(any_of.At(i), false, path.Child("anyOf").Index(i));
    for (size_t i = 0; i < all_of.size(); ++i) Nested(all_of.At(i), skip_first_any_of && i == 0, path.Child("allOf").Index(i));
    for (size_t i = 0; i < one_of.size(); ++i) Nested(one_of.At(i), false, path.Child("oneOf").Index(i));
    if (none.IsObject()) Nested(none, false, path.Child("not"));
    std::string_view pattern = schema.Get("pattern").AsString();
    if (pattern.empty()) return;
    std::string fault = schema::PatternFault(pattern);
    if (!fault.empty()) errors_.Invalid(path.Child("pattern"), pattern, "must be a valid regular expression, but isn't: " + fault);
  }

  void Nested(const Value& schema, bool skip_any_of, const FieldPath& path) {
    Conditions(schema, skip_any_of, false, path);
    Value items = schema.Get("items"), properties = schema.Get("properties"), additional = schema.Get("additionalProperties");
    if (items.IsObject()) Nested(items, false, path.Child("items"));
    for (const Member& property : properties.members()) {
      Nested(property.value, false, path.Child("properties").Key(property.name()));
    }
    auto forbid = [&](std::string_view part, bool present, std::string_view what) {
      if (present) errors_.Forbidden(path.Child(part), "must be " + std::string(what) + " to be structural");
    };
    auto text = [&](std::string_view part) { return !schema.Get(part).AsString().empty(); };
    forbid("type", text("type"), "empty");
    forbid("additionalProperties", additional.IsObject() || additional.AsBool(), "undefined");
    forbid("default", static_cast<bool>(schema.Get("default")), "undefined");
    forbid("title", text("title"), "empty");
    forbid("description", text("description"), "empty");
    for (std::string_view part : {"nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
                                  "x-kubernetes-int-or-string"}) {
      forbid(part, Has(schema, part), "false");
    }
    forbid("x-kubernetes-list-map-keys", !schema.Get("x-kubernetes-list-map-keys").empty(), "empty");
    forbid("x-kubernetes-list-type", static_cast<bool>(schema.Get("x-kubernetes-list-type")), "undefined");
    forbid("x-kubernetes-map-type", static_cast<bool>(schema.Get("x-kubernetes-map-type")), "undefined");
    forbid("x-kubernetes-validations", !schema.Get("x-kubernetes-validations").empty(), "empty");
    if (properties.Find("metadata") != nullptr) {
      errors_.Forbidden(path.Child("properties").Key("metadata"), "must not be specified in a nested context");
    }
  }

  FieldErrors& errors_;
};

// What conditions speak of stands outside of them, too.
class Completeness {
 public:
  explicit Completeness(FieldErrors& errors) : errors_(errors) {}

  void Junctors(const Value& conditions, const Value& schema, const FieldPath& at, const FieldPath& from) {
    if (conditions.Get("not").IsObject()) Nested(conditions.Get("not"), schema, at, from.Child("not"));
    for (std::string_view junctor : {"allOf", "anyOf", "oneOf"}) {
      Value list = conditions.Get(junctor);
      for (size_t i = 0; i < list.size(); ++i) Nested(list.At(i), schema, at, from.Child(junctor).Index(i));
    }
  }

 private:
  void Nested(const Value& conditions, const Value& schema, const FieldPath& at, const FieldPath& from) {
    if (!schema.IsObject()) return errors_.Required(at, "because it is defined in " + from.String());
    Junctors(conditions, schema, at, from);
    if (conditions.Get("items").IsObject()) Nested(conditions.Get("items"), schema.Get("items"), at.Child("items"), from.Child("items"));
    for (const Member& property : conditions.Get("properties").members()) {
      FieldPath below = at.Child("properties").Key(property.name()), source = from.Child("properties").Key(property.name());
      const Member* known = schema.Get("properties").Find(property.name());
      if (known == nullptr) errors_.Required(below, "because it is defined in " + source.String());
      else Nested(property.value, known->value, below, source);
    }
  }

  FieldErrors& errors_;
};

}  // namespace

void CheckStructural(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  FieldErrors found;
  Invariants(found).Structural(schema, Level::kRoot, path);
  Completeness(found).Junctors(schema, schema, path, path);
  std::vector<StatusCause> causes = found.Take();
  std::ranges::stable_sort(causes, [](const StatusCause& a, const StatusCause& b) {
    return a.field + ": " + a.message < b.field + ": " + b.message;
  });
  errors.Add(std::move(causes));
}

std::string UnsupportedPart(const Value& schema) {
  std::string fault;
  schema::AnySchema(schema, [&](const Value& part) {
    std::string_view name;
    for (std::string_view text : {"id", "$schema", "$ref"}) {
      if (name.empty() && !part.Get(text).AsString().empty()) name = text == "$schema" ? std::string_view("schema") : text;
    }
    for (std::string_view map : {"patternProperties", "dependencies"}) {
      if (name.empty() && !part.Get(map).empty()) name = map;
    }
    Value additional = part.Get("additionalItems");
    if (name.empty() && !additional.IsAbsent() && !additional.IsNull()) name = "additionalItems";
    if (name.empty() && !part.Get("definitions").empty()) name = "definitions";
    if (!name.empty()) fault = "OpenAPIV3Schema '" + std::string(name) + "' is not supported";
    else if (part.Get("items").IsList()) fault = "OpenAPIV3Schema 'items' must be a schema, but is an array";
    Value preserve = part.Get("x-kubernetes-preserve-unknown-fields");
    if (fault.empty() && preserve.IsBool() && !preserve.AsBool()) {
      fault = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
    }
    return !fault.empty();
  });
  return fault;
}

}  // namespace homeostat::kinds
