// Text to tree: a parser by hand (precedence climbing) that expands macros as it goes.
//
// Source of the rules: cel-go's grammar and parser: 100,000 code points, rules nested 250 deep, long chains of && and ||
// as balanced trees, messages. It stops at the first syntax error; other faults are gathered.
#pragma once

#include "cel/internal/ast.h"
#include "cel/internal/source.h"

namespace homeostat::cel::internal {

inline constexpr size_t kMaxExpressionSize = 100'000;
inline constexpr int kMaxRecursion = 250;

// Which macros there are, and which syntax.
struct ParserOptions {
  bool optional_syntax = true;   // a.?b, a[?b], [?a], {?a: b}
  bool optional_macros = true;   // optMap, optFlatMap
  bool two_variable = true;      // all(k, v, …), transformMap …
  bool sort_by = true;
  bool bind = false;             // cel.bind, which most of Kubernetes does not have
};

// The tree is whole only if there are no issues.
Ast Parse(const Source& source, const ParserOptions& options, Issues& issues);

}  // namespace homeostat::cel::internal
