// What the expressions of admission may name: those of validating and mutating policies, and the match conditions of webhooks.
//
// Source of the rules and texts: Kubernetes' apiserver/pkg/admission/plugin/cel (compile.go, composition.go). Everything here is
// immutable once made, and safe to use from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/environment.h"

namespace homeostat::cel {

// Beyond object, oldObject, request and namespaceObject, which every expression has.
struct PolicyNames {
  bool params = false;
  bool authorizer = false;
  bool patch_types = false;    // Object{…}, JSONPatch{…}, jsonpatch.escapeKey()
  bool request_resource = true;  // authorizer.requestResource, where there is an authorizer
  bool operator==(const PolicyNames&) const = default;
};

// An expression that is ready, or why it is none.
struct PolicyExpression {
  std::optional<Program> program;
  Type type;          // of the result; none if it doesn't compile
  std::string error;  // "compilation failed: …", "must evaluate to bool but got int"; empty if there is a program
};

// The names of one policy: those above and, if it composes expressions of variables, `variables` with what was added so far.
class PolicyEnvironment {
 public:
  // with_variables: webhooks have no `variables`.
  PolicyEnvironment(const PolicyNames& names, bool with_variables);
  // With types for object, oldObject, params in place of what may be anything, as checking against schemas wants. Null: anything.
  void DeclareObject(std::string_view name, const DeclTypePtr& type);

  // results: what it may give; empty: anything.
  PolicyExpression Compile(std::string_view text, std::span<const Type> results) const;
  // The same environment with one more variable for the expressions that follow.
  void AddVariable(std::string_view name, const Type& type);
  // As another kind of expression of the same policy sees it: the variables are the same.
  PolicyEnvironment WithNames(const PolicyNames& names) const;

  const Environment& environment() const { return environment_; }

 private:
  void DeclareVariables();

  Environment environment_;
  bool with_variables_ = false;
  std::vector<DeclType::Field> variables_;
  std::vector<std::pair<std::string, DeclTypePtr>> objects_;
};

}  // namespace homeostat::cel
