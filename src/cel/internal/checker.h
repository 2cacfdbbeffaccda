// Types of every node, overloads of every call, full names of every reference.
//
// Source of the rules: cel-go's checker; messages are its.
#pragma once

#include <functional>

#include "cel/environment.h"
#include "cel/internal/ast.h"
#include "cel/internal/functions.h"
#include "cel/internal/source.h"

namespace homeostat::cel::internal {

// What is known of a tree. Indexed by the ids of its nodes.
struct CheckedTypes {
  std::vector<Type> types;
  // The overloads of a call that may be meant: one if the types decide.
  std::vector<std::vector<const Overload*>> overloads;
  // 1: the node names a type; 2: it is a name that was found whole (a variable, x.y.z as one); 0: it is neither.
  std::vector<uint8_t> references;

  const Type& TypeOf(const Expr& expr) const { return types[static_cast<size_t>(expr.id)]; }
};
enum : uint8_t { kNoReference, kTypeReference, kVariableReference };

// Rewrites names in the tree to full ones.
CheckedTypes Check(Ast& ast, const Environment& environment, Issues& issues);

}  // namespace homeostat::cel::internal
