// What the expressions of a ValidatingAdmissionPolicy say that does not fit the kinds they are for, as its status tells.
//
// Pure: works on what discovery and OpenAPI have published. Source of the rules and texts: apiserver's
// admission/plugin/policy/validating/typechecking.go, cel/openapi/resolver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/decl_type.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::controllers {

// A kind by its names; they are texts of their own.
struct KindName {
  std::string group, version, kind;
  // "apps/v1, Kind=Deployment"
  std::string ToString() const { return schema::KindText(group, version, kind); }
  auto operator<=>(const KindName&) const = default;
};

// The kinds that the policy's rules name, without wildcards, in order: at most ten of a rule. discovery: the items of
// APIGroupDiscoveryLists, of the core group and the others.
std::vector<KindName> KindsOfPolicy(const object::Value& policy, const std::vector<object::Value>& discovery);
// The kind of its parameters; empty names if it has none, or none that can be.
KindName ParamKindOfPolicy(const object::Value& policy);

// The type of a kind's objects from an OpenAPI v3 document of its group and version; null if it is not described there.
// name: what messages call it.
cel::DeclTypePtr TypeOfKind(const object::Value& openapi, const KindName& kind, std::string_view name);

struct TypedKind {
  KindName name;
  cel::DeclTypePtr type;  // null: nothing is known of it
};

struct ExpressionWarning {
  std::string field, warning;  // "spec.validations[0].expression"
};
// For each expression of a validation and its message that is wrong for one of the kinds. params: of a name that is empty if the
// policy has none.
std::vector<ExpressionWarning> CheckTypes(const object::Value& policy, const std::vector<TypedKind>& kinds, const TypedKind& params);

}  // namespace homeostat::controllers
