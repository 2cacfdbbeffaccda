#include "controllers/policy_types.h"

#include <algorithm>
#include <set>

#include "cel/policy_environment.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::controllers {
namespace {

using object::Value;

constexpr size_t kMostKinds = 10;
constexpr std::string_view kReferences = "#/components/schemas/";

// Sorted; nothing if one of them has a wildcard and that spoils all, else those without.
std::vector<std::string_view> Names(const Value& list, std::string_view wildcards, bool spoils) {
  std::vector<std::string_view> names;
  for (const Value& item : list.items()) {
    bool wild = item.AsString().find_first_of(wildcards) != std::string_view::npos;
    if (wild && spoils) return {};
    if (!wild) names.push_back(item.AsString());
  }
  std::ranges::sort(names);
  return names;
}

// An empty group stands for any.
std::vector<KindName> Resolve(const std::vector<Value>& discovery, std::string_view group, std::string_view version, std::string_view resource) {
  std::vector<KindName> found;
  std::string wanted = LowerCase(resource);
  for (const Value& of_group : discovery) {
    std::string_view name = of_group.Path({"metadata", "name"}).AsString();
    if (!group.empty() && name != group) continue;
    for (const Value& in_version : of_group.Get("versions").items()) {
      if (in_version.Get("version").AsString() != version) continue;
      for (const Value& served : in_version.Get("resources").items()) {
        if (served.Get("resource").AsString() != wanted && served.Get("singularResource").AsString() != wanted) continue;
        found.push_back({std::string(name), std::string(version), std::string(served.Path({"responseKind", "kind"}).AsString())});
      }
    }
  }
  return found;
}

// A schema with all that it refers to in its place; what refers to itself ends as an object without fields.
class Resolver {
 public:
  Resolver(object::Arena& arena, const Value& schemas) : arena_(arena), schemas_(schemas) {}

  Value Resolved(const Value& schema) {
    std::string_view reference = ReferenceOf(schema);
    if (reference.empty()) return Parts(schema);
    if (!visited_.insert(reference).second) {
      object::ObjectBuilder empty(arena_);
      empty.Append("type", Value::StringRef("object"));
      return empty.Build();
    }
    Value resolved = Parts(schemas_.Get(reference));
    visited_.erase(reference);
    return resolved;
  }

 private:
  // The name of what it refers to, at once or within allOf, which is there for the sake of its description.
  static std::string_view ReferenceOf(const Value& schema) {
    std::string_view text = schema.Get("$ref").AsString();
    if (!text.empty()) return text.starts_with(kReferences) ? text.substr(kReferences.size()) : text;
    for (const Value& part : schema.Get("allOf").items()) {
      if (std::string_view found = ReferenceOf(part); !found.empty()) return found;
    }
    return {};
  }

  Value Parts(const Value& schema) {
    if (!schema.IsObject()) return schema;
    object::ObjectBuilder builder(arena_, schema);
    if (Value properties = schema.Get("properties")) {
      object::ObjectBuilder resolved(arena_);
      for (const object::Member& property : properties.members()) resolved.Append(property.name(), Resolved(property.value));
      builder.Set("properties", resolved.Build());
    }
    for (std::string_view part : {"items", "additionalProperties"}) {
      if (schema.Get(part).IsObject()) builder.Set(part, Resolved(schema.Get(part)));
    }
    // Built-in kinds say by the format what others say by an extension.
    if (schema.Get("format").AsString() == "int-or-string") builder.Set("x-kubernetes-int-or-string", Value::Bool(true));
    return builder.Build();
  }

  object::Arena& arena_;
  Value schemas_;
  std::set<std::string_view> visited_;
};

bool Describes(const Value& schema, const KindName& kind) {
  return std::ranges::any_of(schema.Get("x-kubernetes-group-version-kind").items(), [&](const Value& name) {
    return name.Get("group").AsString() == kind.group && name.Get("version").AsString() == kind.version && name.Get("kind").AsString() == kind.kind;
  });
}

// What expressions may name where the policy is about that kind.
cel::PolicyEnvironment EnvironmentFor(const Value& policy, const TypedKind& kind, const TypedKind& params) {
  cel::PolicyNames names{.params = !params.name.kind.empty(), .authorizer = true, .request_resource = false};
  cel::PolicyEnvironment environment(names, true);
  environment.DeclareObject("object", kind.type);
  environment.DeclareObject("oldObject", kind.type);
  if (names.params) environment.DeclareObject("params", params.type);
  for (const Value& variable : policy.Path({"spec", "variables"}).items()) {
    auto checked = environment.environment().Check(variable.Get("expression").AsString());
    environment.AddVariable(variable.Get("name").AsString(), checked ? checked->result_type() : cel::Type());
  }
  return environment;
}

}  // namespace

std::vector<KindName> KindsOfPolicy(const Value& policy, const std::vector<Value>& discovery) {
  std::set<KindName> kinds;
  for (const Value& rule : policy.Path({"spec", "matchConstraints", "resourceRules"}).items()) {
    size_t count = 0;
    for (std::string_view group : Names(rule.Get("apiGroups"), "*", true)) {
      for (std::string_view version : Names(rule.Get("apiVersions"), "*", true)) {
        for (std::string_view resource : Names(rule.Get("resources"), "*/", false)) {
          for (KindName& kind : Resolve(discovery, group, version, resource)) {
            kinds.insert(std::move(kind));
            if (++count == kMostKinds) return {kinds.begin(), kinds.end()};
          }
        }
      }
    }
  }
  return {kinds.begin(), kinds.end()};
}

KindName ParamKindOfPolicy(const Value& policy) {
  Value kind = policy.Path({"spec", "paramKind"});
  schema::GroupVersion parts = schema::ParseApiVersion(kind.Get("apiVersion").AsString());
  if (!kind || !parts.IsValid()) return {};
  return {std::string(parts.group), std::string(parts.version), std::string(kind.Get("kind").AsString())};
}

cel::DeclTypePtr TypeOfKind(const Value& openapi, const KindName& kind, std::string_view name) {
  Value schemas = openapi.Path({"components", "schemas"});
  for (const object::Member& schema : schemas.members()) {
    if (!Describes(schema.value, kind)) continue;
    object::Arena arena;
    cel::DeclTypePtr type = cel::DeclType::FromSchema(Resolver(arena, schemas).Resolved(schema.value), false);
    return type ? type->Named(name) : nullptr;
  }
  return nullptr;
}

std::vector<ExpressionWarning> CheckTypes(const Value& policy, const std::vector<TypedKind>& kinds, const TypedKind& params) {
  std::vector<ExpressionWarning> warnings;
  std::vector<cel::PolicyEnvironment> environments;
  for (const TypedKind& kind : kinds) environments.push_back(EnvironmentFor(policy, kind, params));
  Value validations = policy.Path({"spec", "validations"});
  for (size_t i = 0; i < validations.size(); ++i) {
    for (std::string_view field : {"expression", "messageExpression"}) {
      std::string_view text = validations.At(i).Get(field).AsString();
      if (text.empty() && field == "messageExpression") continue;
      std::string faults;
      for (size_t k = 0; k < kinds.size(); ++k) {
        auto checked = environments[k].environment().Check(text);
        if (!checked) faults += (faults.empty() ? "" : "\n") + kinds[k].name.ToString() + ": " + checked.error().text + "\n";
      }
      if (!faults.empty()) warnings.push_back({"spec.validations[" + std::to_string(i) + "]." + std::string(field), std::move(faults)});
    }
  }
  return warnings;
}

}  // namespace homeostat::controllers
