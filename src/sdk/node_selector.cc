#include "sdk/node_selector.h"

#include <algorithm>
#include <charconv>

namespace homeostat::sdk {
namespace {

using object::LabelRequirement;
using object::SelectorOperator;

std::optional<SelectorOperator> OperatorOf(std::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (text == "Gt") return SelectorOperator::kGreaterThan;
  if (text == "Lt") return SelectorOperator::kLessThan;
  return std::nullopt;
}

bool AddRequirement(const api::core::v1::NodeSelectorRequirement& from, std::vector<LabelRequirement>& to) {
  std::optional<SelectorOperator> op = OperatorOf(from.operator_());
  if (!op) return false;
  std::vector<std::string> values;
  for (std::string_view value : from.values()) values.emplace_back(value);
  auto made = LabelRequirement::Make(std::string(from.key()), *op, std::move(values));
  if (!made) return false;
  to.push_back(*std::move(made));
  return true;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string_view> Text(const object::Value& labels, std::string_view key) {
  object::Value value = labels.Get(key);
  if (!value) return std::nullopt;
  return value.AsString();
}

}  // namespace

NodeTerm::NodeTerm(const api::core::v1::NodeSelectorTerm& term) {
  never_ = term.match_expressions().empty() && term.match_fields().empty();
  for (auto requirement : term.match_expressions()) {
    if (!AddRequirement(requirement, labels_)) never_ = true;
  }
  for (auto requirement : term.match_fields()) {
    // The one field there is.
    if (requirement.key() != "metadata.name" || !AddRequirement(requirement, fields_)) never_ = true;
  }
}

bool NodeTerm::Matches(std::string_view node_name, const object::Value& labels) const {
  if (never_) return false;
  for (const LabelRequirement& requirement : fields_) {
    if (!requirement.Matches(node_name)) return false;
  }
  for (const LabelRequirement& requirement : labels_) {
    if (!requirement.Matches(Text(labels, requirement.key))) return false;
  }
  return true;
}

std::optional<std::vector<std::string>> NodeTerm::PinnedNodes() const {
  std::optional<std::vector<std::string>> pinned;
  for (const LabelRequirement& requirement : fields_) {
    if (requirement.op != SelectorOperator::kIn) continue;
    if (!pinned) {
      pinned = requirement.values;
    } else {
      std::erase_if(*pinned, [&](const std::string& name) { return !requirement.Matches(name); });
    }
  }
  return pinned;
}

NodeSelector::NodeSelector(const api::core::v1::NodeSelector& selector) {
  for (auto term : selector.node_selector_terms()) terms_.emplace_back(term);
}

bool NodeSelector::Matches(std::string_view node_name, const object::Value& labels) const {
  return std::ranges::any_of(terms_, [&](const NodeTerm& term) { return term.Matches(node_name, labels); });
}

bool Toleration::Tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op == "Exists") return true;
  if (op.empty() || op == "Equal") return value == taint.value;
  std::optional<int64_t> limit = Number(value), actual = Number(taint.value);
  if (!limit || !actual) return false;
  if (op == "Lt") return *actual < *limit;
  if (op == "Gt") return *actual > *limit;
  return false;
}

bool Tolerated(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const Toleration& toleration) { return toleration.Tolerates(taint); });
}

}  // namespace homeostat::sdk
