#include "object/internal/json_check.h"

#include <charconv>
#include <cstdio>
#include <vector>

#include "homeostat/object/json.h"
#include "object/internal/number.h"
#include "object/internal/utf8.h"

namespace homeostat::object::internal {
namespace {

constexpr std::string_view kUnexpectedEnd = "unexpected end of JSON input";

// A character as Go's messages show it: the octet taken as a code point, in single quotes, escaped unless printable.
std::string QuotedCharacter(uint8_t octet) {
  switch (octet) {
    case '\'':
      return "'\\''";
    case '"':
      return "'\"'";
    case '\\':
      return "'\\\\'";
    case '\a':
      return "'\\a'";
    case '\b':
      return "'\\b'";
    case '\f':
      return "'\\f'";
    case '\n':
      return "'\\n'";
    case '\r':
      return "'\\r'";
    case '\t':
      return "'\\t'";
    case '\v':
      return "'\\v'";
    default:
      break;
  }
  char escaped[16];
  if (octet < 0x20 || octet == 0x7F) {
    std::snprintf(escaped, sizeof(escaped), "'\\x%02x'", octet);
    return escaped;
  }
  if ((octet >= 0x80 && octet <= 0xA0) || octet == 0xAD) {
    std::snprintf(escaped, sizeof(escaped), "'\\u%04x'", octet);
    return escaped;
  }
  std::string quoted = "'";
  AppendRune(quoted, octet);
  return quoted + "'";
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSurrogate(int unit) { return unit >= 0xD800 && unit < 0xE000; }

// One pass over the text, without recursion. Expectations are those between tokens; what a token may hold is in the
// Scan… functions.
class Scanner {
 public:
  Scanner(std::string_view text, bool clamp) : text_(text), clamp_(clamp) {}

  Result<std::string> Run() {
    while (error_.empty() && !done_) Step();
    if (error_.empty()) error_ = std::move(overflow_);
    if (!error_.empty()) return Fail(BadRequestError(error_));
    mended_.append(text_.substr(copied_));
    return std::move(mended_);
  }

 private:
  enum class Expect { kValue, kValueOrEnd, kNameOrEnd, kName, kColon, kAfterValue };

  void Step() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ == text_.size()) {
      done_ = expect_ == Expect::kAfterValue && open_.empty();
      if (!done_) error_ = kUnexpectedEnd;
      return;
    }
    char c = text_[at_];
    switch (expect_) {
      case Expect::kValueOrEnd:
        if (c == ']') return Close();
        [[fallthrough]];
      case Expect::kValue:
        return ScanValue(c);
      case Expect::kNameOrEnd:
        if (c == '}') return Close();
        [[fallthrough]];
      case Expect::kName:
        if (c != '"') return Refuse("looking for beginning of object key string");
        ScanString();
        expect_ = Expect::kColon;
        return;
      case Expect::kColon:
        if (c != ':') return Refuse("after object key");
        ++at_;
        expect_ = Expect::kValue;
        return;
      case Expect::kAfterValue:
        return AfterValue(c);
    }
  }

  void AfterValue(char c) {
    if (open_.empty()) return Refuse("after top-level value");
    bool object = open_.back() == '{';
    if (c == ',') {
      ++at_;
      expect_ = object ? Expect::kName : Expect::kValue;
    } else if (c == (object ? '}' : ']')) {
      Close();
    } else {
      Refuse(object ? "after object key:value pair" : "after array element");
    }
  }

  void Close() {
    open_.pop_back();
    ++at_;
    expect_ = Expect::kAfterValue;
  }

  void Open(char c) {
    if (open_.size() >= static_cast<size_t>(kMaxDepth)) return Refuse("exceeded max depth");
    open_.push_back(c);
    ++at_;
    expect_ = c == '{' ? Expect::kNameOrEnd : Expect::kValueOrEnd;
  }

  void ScanValue(char c) {
    if (c == '{' || c == '[') return Open(c);
    expect_ = Expect::kAfterValue;
    if (c == '"') return ScanString();
    if (c == '-' || IsDigit(c)) return ScanNumber();
    if (c == 't') return ScanLiteral("true");
    if (c == 'f') return ScanLiteral("false");
    if (c == 'n') return ScanLiteral("null");
    Refuse("looking for beginning of value");
  }

  void ScanLiteral(std::string_view literal) {
    for (size_t i = 0; i < literal.size(); ++i, ++at_) {
      if (AtEnd() || text_[at_] != literal[i]) {
        return Refuse("in literal " + std::string(literal) + " (expecting '" + literal[i] + "')");
      }
    }
  }

  void ScanNumber() {
    size_t start = at_;
    if (text_[at_] == '-') {
      ++at_;
      if (AtEnd() || !IsDigit(text_[at_])) return Refuse("in numeric literal");
    }
    if (text_[at_] == '0') {
      ++at_;
    } else {
      SkipDigits();
    }
    bool integer = true;
    if (at_ < text_.size() && text_[at_] == '.') {
      integer = false;
      ++at_;
      if (AtEnd() || !IsDigit(text_[at_])) return Refuse("after decimal point in numeric literal");
      SkipDigits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (AtEnd() || !IsDigit(text_[at_])) return Refuse("in exponent of numeric literal");
      SkipDigits();
    }
    JudgeNumber(text_.substr(start, at_ - start), integer);
  }

  void JudgeNumber(std::string_view number, bool integer) {
    int64_t exact = 0;
    if (integer && std::from_chars(number.data(), number.data() + number.size(), exact).ec == std::errc()) return;
    if (!ParseDouble(number)) {
      if (clamp_) {
        Mend(at_ - number.size(), number.size(), number.starts_with('-') ? "-1.7976931348623157e308" : "1.7976931348623157e308");
      } else if (overflow_.empty()) {
        overflow_ = std::string(kBeyondDoubles) + std::string(number) + " into Go value of type float64";
      }
    } else if (integer) {
      Mend(at_, 0, "e0");
    }
  }

  void SkipDigits() {
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  }

  void ScanString() {
    ++at_;
    while (true) {
      if (AtEnd()) {
        error_ = kUnexpectedEnd;
        return;
      }
      uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') {
        ++at_;
        return;
      }
      if (c < 0x20) return Refuse("in string literal");
      if (c == '\\') {
        if (!ScanEscape()) return;
      } else if (c < 0x80) {
        ++at_;
      } else {
        Rune rune = DecodeRune(text_.substr(at_));
        if (!rune.valid) Mend(at_, 1, "\xEF\xBF\xBD");
        at_ += rune.size;
      }
    }
  }

  bool ScanEscape() {
    ++at_;
    if (!AtEnd() && text_[at_] == 'u') return ScanUnicodeEscape();
    if (AtEnd() || std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
      Refuse("in string escape code");
      return false;
    }
    ++at_;
    return true;
  }

  // At the 'u'.
  bool ScanUnicodeEscape() {
    size_t start = at_ - 1;
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (AtEnd() || !std::isxdigit(static_cast<uint8_t>(text_[at_]))) {
        Refuse("in \\u hexadecimal character escape");
        return false;
      }
    }
    int unit = UnitAt(start);
    if (!IsSurrogate(unit)) return true;
    int next = unit < 0xDC00 ? UnitAt(at_) : -1;
    if (next >= 0xDC00 && next < 0xE000) {
      at_ += 6;
    } else {
      Mend(start, 6, "\\ufffd");
    }
    return true;
  }

  // The code unit of the \uXXXX that stands there, or -1.
  int UnitAt(size_t at) const {
    if (text_.size() < at + 6 || text_[at] != '\\' || text_[at + 1] != 'u') return -1;
    int unit = 0;
    const char* digits = text_.data() + at + 2;
    auto [end, error] = std::from_chars(digits, digits + 4, unit, 16);
    return error == std::errc() && end == digits + 4 ? unit : -1;
  }

  void Mend(size_t at, size_t length, std::string_view replacement) {
    mended_.append(text_.substr(copied_, at - copied_)).append(replacement);
    copied_ = at + length;
  }

  // Go's scanner is told of the end by a space that follows the text: inside of tokens it is that space which is wrong.
  bool AtEnd() const { return at_ == text_.size(); }

  void Refuse(std::string_view context) {
    uint8_t octet = AtEnd() ? ' ' : static_cast<uint8_t>(text_[at_]);
    error_ = "invalid character " + QuotedCharacter(octet) + " " + std::string(context);
  }

  std::string_view text_;
  const bool clamp_;
  size_t at_ = 0;
  Expect expect_ = Expect::kValue;
  std::vector<char> open_;
  bool done_ = false;
  std::string error_;
  std::string overflow_;
  std::string mended_;
  size_t copied_ = 0;
};

}  // namespace

Result<std::string> MendJson(std::string_view text, bool clamp) { return Scanner(text, clamp).Run(); }

}  // namespace homeostat::object::internal
