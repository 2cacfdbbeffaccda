#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/names.h"
#include "homeostat/object/selectors.h"
#include "object/internal/label_selector_parser.h"

namespace homeostat::object {
namespace {

std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string JoinMessages(const Messages& messages, std::string_view separator) {
  std::string text;
  for (const std::string& message : messages) {
    if (!text.empty()) text += separator;
    text += message;
  }
  return text;
}

// Faults as a field error list prints them: alone as it is, several in brackets, each only once.
Done Aggregate(const Messages& faults) {
  Messages unique;
  for (const std::string& fault : faults) {
    if (std::find(unique.begin(), unique.end(), fault) == unique.end()) unique.push_back(fault);
  }
  if (unique.empty()) return {};
  if (unique.size() == 1) return Fail(BadRequestError(unique.front()));
  return Fail(BadRequestError("[" + JoinMessages(unique, ", ") + "]"));
}

std::string JsonList(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    if (text.size() > 1) text += ',';
    AppendJsonString(text, value);
  }
  return text + "]";
}

// What the number of values should have been, if it is wrong.
std::string_view CountFault(SelectorOperator op, size_t count) {
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return count == 0 ? "for 'in', 'notin' operators, values set can't be empty" : "";
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
    case SelectorOperator::kNotEquals:
      return count != 1 ? "exact-match compatibility requires one single value" : "";
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return count != 0 ? "values set must be empty for exists and does not exist" : "";
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      return count != 1 ? "for 'Gt', 'Lt' operators, exactly one value is required" : "";
  }
  return "";
}

std::string_view OperatorText(SelectorOperator op) {
  switch (op) {
    case SelectorOperator::kIn:
      return " in ";
    case SelectorOperator::kNotIn:
      return " notin ";
    case SelectorOperator::kEquals:
      return "=";
    case SelectorOperator::kDoubleEquals:
      return "==";
    case SelectorOperator::kNotEquals:
      return "!=";
    case SelectorOperator::kGreaterThan:
      return ">";
    case SelectorOperator::kLessThan:
      return "<";
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return "";
  }
  return "";
}

}  // namespace

Result<LabelRequirement> LabelRequirement::Make(std::string key, SelectorOperator op, std::vector<std::string> values) {
  Messages faults;
  if (Messages messages = IsQualifiedName(key); !messages.empty()) {
    faults.push_back("key: Invalid value: " + GoQuote(key) + ": " + JoinMessages(messages, "; "));
  }
  if (std::string_view fault = CountFault(op, values.size()); !fault.empty()) {
    faults.push_back("values: Invalid value: " + JsonList(values) + ": " + std::string(fault));
  }
  bool ordered = op == SelectorOperator::kGreaterThan || op == SelectorOperator::kLessThan;
  for (size_t i = 0; ordered && i < values.size(); ++i) {
    if (ParseInteger(values[i])) continue;
    faults.push_back("values[" + std::to_string(i) + "]: Invalid value: " + GoQuote(values[i]) +
                     ": for 'Gt', 'Lt' operators, the value must be an integer");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    Messages messages = IsValidLabelValue(values[i]);
    if (messages.empty()) continue;
    faults.push_back("values[" + std::to_string(i) + "][" + key + "]: Invalid value: " + GoQuote(values[i]) + ": " +
                     JoinMessages(messages, "; "));
  }
  TRY(Aggregate(faults));
  return LabelRequirement{std::move(key), op, std::move(values)};
}

bool LabelRequirement::Matches(std::optional<std::string_view> value) const {
  auto listed = [&] { return std::find(values.begin(), values.end(), *value) != values.end(); };
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
      return value && listed();
    case SelectorOperator::kNotIn:
    case SelectorOperator::kNotEquals:
      return !value || !listed();
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      break;
  }
  if (!value || values.size() != 1) return false;
  std::optional<int64_t> have = ParseInteger(*value), bound = ParseInteger(values[0]);
  if (!have || !bound) return false;
  return op == SelectorOperator::kGreaterThan ? *have > *bound : *have < *bound;
}

std::string LabelRequirement::ToString() const {
  if (op == SelectorOperator::kDoesNotExist) return "!" + key;
  std::string text = key;
  text += OperatorText(op);
  bool set = op == SelectorOperator::kIn || op == SelectorOperator::kNotIn;
  if (set) text += '(';
  std::vector<std::string> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() && op != SelectorOperator::kExists; ++i) {
    if (i > 0) text += ',';
    text += sorted[i];
  }
  if (set) text += ')';
  return text;
}

LabelSelector LabelSelector::Nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

LabelSelector LabelSelector::FromRequirements(std::vector<LabelRequirement> requirements) {
  LabelSelector selector;
  selector.requirements_ = std::move(requirements);
  std::stable_sort(selector.requirements_.begin(), selector.requirements_.end(),
                   [](const LabelRequirement& a, const LabelRequirement& b) { return a.key < b.key; });
  return selector;
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  TRY_ASSIGN(std::vector<LabelRequirement> requirements, internal::LabelSelectorParser(text).Parse());
  return FromRequirements(std::move(requirements));
}

namespace {

Result<LabelRequirement> FromExpression(const Value& expression) {
  constexpr std::array<std::pair<std::string_view, SelectorOperator>, 4> kOperators{
      {{"In", SelectorOperator::kIn},
       {"NotIn", SelectorOperator::kNotIn},
       {"Exists", SelectorOperator::kExists},
       {"DoesNotExist", SelectorOperator::kDoesNotExist}}};
  std::string_view name = expression.Get("operator").AsString();
  auto found = std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == kOperators.end()) {
    return Fail(BadRequestError(GoQuote(name) + " is not a valid label selector operator"));
  }
  std::vector<std::string> values;
  for (const Value& value : expression.Get("values").items()) values.emplace_back(value.AsString());
  return LabelRequirement::Make(std::string(expression.Get("key").AsString()), found->second, std::move(values));
}

}  // namespace

Result<LabelSelector> LabelSelector::FromLabelSelector(const Value& selector) {
  if (!selector) return Nothing();
  std::vector<LabelRequirement> requirements;
  for (const Member& label : selector.Get("matchLabels").members()) {
    TRY_ASSIGN(LabelRequirement requirement, LabelRequirement::Make(std::string(label.name()), SelectorOperator::kEquals,
                                                                    {std::string(label.value.AsString())}));
    requirements.push_back(std::move(requirement));
  }
  for (const Value& expression : selector.Get("matchExpressions").items()) {
    TRY_ASSIGN(LabelRequirement requirement, FromExpression(expression));
    requirements.push_back(std::move(requirement));
  }
  return FromRequirements(std::move(requirements));
}

LabelSelector LabelSelector::FromMap(const Value& labels) {
  std::vector<LabelRequirement> requirements;
  for (const Member& label : labels.members()) {
    requirements.push_back({std::string(label.name()), SelectorOperator::kEquals, {std::string(label.value.AsString())}});
  }
  return FromRequirements(std::move(requirements));
}

bool LabelSelector::Matches(const Value& labels) const {
  if (nothing_) return false;
  for (const LabelRequirement& requirement : requirements_) {
    const Member* label = labels.Find(requirement.key);
    if (!requirement.Matches(label ? std::optional(label->value.AsString()) : std::nullopt)) return false;
  }
  return true;
}

bool LabelSelector::Matches(const std::function<std::optional<std::string_view>(std::string_view)>& look_up) const {
  if (nothing_) return false;
  for (const LabelRequirement& requirement : requirements_) {
    if (!requirement.Matches(look_up(requirement.key))) return false;
  }
  return true;
}

std::optional<std::string_view> LabelSelector::RequiresExactMatch(std::string_view key) const {
  for (const LabelRequirement& requirement : requirements_) {
    if (requirement.key != key) continue;
    bool equality = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kEquals ||
                    requirement.op == SelectorOperator::kDoubleEquals;
    if (equality && requirement.values.size() == 1) return requirement.values[0];
    return std::nullopt;
  }
  return std::nullopt;
}

std::string LabelSelector::ToString() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.ToString();
  }
  return text;
}

}  // namespace homeostat::object
