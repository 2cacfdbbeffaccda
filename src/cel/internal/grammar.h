// What the parser knows of the grammar's tokens, and how error texts list them.
#pragma once

#include <string_view>

#include "cel/internal/lexer.h"

namespace homeostat::cel::internal {

inline constexpr std::string_view kExpressionStart =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

inline constexpr std::string_view kIndexStart =
    "{'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
inline constexpr std::string_view kArgumentStart =
    "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
inline constexpr std::string_view kListStart =
    "{'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";
inline constexpr std::string_view kMapStart =
    "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";

inline std::string_view RelationOperator(Token token) {
  switch (token) {
    case Token::kLess: return "_<_";
    case Token::kLessEquals: return "_<=_";
    case Token::kGreaterEquals: return "_>=_";
    case Token::kGreater: return "_>_";
    case Token::kEquals: return "_==_";
    case Token::kNotEquals: return "_!=_";
    case Token::kIn: return "@in";
    default: return "";
  }
}

// Binding strength 2 for products, 1 for sums, 0 for what is neither.
inline int CalcStrength(Token token, std::string_view& name) {
  switch (token) {
    case Token::kStar: name = "_*_"; return 2;
    case Token::kSlash: name = "_/_"; return 2;
    case Token::kPercent: name = "_%_"; return 2;
    case Token::kPlus: name = "_+_"; return 1;
    case Token::kMinus: name = "_-_"; return 1;
    default: return 0;
  }
}

inline bool StartsExpression(Token token) {
  switch (token) {
    case Token::kLeftBracket: case Token::kLeftBrace: case Token::kLeftParen: case Token::kDot: case Token::kMinus:
    case Token::kNot: case Token::kTrue: case Token::kFalse: case Token::kNull: case Token::kFloat: case Token::kInt:
    case Token::kUint: case Token::kString: case Token::kBytes: case Token::kIdentifier: return true;
    default: return false;
  }
}

}  // namespace homeostat::cel::internal
