#include "cel/internal/lexer.h"
#include "cel/reserved_words.h"

#include <algorithm>
#include <array>

namespace homeostat::cel::internal {

namespace {

constexpr size_t kTokens = static_cast<size_t>(Token::kEscapedIdentifier) + 1;
constexpr std::array<std::string_view, kTokens> kDisplay = {
    "<EOF>", "'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'", "'&&'", "'||'", "'['", "']'", "'{'", "'}'", "'('", "')'",
    "'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'", "NUM_FLOAT",
    "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"};

bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsHex(char32_t c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsSpace(char32_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

class Lexer {
 public:
  Lexer(const Source& source, Issues& issues) : text_(source.text()), issues_(issues) {}

  std::vector<LexedToken> Run() {
    while (at_ < text_.size()) {
      if (SkipHidden()) continue;
      size_t begin = at_;
      size_t length = 0;
      Token type = Next(length);
      if (length == 0) {
        Refuse(begin);
        continue;
      }
      tokens_.push_back({type, static_cast<int32_t>(begin), static_cast<int32_t>(begin + length)});
      at_ = begin + length;
    }
    int32_t end = static_cast<int32_t>(text_.size());
    tokens_.push_back({Token::kEnd, end, end});
    return std::move(tokens_);
  }

 private:
  char32_t Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  bool At(size_t position, std::u32string_view what) const {
    return std::u32string_view(text_).substr(std::min(position, text_.size())).starts_with(what);
  }

  bool SkipHidden() {
    if (IsSpace(Peek())) {
      while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
      return true;
    }
    if (Peek() == '/' && Peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return true;
    }
    return false;
  }

  // The longest token here; length 0 if there is none.
  Token Next(size_t& length) {
    char32_t c = Peek();
    if (size_t size = StringLength(at_)) {
      length = size;
      return Token::kString;
    }
    if (c == 'b' || c == 'B') {
      if (size_t size = StringLength(at_ + 1)) {
        length = size + 1;
        return Token::kBytes;
      }
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number(length);
    if (IsLetter(c) || c == '_') return Word(length);
    if (c == '`') return EscapedIdentifier(length);
    return Symbol(length);
  }

  Token Word(size_t& length) {
    while (IsLetter(Peek(length)) || IsDigit(Peek(length)) || Peek(length) == '_') ++length;
    std::u32string_view word = std::u32string_view(text_).substr(at_, length);
    if (word == U"in") return Token::kIn;
    if (word == U"true") return Token::kTrue;
    if (word == U"false") return Token::kFalse;
    if (word == U"null") return Token::kNull;
    return Token::kIdentifier;
  }

  Token EscapedIdentifier(size_t& length) {
    size_t size = 1;
    auto inner = [](char32_t c) {
      return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == ' ';
    };
    while (inner(Peek(size))) ++size;
    if (size > 1 && Peek(size) == '`') length = size + 1;
    return Token::kEscapedIdentifier;
  }

  Token Number(size_t& length) {
    if (Peek() == '0' && Peek(1) == 'x' && IsHex(Peek(2))) {
      length = 2;
      while (IsHex(Peek(length))) ++length;
      return Unsigned(length, Token::kInt);
    }
    while (IsDigit(Peek(length))) ++length;
    Token type = Token::kInt;
    if (Peek(length) == '.' && IsDigit(Peek(length + 1))) {
      type = Token::kFloat;
      ++length;
      while (IsDigit(Peek(length))) ++length;
    }
    if (Peek(length) == 'e' || Peek(length) == 'E') {
      size_t exponent = length + 1;
      if (Peek(exponent) == '+' || Peek(exponent) == '-') ++exponent;
      if (IsDigit(Peek(exponent))) {
        type = Token::kFloat;
        while (IsDigit(Peek(exponent))) ++exponent;
        length = exponent;
      }
    }
    return type == Token::kInt ? Unsigned(length, type) : type;
  }

  Token Unsigned(size_t& length, Token type) {
    if (Peek(length) != 'u' && Peek(length) != 'U') return type;
    ++length;
    return Token::kUint;
  }

  Token Symbol(size_t& length) {
    struct Entry {
      std::u32string_view text;
      Token type;
    };
    static constexpr Entry kSymbols[] = {
        {U"==", Token::kEquals}, {U"!=", Token::kNotEquals}, {U"<=", Token::kLessEquals}, {U">=", Token::kGreaterEquals},
        {U"&&", Token::kAnd}, {U"||", Token::kOr}, {U"<", Token::kLess}, {U">", Token::kGreater},
        {U"[", Token::kLeftBracket}, {U"]", Token::kRightBracket}, {U"{", Token::kLeftBrace}, {U"}", Token::kRightBrace},
        {U"(", Token::kLeftParen}, {U")", Token::kRightParen}, {U".", Token::kDot}, {U",", Token::kComma},
        {U"-", Token::kMinus}, {U"!", Token::kNot}, {U"?", Token::kQuestion}, {U":", Token::kColon}, {U"+", Token::kPlus},
        {U"*", Token::kStar}, {U"/", Token::kSlash}, {U"%", Token::kPercent}};
    for (const Entry& symbol : kSymbols) {
      if (At(at_, symbol.text)) {
        length = symbol.text.size();
        return symbol.type;
      }
    }
    return Token::kEnd;
  }

  // Of the string literal at a position, its prefix included; 0 if there is none.
  size_t StringLength(size_t position) const {
    size_t begin = position;
    bool raw = position < text_.size() && (text_[position] == 'r' || text_[position] == 'R');
    if (raw) ++position;
    if (position >= text_.size() || (text_[position] != '"' && text_[position] != '\'')) return 0;
    std::u32string quote(3, text_[position]);
    if (At(position, quote)) {
      if (size_t end = Close(position + 3, quote, raw, true)) return end - begin;
    }
    size_t end = Close(position + 1, std::u32string_view(quote).substr(0, 1), raw, false);
    return end == 0 ? 0 : end - begin;
  }

  // The position behind the closing quote; 0 if it does not come.
  size_t Close(size_t at, std::u32string_view quote, bool raw, bool lines) const {
    while (at < text_.size()) {
      if (At(at, quote)) return at + quote.size();
      if (!lines && (text_[at] == '\n' || text_[at] == '\r')) return 0;
      size_t step = 1;
      if (!raw && text_[at] == '\\' && (step = EscapeLength(at)) == 0) return 0;
      at += step;
    }
    return 0;
  }

  size_t EscapeLength(size_t at) const {
    auto get = [&](size_t i) { return at + i < text_.size() ? text_[at + i] : U'\0'; };
    char32_t c = get(1);
    if (std::u32string_view(U"abfnrtv\"'\\?`").find(c) != std::u32string_view::npos && c != 0) return 2;
    size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsHex(get(2 + i))) return 0;
    }
    if (digits != 0) return 2 + digits;
    auto octal = [](char32_t d) { return d >= '0' && d <= '7'; };
    return c >= '0' && c <= '3' && octal(get(2)) && octal(get(3)) ? 4 : 0;
  }

  // Behind the first character that the escape at a position cannot have.
  size_t EscapeFailure(size_t at) const {
    auto get = [&](size_t i) { return i < text_.size() ? text_[i] : U'\0'; };
    char32_t c = get(at + 1);
    size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    size_t end = at + 2;
    for (size_t i = 0; i < digits && IsHex(get(end)); ++i) ++end;
    if (c >= '0' && c <= '3') {
      while (end < at + 4 && get(end) >= '0' && get(end) <= '7') ++end;
      digits = 2;
    }
    return std::min(digits == 0 ? end : end + 1, text_.size());
  }

  // What an unfinished token took before it failed is refused as one; the lexer goes on behind it.
  void Refuse(size_t begin) {
    size_t end = begin + 1;
    char32_t c = text_[begin];
    size_t quote = begin + ((c == 'r' || c == 'R' || c == 'b' || c == 'B') ? 1 : 0);
    if (quote < text_.size() && (text_[quote] == '"' || text_[quote] == '\'')) {
      end = UnclosedEnd(quote, quote > begin && (c == 'r' || c == 'R'));
    } else if (c == '`') {
      while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]) || text_[end] == '_' || text_[end] == '.' ||
                                    text_[end] == '-' || text_[end] == '/' || text_[end] == ' ')) {
        ++end;
      }
      if (end < text_.size()) ++end;
    } else if ((c == '&' || c == '|' || c == '=') && end < text_.size()) {
      ++end;  // the character that should have been the second one goes with it
    }
    end = std::min(end, text_.size());
    std::string text;
    for (size_t i = begin; i < end; ++i) AppendUtf8(text, text_[i]);
    issues_.Add(static_cast<int32_t>(begin), "Syntax error: token recognition error at: '" + text + "'");
    at_ = end;
  }

  size_t UnclosedEnd(size_t quote, bool raw) const {
    size_t at = quote + 1;
    while (at < text_.size() && text_[at] != '\n' && text_[at] != '\r') {
      if (!raw && text_[at] == '\\') {
        size_t step = EscapeLength(at);
        if (step == 0) return EscapeFailure(at);
        at += step;
      } else {
        ++at;
      }
    }
    return at < text_.size() ? at + 1 : at;
  }

  const std::u32string& text_;
  Issues& issues_;
  size_t at_ = 0;
  std::vector<LexedToken> tokens_;
};

}  // namespace

std::vector<LexedToken> Lex(const Source& source, Issues& issues) { return Lexer(source, issues).Run(); }

std::string_view DisplayName(Token token) { return kDisplay[static_cast<size_t>(token)]; }

}  // namespace homeostat::cel::internal

namespace homeostat::cel {

bool IsReservedWord(std::string_view name) {
  static constexpr std::array<std::string_view, 21> kReserved = {
      "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
      "let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while"};
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

}  // namespace homeostat::cel
