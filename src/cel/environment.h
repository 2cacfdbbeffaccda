// Environment: what expressions can name and call; compiling them.
//
//   Environment environment;
//   environment.Declare("self", DeclType::FromSchema(schema, true)->Named("Root"));
//   auto checked = environment.Check("self.replicas <= 10");         // or a CompileError, in cel-go's words
//   CostEstimate cost = checked->EstimateCost();                      // as Kubernetes limits it
//   auto program = checked->MakeProgram();                           // immutable, to be kept and shared
//
// An environment is set up once and then used from any thread. Source of what is in it: Kubernetes 1.36's
// apiserver/pkg/cel/environment (for expressions that are stored), on cel-go 0.26.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cel/decl_type.h"
#include "cel/program.h"
#include "cel/type.h"

namespace homeostat::cel {

// One fault of an expression. Line from 1 and column from 0, in code points; -1, -1 for what has no place.
struct Issue {
  int line = -1;
  int column = -1;
  std::string message;
};

// Why an expression is none. text: all issues as clients see them, each with its line and a mark below it.
struct CompileError {
  std::string text;
  std::vector<Issue> issues;
};

struct CostEstimate {
  uint64_t min = 0;
  uint64_t max = 0;
};

struct EnvironmentOptions {
  // Items of a list literal, keys and values of a map literal have one type each.
  bool homogeneous_aggregates = true;
  // Literals that are given to duration(), timestamp(), matches() and format() are looked at when compiling.
  bool validate_literals = true;
  // jsonpatch.escapeKey, for mutating policies.
  bool json_patch = false;
  // Object{…}, Object.spec{…} and JSONPatch{…}, for mutating policies.
  bool object_construction = false;
  // What cel-go has beyond Kubernetes: string.reverse(), cel.bind().
  bool extended = false;
  // cel.bind() alone, for selectors of devices.
  bool bindings = false;
  // Names are looked for in here first: a.b.name, a.name, name.
  std::string container;
};

// A tree that was parsed and whose types are right.
class CheckedExpression {
 public:
  const Type& result_type() const;
  // Bounds of what an evaluation may cost. Declared variables' sizes come from their DeclType, all others are unbounded.
  CostEstimate EstimateCost() const;
  // Whether it reads that variable: rules that name oldSelf are for updates only.
  bool References(std::string_view variable) const;
  // The error is what planning finds: a literal that is no good for the conversion it is given to, a bad pattern.
  std::expected<Program, CompileError> MakeProgram() const;

 private:
  friend class Environment;
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

class Environment {
 public:
  using Options = EnvironmentOptions;
  explicit Environment(Options options = {});

  // A variable that expressions may name. The second form makes the type's objects known by name, with their fields.
  void Declare(std::string_view name, Type type);
  void Declare(std::string_view name, const DeclTypePtr& type);

  std::expected<CheckedExpression, CompileError> Check(std::string_view text) const;
  // Both steps in one.
  std::expected<Program, CompileError> Compile(std::string_view text) const;

  const Options& options() const { return data_->options; }
  const Type* FindVariable(std::string_view name) const;
  // nullptr if the variable was declared without one, or not at all.
  DeclTypePtr FindVariableDecl(std::string_view name) const;
  DeclTypePtr FindType(std::string_view name) const;

 private:
  // Shared with what was compiled; copied before it is changed.
  struct Data {
    Options options;
    std::map<std::string, Type, std::less<>> variables;
    std::map<std::string, DeclTypePtr, std::less<>> variable_types;
    std::map<std::string, DeclTypePtr, std::less<>> types;
  };
  Data& Edit();

  std::shared_ptr<Data> data_;
};

}  // namespace homeostat::cel
