// The grammar of label selectors' text form.
//
//   selector    = [ requirement { "," requirement } ]
//   requirement = [ "!" ] key | key operator
//   operator    = ( "=" | "==" | "!=" | "<" | ">" ) [ value ] | ( "in" | "notin" ) "(" [ value ] { "," [ value ] } ")"
//
// "in" and "notin" are words of the grammar only where an operator stands, and may be keys and values elsewhere.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/selectors.h"

namespace homeostat::object::internal {

class LabelSelectorParser {
 public:
  explicit LabelSelectorParser(std::string_view text);
  Result<std::vector<LabelRequirement>> Parse();

 private:
  enum class Kind { kEnd, kWord, kClose, kOpen, kComma, kNot, kOperator };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string_view text;
  };

  Token Scan();
  void SkipNul();
  const Token& Peek() const { return tokens_[next_]; }
  // The end is never passed.
  const Token& Take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }

  Result<LabelRequirement> ParseRequirement();
  Result<SelectorOperator> ParseOperator();
  Result<std::vector<std::string>> ParseSet();
  Result<std::set<std::string>> ParseSetItems();
  Result<std::vector<std::string>> ParseExactValue();

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
  size_t next_ = 0;
};

}  // namespace homeostat::object::internal
