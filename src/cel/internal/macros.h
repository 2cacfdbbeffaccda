// Macros: calls that the parser replaces by other trees.
//
// Source of the rules: cel-go's parser/macro.go, cel/library.go, ext/comprehensions.go, ext/lists.go.
#pragma once

#include <span>

#include "cel/internal/parser.h"
#include "cel/internal/tree_builder.h"

namespace homeostat::cel::internal {

// A macro's arguments that are no good: where, and why.
struct MacroError {
  int32_t offset = kNowhere;
  std::string message;
};

// Whether there is a macro of that name with so many arguments, called on a target or not.
bool IsMacro(const ParserOptions& options, std::string_view function, size_t arguments, bool has_target);

// Expands a call for which IsMacro holds. Takes target (nullptr for a global call) and arguments; nullptr and the error
// if they are no good. nullptr and no error: it is an ordinary call after all, nothing was taken.
ExprPtr ExpandMacro(TreeBuilder& build, std::string_view function, ExprPtr& target, std::vector<ExprPtr>& args,
                    MacroError& error);

}  // namespace homeostat::cel::internal
