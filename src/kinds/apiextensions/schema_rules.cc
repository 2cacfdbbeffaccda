#include "kinds/apiextensions/schema_rules.h"

#include <algorithm>
#include <set>

#include "homeostat/api/apiextensions/v1.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

using object::Member;

const schema::Type& PropsType() { return api::apiextensions::v1::JSONSchemaProps::SchemaType(); }

// What Go's structure of a schema calls its parts, in its order; those without a name can stand at a root whose status is
// written apart.
struct RootPart {
  std::string_view json, go;
  bool allowed;
};
constexpr RootPart kRootParts[] = {
    {"id", "ID", false}, {"$schema", "Schema", false}, {"$ref", "Ref", false}, {"description", "Description", true},
    {"type", "Type", true}, {"nullable", "Nullable", false}, {"format", "Format", true}, {"title", "Title", true},
    {"default", "Default", false}, {"maximum", "Maximum", true}, {"exclusiveMaximum", "ExclusiveMaximum", true},
    {"minimum", "Minimum", true}, {"exclusiveMinimum", "ExclusiveMinimum", true}, {"maxLength", "MaxLength", true},
    {"minLength", "MinLength", true}, {"pattern", "Pattern", true}, {"maxItems", "MaxItems", true}, {"minItems", "MinItems", true},
    {"uniqueItems", "UniqueItems", true}, {"multipleOf", "MultipleOf", true}, {"enum", "Enum", false},
    {"maxProperties", "MaxProperties", false}, {"minProperties", "MinProperties", false}, {"required", "Required", true},
    {"items", "Items", true}, {"allOf", "AllOf", false}, {"oneOf", "OneOf", false}, {"anyOf", "AnyOf", false}, {"not", "Not", false},
    {"properties", "Properties", true}, {"additionalProperties", "AdditionalProperties", false},
    {"patternProperties", "PatternProperties", false}, {"dependencies", "Dependencies", false},
    {"additionalItems", "AdditionalItems", false}, {"definitions", "Definitions", false}, {"externalDocs", "ExternalDocs", true},
    {"example", "Example", true}, {"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", true},
    {"x-kubernetes-embedded-resource", "XEmbeddedResource", false}, {"x-kubernetes-int-or-string", "XIntOrString", false},
    {"x-kubernetes-list-map-keys", "XListMapKeys", false}, {"x-kubernetes-list-type", "XListType", false},
    {"x-kubernetes-map-type", "XMapType", false}, {"x-kubernetes-validations", "XValidations", true}};

constexpr std::string_view kAllowedAtRoot =
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems "
    "UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";

void CheckRootOfStatus(const Value& schema, const FieldPath& path, FieldErrors& errors) {
  for (const RootPart& part : kRootParts) {
    const Member* member = schema.Find(part.json);
    if (part.json == "type" && schema.Get("type").AsString() != "object" && member != nullptr) {
      return errors.Invalid(path.Child("type"), schema.Get("type").AsString(),
                            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled");
    }
    if (member == nullptr || member->value.IsNull() || part.allowed) continue;
    return errors.Invalid(path, InternalValue(PropsType(), schema),
                          "only " + std::string(kAllowedAtRoot) +
                              " fields are allowed at the root of the schema if the status subresource is enabled");
  }
}

}  // namespace

SchemaRuleOptions OptionsOfOld(const Value& old) {
  SchemaRuleOptions options;
  for (const Value& version : old.Path({"spec", "versions"}).items()) {
    Value schema = version.Path({"schema", "openAPIV3Schema"});
    auto keeps = [&](void (*check)(const Value&, const FieldPath&, FieldErrors&)) {
      return !schema::AnySchema(schema, [check](const Value& part) {
        FieldErrors found;
        check(part, FieldPath(), found);
        return !found.empty();
      });
    };
    options.require_atomic_sets = options.require_atomic_sets && keeps(CheckAtomicItems);
    options.require_map_keys = options.require_map_keys && keeps(CheckFixedKeys);
    options.require_known_types = options.require_known_types && keeps(CheckKnownType);
    options.require_pruned_defaults = options.require_pruned_defaults && DefaultsArePruned(schema);
  }
  return options;
}

void CheckSchema(const Value& schema, bool has_status, const SchemaRuleOptions& options, const FieldPath& path, FieldErrors& errors) {
  if (!schema) return;
  FieldErrors found;
  if (has_status) CheckRootOfStatus(schema, path, found);
  if (schema.Get("nullable").AsBool()) found.Forbidden(path.Child("nullable"), "nullable cannot be true at the root");
  std::string unsupported = UnsupportedPart(schema);
  bool sound = unsupported.empty();
  if (sound) {
    size_t before = found.size();
    CheckStructural(schema, path, found);
    if (found.size() == before) CheckDefaults(schema, options.require_pruned_defaults, path, found);
    sound = found.size() == before;
  }
  std::set<std::string> faulty = CheckSchemaParts(schema, options, path, found);
  if (sound) CheckRuleExpressions(schema, options, faulty, path, found);
  if (found.empty() && !unsupported.empty()) found.Invalid(path, "", unsupported);
  errors.Add(found.Take());
}

SchemaPath FollowSchemaPath(std::string_view path, const Value& schema, bool with_brackets) {
  SchemaPath result;
  result.schema = schema;
  auto fail = [&](std::string fault) {
    result.fault = std::move(fault);
    return result;
  };
  auto step = [&](std::string_view name) -> bool {
    Value properties = result.schema.Get("properties"), additional = result.schema.Get("additionalProperties");
    bool named = !properties.empty();
    const Member* property = properties.Find(name);
    if ((named && property == nullptr) || (!named && !additional.IsObject())) return false;
    result.schema = named ? property->value : additional;
    if (result.text.empty()) result.root = name;
    if (!named) result.text += "[" + std::string(name) + "]";
    else result.text += (result.text.empty() ? "" : ".") + std::string(name);
    return true;
  };
  constexpr std::string_view kNoField = "does not refer to a valid field";
  while (!path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      if (path.empty()) return fail("unexpected end of JSON path");
      size_t end = std::string_view(".[]").find(path.front()) != std::string_view::npos ? 1 : path.find_first_of(".[]");
      if (!step(path.substr(0, end))) return fail(std::string(kNoField));
      path.remove_prefix(std::min(end, path.size()));
    } else if (path.front() == '[') {
      if (!with_brackets) return fail("array notation is not allowed");
      path.remove_prefix(1);
      if (path.empty()) return fail("unexpected end of JSON path");
      size_t end = path.front() == '\'' ? path.find('\'', 1) : path.npos;
      while (end != path.npos && path[end - 1] == '\\') end = path.find('\'', end + 1);
      if (end == path.npos) return fail("expected single quoted string but got " + std::string(path.substr(0, path.find_first_of(".[]"))));
      std::string name;
      for (size_t i = 1; i < end; ++i) {
        if (path[i] == '\\' && i + 1 < end) ++i;
        name += path[i];
      }
      path.remove_prefix(end + 1);
      if (!step(name)) return fail(std::string(kNoField));
      if (path.empty()) return fail("unexpected end of JSON path");
      if (path.front() != ']') return fail("expected ] but got " + std::string(path.substr(0, path.find_first_of(".[]", 1))));
      path.remove_prefix(1);
    } else {
      return fail("expected [ or . but got: " + std::string(path.substr(0, path.find_first_of(".[]", 1))));
    }
  }
  return result;
}

std::vector<std::string> UnknownFormats(const Value& definition) {
  std::vector<std::string> formats;
  for (const Value& version : definition.Path({"spec", "versions"}).items()) {
    schema::AnySchema(version.Path({"schema", "openAPIV3Schema"}), [&](const Value& part) {
      std::string_view format = part.Get("format").AsString();
      if (!format.empty() && !schema::IsKnownFormat(part.Get("type").AsString(), format)) formats.emplace_back(format);
      return false;
    });
  }
  return formats;
}

}  // namespace homeostat::kinds
