#include <charconv>

#include "object/internal/jsonpath_step.h"
#include "object/internal/number.h"
#include "object/internal/utf8.h"

namespace homeostat::object::internal {
namespace {

using Step = JsonPath::Step;
using Steps = std::vector<Step>;

// Paths within filters and unions within … : each level is a call.
constexpr int kMaxNesting = 32;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Letters beyond ASCII may stand in names.
bool IsWordCharacter(char c) {
  return c == '_' || IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 0x80;
}
bool EndsWord(char c) { return std::string_view(" \t\r\n.,[]$@{}").find(c) != std::string_view::npos; }

std::unexpected<Status> Wrong(const std::string& text) { return Fail(BadRequestError(text)); }

std::optional<int64_t> Integer(std::string_view text) { return ParseInt(text, 10); }

class Parser {
 public:
  Parser(std::string_view text, int nesting) : text_(text), nesting_(nesting) {}

  Result<Steps> Parse() {
    if (nesting_ > kMaxNesting) return Wrong("path nests too deep");
    while (at_ < text_.size()) TRY(ParseStep());
    return std::move(steps_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  Done ParseStep() {
    char c = text_[at_];
    if (rest().starts_with("[?(")) return ParseFilter();
    if (rest().starts_with("..")) return ParseRecursive();
    if (c == ' ' || c == '@' || c == '$') {
      ++at_;
      return {};
    }
    if (c == '[') return ParseBrackets();
    if (c == '"' || c == '\'') return ParseQuoted(c);
    if (c == '.') {
      ++at_;
      return ParseField();
    }
    if (c == '+' || c == '-' || IsDigit(c)) return ParseNumber();
    if (IsWordCharacter(c)) return ParseWord();
    if (c == '\n' || c == '\r') return Wrong("unclosed action");
    return Wrong(std::string("unrecognized character in action: '") + c + "'");
  }

  Done ParseField() {
    std::string name;
    bool escaped = false;
    for (; at_ < text_.size() && !EndsWord(text_[at_]); ++at_) {
      if (text_[at_] == '\\') {
        // The character behind it is one of the name, whatever it is.
        escaped = true;
        if (++at_ == text_.size()) break;
      }
      if (text_[at_] != '\\') name += text_[at_];
    }
    bool wildcard = name == "*" && !escaped;
    steps_.push_back({.kind = wildcard ? Step::Kind::kWildcard : Step::Kind::kField, .text = wildcard ? "" : name});
    return {};
  }

  Done ParseRecursive() {
    if (!steps_.empty() && steps_.back().kind == Step::Kind::kRecursive) return Wrong("invalid multiple recursive descent");
    at_ += 2;
    steps_.push_back({.kind = Step::Kind::kRecursive});
    if (at_ < text_.size() && IsWordCharacter(text_[at_])) return ParseField();
    return {};
  }

  Done ParseWord() {
    size_t start = at_;
    while (at_ < text_.size() && !EndsWord(text_[at_])) ++at_;
    std::string word(text_.substr(start, at_ - start));
    if (word == "true" || word == "false") {
      steps_.push_back({.kind = Step::Kind::kConstant, .constant = Value::Bool(word == "true")});
    } else {
      steps_.push_back({.kind = Step::Kind::kUnknown, .text = word});
    }
    return {};
  }

  Done ParseNumber() {
    size_t start = at_++;
    while (at_ < text_.size() && (text_[at_] == '.' || IsDigit(text_[at_]))) ++at_;
    std::string_view number = text_.substr(start, at_ - start);
    Step step{.kind = Step::Kind::kConstant};
    if (std::optional<int64_t> integer = Integer(number)) {
      step.constant = Value::Int(*integer);
    } else {
      std::string_view digits = number.substr(number[0] == '+' ? 1 : 0);
      double value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end != digits.data() + digits.size()) {
        return Wrong("cannot parse number " + std::string(number));
      }
      step.constant = Value::Double(value);
    }
    steps_.push_back(std::move(step));
    return {};
  }

  Done ParseQuoted(char quote) {
    std::string value;
    for (++at_;; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') return Wrong("unterminated quoted string");
      if (text_[at_] == quote) break;
      if (text_[at_] == '\\') {
        if (++at_ >= text_.size()) return Wrong("unterminated quoted string");
        TRY(AppendEscaped(value));
      } else {
        value += text_[at_];
      }
    }
    ++at_;
    steps_.push_back({.kind = Step::Kind::kConstant, .text = value});
    return {};
  }

  // The escape whose letter stands there, as in Go's strings.
  Done AppendEscaped(std::string& value) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    char letter = text_[at_];
    if (size_t index = kLetters.find(letter); index != std::string_view::npos) {
      value += kMeanings[index];
      return {};
    }
    size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    uint32_t code = 0;
    std::string_view number = text_.substr(at_ + 1, digits);
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), code, 16);
    bool whole = digits > 0 && number.size() == digits && error == std::errc() && end == number.data() + digits;
    if (!whole) return Wrong("unquote string " + std::string(text_) + " error invalid syntax");
    if (letter == 'x') {
      value += static_cast<char>(code);
    } else {
      AppendRune(value, code > 0x10FFFF ? kReplacement : code);
    }
    at_ += digits;
    return {};
  }

  Done ParseBrackets() {
    size_t end = rest().find_first_of("]\n");
    if (end == std::string_view::npos || rest()[end] == '\n') return Wrong("unterminated array");
    std::string_view inside = rest().substr(1, end - 1);
    at_ += end + 1;
    if (inside == "*") inside = ":";
    if (inside.find(',') != std::string_view::npos) return ParseUnion(inside);
    bool quoted = inside.size() >= 2 && inside.front() == '\'' && inside.back() == '\'' &&
                  inside.substr(1, inside.size() - 2).find('\'') == std::string_view::npos;
    if (quoted) {
      TRY_ASSIGN(Steps steps, Nested("." + std::string(inside.substr(1, inside.size() - 2))));
      for (Step& step : steps) steps_.push_back(std::move(step));
      return {};
    }
    return ParseSlice(inside);
  }

  Done ParseUnion(std::string_view inside) {
    Step step{.kind = Step::Kind::kUnion};
    while (true) {
      size_t comma = inside.find(',');
      std::string_view part = inside.substr(0, comma);
      size_t first = part.find_first_not_of(' ');
      part = first == std::string_view::npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1);
      TRY_ASSIGN(Steps steps, Nested("[" + std::string(part) + "]"));
      step.paths.push_back(std::move(steps));
      if (comma == std::string_view::npos) break;
      inside.remove_prefix(comma + 1);
    }
    steps_.push_back(std::move(step));
    return {};
  }

  // first:last:stride, each of which may be left out.
  Done ParseSlice(std::string_view inside) {
    Step step{.kind = Step::Kind::kSlice};
    std::optional<int64_t>* const bounds[] = {&step.first, &step.last, &step.stride};
    std::string_view left = inside;
    for (size_t i = 0; i < 3; ++i) {
      size_t colon = left.find(':');
      std::string_view bound = left.substr(0, colon);
      if (bound.find_first_not_of("0123456789", bound.starts_with('-') ? 1 : 0) != std::string_view::npos) {
        return Wrong("invalid array index " + std::string(inside));
      }
      if (!bound.empty()) {
        *bounds[i] = Integer(bound);
        if (!*bounds[i]) return Wrong("array index " + std::string(bound) + " is not a number");
      }
      if (colon == std::string_view::npos) {
        step.one_item = i == 0;
        steps_.push_back(std::move(step));
        return {};
      }
      left.remove_prefix(colon + 1);
    }
    return Wrong("invalid array index " + std::string(inside));
  }

  Done ParseFilter() {
    at_ += 3;
    size_t start = at_;
    char quote = '\0';
    for (;; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') return Wrong("unterminated filter");
      char c = text_[at_];
      if (quote != '\0' && c == '\\') {
        ++at_;
      } else if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == ')') {
        break;
      }
    }
    std::string_view inside = text_.substr(start, at_ - start);
    if (!text_.substr(at_ + 1).starts_with(']')) return Wrong("unclosed array expect ]");
    at_ += 2;
    return AddFilter(inside);
  }

  // left operator right, or a path that must lead to something.
  Done AddFilter(std::string_view inside) {
    constexpr std::string_view kOperatorCharacters = "!<>=";
    Step step{.kind = Step::Kind::kFilter};
    size_t begin = inside.find_first_of(kOperatorCharacters);
    size_t end = begin == std::string_view::npos ? begin : inside.find_first_not_of(kOperatorCharacters, begin);
    if (begin == 0 || begin == std::string_view::npos || end == std::string_view::npos) {
      TRY_ASSIGN(Steps steps, Nested(std::string(inside)));
      step.text = "exists";
      step.paths.push_back(std::move(steps));
    } else {
      step.text = inside.substr(begin, end - begin);
      TRY_ASSIGN(Steps left, Nested(std::string(inside.substr(0, begin))));
      TRY_ASSIGN(Steps right, Nested(std::string(inside.substr(end))));
      step.paths.push_back(std::move(left));
      step.paths.push_back(std::move(right));
    }
    steps_.push_back(std::move(step));
    return {};
  }

  Result<Steps> Nested(const std::string& text) const { return Parser(text, nesting_ + 1).Parse(); }

  std::string_view text_;
  int nesting_;
  size_t at_ = 0;
  Steps steps_;
};

}  // namespace

Result<std::vector<JsonPath::Step>> ParseJsonPathSteps(std::string_view text) { return Parser(text, 0).Parse(); }

}  // namespace homeostat::object::internal
