// Text to tokens.
//
// Source of the rules: cel-go's grammar. Spaces and comments are passed over; what is no token becomes an issue in the
// words of the original ("token recognition error at: '@'") and is passed over, too.
#pragma once

#include <string>
#include <vector>

#include "cel/internal/source.h"

namespace homeostat::cel::internal {

enum class Token : uint8_t {
  kEnd, kEquals, kNotEquals, kIn, kLess, kLessEquals, kGreaterEquals, kGreater, kAnd, kOr, kLeftBracket, kRightBracket,
  kLeftBrace, kRightBrace, kLeftParen, kRightParen, kDot, kComma, kMinus, kNot, kQuestion, kColon, kPlus, kStar, kSlash,
  kPercent, kTrue, kFalse, kNull, kFloat, kInt, kUint, kString, kBytes, kIdentifier, kEscapedIdentifier
};

struct LexedToken {
  Token type;
  int32_t begin;
  int32_t end;
};

// The last token is kEnd.
std::vector<LexedToken> Lex(const Source& source, Issues& issues);

// As messages name what was expected: '[', NUM_INT, <EOF>.
std::string_view DisplayName(Token token);

}  // namespace homeostat::cel::internal
