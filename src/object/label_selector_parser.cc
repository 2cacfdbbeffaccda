#include "object/internal/label_selector_parser.h"

#include <array>

#include "homeostat/base/text.h"
#include "homeostat/object/names.h"

namespace homeostat::object::internal {
namespace {

constexpr std::array<std::pair<std::string_view, SelectorOperator>, 7> kOperators{{
    {"in", SelectorOperator::kIn},
    {"notin", SelectorOperator::kNotIn},
    {"=", SelectorOperator::kEquals},
    {"==", SelectorOperator::kDoubleEquals},
    {"!=", SelectorOperator::kNotEquals},
    {">", SelectorOperator::kGreaterThan},
    {"<", SelectorOperator::kLessThan},
}};
// The order in which upstream lists them.
constexpr std::string_view kOperatorList = "in, notin, =, ==, !=, gt, lt";

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSpecial(char c) { return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<'; }

std::unexpected<Status> Unexpected(std::string_view found, std::string_view expected) {
  return Fail(BadRequestError("found '" + std::string(found) + "', expected: " + std::string(expected)));
}

}  // namespace

LabelSelectorParser::LabelSelectorParser(std::string_view text) : text_(text) {
  do {
    tokens_.push_back(Scan());
  } while (tokens_.back().kind != Kind::kEnd);
}

LabelSelectorParser::Token LabelSelectorParser::Scan() {
  while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  // A NUL ends the text where a token would begin; behind a token it only ends that.
  if (at_ == text_.size() || text_[at_] == '\0') return {};
  size_t start = at_++;
  char c = text_[start];
  if (IsSpecial(c)) {
    bool two = at_ < text_.size() && text_[at_] == '=' && (c == '=' || c == '!');
    if (two) ++at_;
    Kind kind = two          ? Kind::kOperator
                : c == '('   ? Kind::kOpen
                : c == ')'   ? Kind::kClose
                : c == ','   ? Kind::kComma
                : c == '!'   ? Kind::kNot
                             : Kind::kOperator;
    Token token{kind, text_.substr(start, at_ - start)};
    SkipNul();
    return token;
  }
  while (at_ < text_.size() && !IsSpace(text_[at_]) && !IsSpecial(text_[at_]) && text_[at_] != '\0') ++at_;
  Token word{Kind::kWord, text_.substr(start, at_ - start)};
  SkipNul();
  return word;
}

void LabelSelectorParser::SkipNul() {
  if (at_ < text_.size() && text_[at_] == '\0') ++at_;
}

Result<std::vector<LabelRequirement>> LabelSelectorParser::Parse() {
  std::vector<LabelRequirement> requirements;
  while (Peek().kind != Kind::kEnd) {
    if (Peek().kind != Kind::kWord && Peek().kind != Kind::kNot) {
      return Unexpected(Peek().text, "!, identifier, or 'end of string'");
    }
    Result<LabelRequirement> requirement = ParseRequirement();
    if (!requirement) {
      return Fail(BadRequestError("unable to parse requirement: " + requirement.error().message()));
    }
    requirements.push_back(*std::move(requirement));
    const Token& separator = Take();
    if (separator.kind == Kind::kEnd) break;
    if (separator.kind != Kind::kComma) return Unexpected(separator.text, "',' or 'end of string'");
    if (Peek().kind != Kind::kWord && Peek().kind != Kind::kNot) {
      return Unexpected(Peek().text, "identifier after ','");
    }
  }
  return requirements;
}

Result<LabelRequirement> LabelSelectorParser::ParseRequirement() {
  bool absent = Peek().kind == Kind::kNot;
  if (absent) Take();
  const Token& key = Take();
  if (key.kind != Kind::kWord) return Unexpected(key.text, "identifier");
  if (Messages messages = IsQualifiedName(key.text); !messages.empty()) {
    std::string detail;
    for (const std::string& message : messages) detail += (detail.empty() ? "" : "; ") + message;
    return Fail(BadRequestError("<nil>: Invalid value: " + GoQuote(key.text) + ": " + detail));
  }
  std::string name(key.text);
  if (absent) return LabelRequirement::Make(std::move(name), SelectorOperator::kDoesNotExist, {});
  if (Peek().kind == Kind::kEnd || Peek().kind == Kind::kComma) {
    return LabelRequirement::Make(std::move(name), SelectorOperator::kExists, {});
  }
  TRY_ASSIGN(SelectorOperator op, ParseOperator());
  bool set = op == SelectorOperator::kIn || op == SelectorOperator::kNotIn;
  TRY_ASSIGN(std::vector<std::string> values, set ? ParseSet() : ParseExactValue());
  return LabelRequirement::Make(std::move(name), op, std::move(values));
}

Result<SelectorOperator> LabelSelectorParser::ParseOperator() {
  const Token& token = Take();
  if (token.kind == Kind::kWord || token.kind == Kind::kOperator) {
    for (const auto& [text, op] : kOperators) {
      if (text == token.text) return op;
    }
  }
  return Unexpected(token.text, kOperatorList);
}

Result<std::vector<std::string>> LabelSelectorParser::ParseSet() {
  const Token& open = Take();
  if (open.kind != Kind::kOpen) {
    return Fail(BadRequestError("found '" + std::string(open.text) + "' expected: '('"));
  }
  if (Peek().kind == Kind::kClose) {
    Take();
    return std::vector<std::string>{""};
  }
  if (Peek().kind != Kind::kWord && Peek().kind != Kind::kComma) {
    return Unexpected(Peek().text, "',', ')' or identifier");
  }
  TRY_ASSIGN(std::set<std::string> items, ParseSetItems());
  Take();
  return std::vector<std::string>(items.begin(), items.end());
}

// Up to the closing parenthesis. Nothing between commas is the empty value.
Result<std::set<std::string>> LabelSelectorParser::ParseSetItems() {
  std::set<std::string> items;
  while (true) {
    const Token& token = Take();
    if (token.kind == Kind::kWord) {
      items.emplace(token.text);
      if (Peek().kind == Kind::kClose) return items;
      if (Peek().kind != Kind::kComma) return Unexpected(Peek().text, "',' or ')'");
    } else if (token.kind == Kind::kComma) {
      if (items.empty()) items.emplace();
      if (Peek().kind == Kind::kComma) items.emplace();
      if (Peek().kind == Kind::kClose) {
        items.emplace();
        return items;
      }
    } else {
      return Unexpected(token.text, "',', or identifier");
    }
  }
}

Result<std::vector<std::string>> LabelSelectorParser::ParseExactValue() {
  if (Peek().kind == Kind::kEnd || Peek().kind == Kind::kComma) return std::vector<std::string>{""};
  const Token& value = Take();
  if (value.kind != Kind::kWord) return Unexpected(value.text, "identifier");
  return std::vector<std::string>{std::string(value.text)};
}

}  // namespace homeostat::object::internal
