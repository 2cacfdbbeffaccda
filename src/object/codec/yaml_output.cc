#include "object/internal/yaml_output.h"

#include "object/internal/utf8.h"

namespace homeostat::object::internal {
namespace {

constexpr size_t kLongestSimpleKey = 128;

bool IsBreak(char32_t c) { return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// What may stand in a document as it is. Upstream leaves out everything beyond the first plane.
bool IsPrintable(char32_t c) {
  return c == '\n' || (c >= 0x20 && c <= 0x7E) || (c >= 0xA0 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD && c != 0xFEFF);
}

// Which styles can hold a text.
struct Allowed {
  bool plain = true;
  bool single_quoted = true;
  bool literal = true;
  bool multiline = false;
};

// Whether the character there would be taken for an indicator of block style.
bool IsIndicator(std::string_view text, size_t at, bool after_blank, bool before_blank) {
  char c = text[at];
  if (at > 0) return (c == ':' && before_blank) || (c == '#' && after_blank);
  if (c == '?' || c == ':' || c == '-') return before_blank;
  return std::string_view("#,[]{}&*!|>'\"%@`").find(c) != std::string_view::npos;
}

Allowed Analyze(std::string_view text) {
  Allowed allowed;
  if (text.empty()) {
    allowed.literal = false;
    return allowed;
  }
  bool indicators = text.starts_with("---") || text.starts_with("...");
  bool special = false, break_space = false, space_break = false;
  bool previous_space = false, previous_break = false, after_blank = true;
  for (size_t at = 0; at < text.size();) {
    Rune rune = DecodeRune(text.substr(at));
    size_t next = at + rune.size;
    bool before_blank = next >= text.size() || IsBlank(text[next]);
    indicators = indicators || IsIndicator(text, at, after_blank, before_blank);
    special = special || !IsPrintable(rune.value);
    bool space = rune.value == ' ', line_break = IsBreak(rune.value);
    break_space = break_space || (space && previous_break);
    space_break = space_break || (line_break && previous_space);
    allowed.multiline = allowed.multiline || line_break;
    previous_space = space;
    previous_break = line_break;
    after_blank = line_break || rune.value == ' ' || rune.value == '\t' || rune.value == 0;
    at = next;
  }
  Rune first = DecodeRune(text);
  bool ends_outside = first.value == ' ' || IsBreak(first.value) || previous_space || previous_break;
  allowed.plain = !(indicators || special || break_space || space_break || allowed.multiline || ends_outside);
  allowed.single_quoted = !(special || break_space || space_break);
  allowed.literal = !(special || space_break || previous_space);
  return allowed;
}

YamlOutput::Style Choose(const Allowed& allowed, std::string_view text, YamlOutput::Style style, bool simple_key) {
  using Style = YamlOutput::Style;
  if (simple_key && allowed.multiline) style = Style::kDoubleQuoted;
  if (style == Style::kPlain && (!allowed.plain || (text.empty() && simple_key))) style = Style::kSingleQuoted;
  if (style == Style::kSingleQuoted && !allowed.single_quoted) style = Style::kDoubleQuoted;
  if (style == Style::kLiteral && (!allowed.literal || simple_key)) style = Style::kDoubleQuoted;
  return style;
}

}  // namespace

bool YamlOutput::FitsSimpleKey(std::string_view text) {
  return text.size() <= kLongestSimpleKey && !Analyze(text).multiline;
}

void YamlOutput::Put(char c) {
  out_.push_back(c);
  ++column_;
}

void YamlOutput::PutBreak() {
  out_.push_back('\n');
  column_ = 0;
}

// A break of the text, of whichever kind, as it is.
size_t YamlOutput::PutBreakRune(std::string_view text) {
  size_t size = DecodeRune(text).size;
  out_.append(text.substr(0, size));
  column_ = 0;
  return size;
}

size_t YamlOutput::PutRune(std::string_view text) {
  size_t size = DecodeRune(text).size;
  out_.append(text.substr(0, size));
  ++column_;
  return size;
}

void YamlOutput::Indicator(std::string_view text, const IndicatorStyle& style) {
  if (style.space_before && !whitespace_) Put(' ');
  for (char c : text) Put(c);
  whitespace_ = style.is_space;
  indention_ = indention_ && style.keeps_indention;
}

void YamlOutput::BreakTo(int indent) {
  if (!indention_ || column_ > indent || (column_ == indent && !whitespace_)) PutBreak();
  while (column_ < indent) Put(' ');
  whitespace_ = true;
  indention_ = true;
}

void YamlOutput::Scalar(std::string_view text, Style wished, int indent, bool simple_key) {
  switch (Choose(Analyze(text), text, wished, simple_key)) {
    case Style::kPlain:
      return Plain(text, indent, !simple_key);
    case Style::kSingleQuoted:
      return SingleQuoted(text, indent, !simple_key);
    case Style::kDoubleQuoted:
      return DoubleQuoted(text, indent, !simple_key);
    case Style::kLiteral:
      return Literal(text, indent);
  }
}

// Plain text has no line breaks of its own (see Analyze); lines that are too long are broken at single spaces.
void YamlOutput::Plain(std::string_view text, int indent, bool breaks) {
  if (!whitespace_) Put(' ');
  bool spaces = false;
  for (size_t at = 0; at < text.size();) {
    bool space = text[at] == ' ';
    if (space && breaks && !spaces && TooFar() && !text.substr(at + 1).starts_with(' ')) {
      BreakTo(indent);
      ++at;
    } else {
      at += PutRune(text.substr(at));
    }
    if (!space) indention_ = false;
    spaces = space;
  }
  whitespace_ = false;
  indention_ = false;
}

void YamlOutput::SingleQuoted(std::string_view text, int indent, bool breaks) {
  Indicator("'", {.space_before = true});
  bool spaces = false, line_breaks = false;
  for (size_t at = 0; at < text.size();) {
    Rune rune = DecodeRune(text.substr(at));
    if (rune.value == ' ') {
      bool inside = at > 0 && at + 1 < text.size();
      if (breaks && !spaces && TooFar() && inside && text[at + 1] != ' ') {
        BreakTo(indent);
        ++at;
      } else {
        at += PutRune(text.substr(at));
      }
      spaces = true;
    } else if (IsBreak(rune.value)) {
      if (!line_breaks && rune.value == '\n') PutBreak();
      at += PutBreakRune(text.substr(at));
      indention_ = true;
      line_breaks = true;
    } else {
      if (line_breaks) BreakTo(indent);
      if (rune.value == '\'') Put('\'');
      at += PutRune(text.substr(at));
      indention_ = false;
      spaces = line_breaks = false;
    }
  }
  Indicator("'", {});
  whitespace_ = false;
  indention_ = false;
}

void YamlOutput::Escape(char32_t rune) {
  constexpr std::pair<char32_t, char> kLetters[] = {
      {0, '0'},    {7, 'a'},    {8, 'b'},     {9, 't'},     {10, 'n'},   {11, 'v'},     {12, 'f'},      {13, 'r'},
      {0x1B, 'e'}, {'"', '"'}, {'\\', '\\'}, {0x85, 'N'}, {0xA0, '_'}, {0x2028, 'L'}, {0x2029, 'P'}};
  Put('\\');
  for (auto [code, letter] : kLetters) {
    if (code == rune) return Put(letter);
  }
  int digits = rune <= 0xFF ? 2 : rune <= 0xFFFF ? 4 : 8;
  Put(digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) Put("0123456789ABCDEF"[rune >> shift & 15]);
}

void YamlOutput::DoubleQuoted(std::string_view text, int indent, bool breaks) {
  Indicator("\"", {.space_before = true});
  bool spaces = false;
  for (size_t at = 0; at < text.size();) {
    Rune rune = DecodeRune(text.substr(at));
    bool space = rune.value == ' ';
    if (!IsPrintable(rune.value) || IsBreak(rune.value) || rune.value == '"' || rune.value == '\\') {
      Escape(rune.value);
      at += rune.size;
    } else if (space && breaks && !spaces && TooFar() && at > 0 && at + 1 < text.size()) {
      BreakTo(indent);
      if (text[at + 1] == ' ') Put('\\');
      ++at;
    } else {
      at += PutRune(text.substr(at));
    }
    spaces = space;
  }
  Indicator("\"", {});
  whitespace_ = false;
  indention_ = false;
}

void YamlOutput::Literal(std::string_view text, int indent) {
  Indicator("|", {.space_before = true});
  Rune first = DecodeRune(text);
  // Where the text begins with a space or break, the reader must be told of the indent.
  if (first.value == ' ' || IsBreak(first.value)) Indicator("2", {});
  // How many breaks the text ends in: none, one, or more, which all count.
  int final_breaks = 0;
  for (size_t at = 0; at < text.size();) {
    Rune rune = DecodeRune(text.substr(at));
    final_breaks = IsBreak(rune.value) ? final_breaks + 1 : 0;
    at += rune.size;
  }
  bool only_break = first.size == text.size() && IsBreak(first.value);
  if (final_breaks == 0) Indicator("-", {});
  if (final_breaks > 1 || only_break) Indicator("+", {});
  PutBreak();
  indention_ = true;
  whitespace_ = true;
  bool line_breaks = true;
  for (size_t at = 0; at < text.size();) {
    Rune rune = DecodeRune(text.substr(at));
    if (IsBreak(rune.value)) {
      at += PutBreakRune(text.substr(at));
      indention_ = true;
      line_breaks = true;
    } else {
      if (line_breaks) BreakTo(indent);
      at += PutRune(text.substr(at));
      indention_ = false;
      line_breaks = false;
    }
  }
}

}  // namespace homeostat::object::internal
