// The lowest layer of writing YAML: columns, indents, and one scalar in the style that its text allows.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::object::internal {

class YamlOutput {
 public:
  enum class Style { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral };

  explicit YamlOutput(std::string& out) : out_(out) {}

  struct IndicatorStyle {
    bool space_before = false;
    bool is_space = false;         // nothing needs a space behind it
    bool keeps_indention = false;  // the line still holds nothing but indicators
  };
  void Indicator(std::string_view text, const IndicatorStyle& style);
  // A new line, unless this one is still free up to that column; then spaces up to it.
  void BreakTo(int indent);
  // In the style wished for, or the next one that can hold the text. Lines after the first begin at the indent.
  void Scalar(std::string_view text, Style wished, int indent, bool simple_key);
  void End() { BreakTo(0); }
  // Whether the line holds only indentation and indicators so far.
  bool at_indention() const { return indention_; }

  // Whether the text can stand before a colon without the question mark.
  static bool FitsSimpleKey(std::string_view text);

 private:
  void Put(char c);
  void PutBreak();
  size_t PutRune(std::string_view text);
  size_t PutBreakRune(std::string_view text);
  void Plain(std::string_view text, int indent, bool breaks);
  void SingleQuoted(std::string_view text, int indent, bool breaks);
  void DoubleQuoted(std::string_view text, int indent, bool breaks);
  void Escape(char32_t rune);
  void Literal(std::string_view text, int indent);
  bool TooFar() const { return column_ > kBestWidth; }

  static constexpr int kBestWidth = 80;

  std::string& out_;
  int column_ = 0;
  bool whitespace_ = true;
  bool indention_ = true;
};

}  // namespace homeostat::object::internal
