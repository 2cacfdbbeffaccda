// Rules of a schema's part (x-kubernetes-validations), compiled. Used when a definition is admitted, to say what is wrong
// with them, and when objects are written, to evaluate them.
// Source of the rules: apiextensions-apiserver's pkg/apiserver/schema/cel/compilation.go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cel/environment.h"
#include "homeostat/object/value.h"

namespace homeostat::kinds {

struct RuleProgram {
  object::Value rule;                       // as the schema has it
  std::optional<cel::Program> program;      // nullopt if there is an error, or no expression
  std::string error;                        // in upstream's words; empty if there is none
  bool uses_old_self = false;
  bool optional_old_self = false;
  uint64_t max_cost = 0;                    // of one evaluation, as estimated
  std::optional<cel::Program> message;      // the messageExpression
  std::string message_error;
  uint64_t message_max_cost = 0;
  std::string field_path;                   // where faults are reported, below the part; empty: at the part itself
};

// The rules of one part. `type` is what its values are to expressions.
std::vector<RuleProgram> CompileRules(const object::Value& schema, const cel::DeclTypePtr& type);

}  // namespace homeostat::kinds
