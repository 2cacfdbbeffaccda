// The tree of an expression, as parsed: macros expanded, names as written; the checker puts full names in.
//
// Every node has an id, unique within its tree, and the position that messages about it give.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/value.h"

namespace homeostat::cel::internal {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : uint8_t {
  kUnspecified,    // where the text could not be read
  kLiteral,        // literal
  kIdent,          // name
  kSelect,         // args[0].name; has(args[0].name) if test_only
  kCall,           // name(args…); args[0].name(args[1]…) if member
  kList,           // [args…]; those of `optional` with ?
  kMap,            // {args[0]: args[1], …}; the pairs of `optional` with ?
  kStruct,         // name{fields[0]: args[0], …}
  kComprehension,  // see below
};

// Positions in a comprehension's args.
enum : size_t { kIterRange, kAccuInit, kLoopCondition, kLoopStep, kLoopResult };

struct Expr {
  ExprKind kind = ExprKind::kUnspecified;
  bool test_only = false;
  bool member = false;
  uint16_t height = 0;  // operators, selections and conditionals on the longest way down
  int32_t id = 0;
  int32_t offset = 0;  // code points from the start
  std::string name;    // of a comprehension: the loop's variable
  Value literal;       // its text lives in the tree's arena
  std::vector<ExprPtr> args;
  std::vector<bool> optional;  // empty, or one for each item, pair or field

  // Names and ids of a struct's fields.
  struct Field {
    std::string name;
    int32_t id;
    int32_t offset;
  };
  std::vector<Field> fields;
  // Of a comprehension: the second variable ("" if there is none), the accumulator.
  std::string iter_var2;
  std::string accu_var;
};

// What every expanded macro calls its accumulator: no one can write it.
inline constexpr std::string_view kAccumulator = "@result";

// A tree with the memory of its literals. ids are below id_limit.
struct Ast {
  std::shared_ptr<object::Arena> arena = std::make_shared<object::Arena>();
  ExprPtr root;
  int32_t id_limit = 0;
};

}  // namespace homeostat::cel::internal
