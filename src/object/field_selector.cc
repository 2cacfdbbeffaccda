#include <algorithm>

#include "homeostat/object/json.h"
#include "homeostat/object/selectors.h"
#include "object/internal/utf8.h"

namespace homeostat::object {
namespace {

// The terms between commas that no backslash stands before.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  if (!text.empty()) terms.push_back(text.substr(start));
  return terms;
}

Result<std::string> Unescape(std::string_view text) {
  constexpr std::string_view kPrefix = "invalid field selector: ";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ',' || c == '=') {
      return Fail(BadRequestError(std::string(kPrefix) + "unescaped character in value: " + std::to_string(c)));
    }
    if (c == '\\') {
      std::string_view rest = text.substr(i + 1);
      if (rest.empty() || (rest[0] != '\\' && rest[0] != ',' && rest[0] != '=')) {
        std::string sequence = "\\";
        if (!rest.empty()) internal::AppendRune(sequence, internal::DecodeRune(rest).value);
        return Fail(BadRequestError(std::string(kPrefix) + "invalid escape sequence: " + sequence));
      }
      c = text[++i];
    }
    out.push_back(c);
  }
  return out;
}

// Finds the first operator; false if there is none.
bool SplitTerm(std::string_view term, FieldRequirement& requirement, std::string_view& escaped_value) {
  for (size_t i = 0; i < term.size(); ++i) {
    std::string_view rest = term.substr(i);
    size_t length = rest.starts_with("!=") || rest.starts_with("==") ? 2 : rest.starts_with('=') ? 1 : 0;
    if (length == 0) continue;
    requirement.field = term.substr(0, i);
    requirement.equals = rest[0] != '!';
    escaped_value = rest.substr(length);
    return true;
  }
  return false;
}

}  // namespace

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  std::vector<std::string_view> terms = SplitTerms(text);
  std::sort(terms.begin(), terms.end());
  FieldSelector selector;
  for (std::string_view term : terms) {
    if (term.empty()) continue;
    FieldRequirement requirement;
    std::string_view escaped_value;
    if (!SplitTerm(term, requirement, escaped_value)) {
      return Fail(BadRequestError("invalid selector: '" + std::string(text) + "'; can't understand '" +
                                  std::string(term) + "'"));
    }
    TRY_ASSIGN(requirement.value, Unescape(escaped_value));
    if (requirement.field.empty() && requirement.value.empty()) continue;
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

FieldSelector FieldSelector::FromRequirements(std::vector<FieldRequirement> requirements) {
  FieldSelector selector;
  selector.requirements_ = std::move(requirements);
  return selector;
}

Result<FieldSelector> FieldSelector::Transformed(const Transform& transform) const {
  FieldSelector selector;
  for (FieldRequirement requirement : requirements_) {
    TRY(transform(requirement));
    if (requirement.field.empty() && requirement.value.empty()) continue;
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool FieldSelector::Matches(const std::function<std::string_view(std::string_view)>& look_up) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const FieldRequirement& requirement) {
    return (look_up(requirement.field) == requirement.value) == requirement.equals;
  });
}

bool FieldSelector::Matches(const Value& root) const {
  std::string scratch;
  return Matches([&](std::string_view field) -> std::string_view {
    Value at = root;
    while (true) {
      size_t dot = field.find('.');
      at = at.Get(field.substr(0, dot));
      if (dot == std::string_view::npos) break;
      field.remove_prefix(dot + 1);
    }
    if (at.IsString()) return at.AsString();
    if (!at || at.IsList() || at.IsObject()) return {};
    scratch = JsonText(at);
    return scratch;
  });
}

std::optional<std::string_view> FieldSelector::RequiresExactMatch(std::string_view field) const {
  for (const FieldRequirement& requirement : requirements_) {
    if (requirement.equals && requirement.field == field) return requirement.value;
  }
  return std::nullopt;
}

std::string FieldSelector::ToString() const {
  std::string text;
  for (const FieldRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text.append(requirement.field).append(requirement.equals ? "=" : "!=").append(EscapeFieldValue(requirement.value));
  }
  return text;
}

std::string EscapeFieldValue(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace homeostat::object
