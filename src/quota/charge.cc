#include "quota/charge.h"

#include <algorithm>
#include <optional>

namespace homeostat::quota {
namespace {

bool Covers(const Balance& balance, const Evaluator& evaluator, const Names& matching, const Value& object) {
  return !matching.empty() && evaluator.IsInScopes(balance.scopes, object);
}

// A quota that covers the write, and by which names.
struct Addition {
  Balance* balance = nullptr;
  Names matching;
};

using Additions = std::expected<std::vector<Addition>, std::string>;

Additions FindCovering(std::span<Balance> balances, const Evaluator& evaluator, const Value& object, const Surroundings& around) {
  std::vector<Addition> covering;
  for (Balance& balance : balances) {
    Names matching = evaluator.Matching(NamesOf(balance.hard), around);
    if (!Covers(balance, evaluator, matching, object)) continue;
    if (std::string fault = evaluator.Fault(matching, object); !fault.empty()) {
      return std::unexpected("failed quota: " + balance.name + ": " + fault);
    }
    bool known = std::ranges::all_of(matching, [&](const std::string& name) { return balance.used.contains(name); });
    if (!known) return std::unexpected("status unknown for quota: " + balance.name + ", resources: " + ToText(matching));
    covering.push_back({&balance, std::move(matching)});
  }
  return covering;
}

}  // namespace

Balance ReadBalance(object::DocumentPtr quota) {
  const Value& root = quota->root();
  Balance balance;
  balance.name = root.Get("metadata").Get("name").AsString();
  balance.scopes = ScopesOf(root);
  balance.hard = ParseAmounts(root.Get("status").Get("hard"));
  balance.used = ParseAmounts(root.Get("status").Get("used"));
  balance.document = std::move(quota);
  return balance;
}

std::expected<void, std::string> Charge(std::span<Balance> balances, const Evaluator& evaluator, const Attempt& attempt,
                                        const Surroundings& around) {
  if (!evaluator.Handles(attempt)) return {};
  Additions covering = FindCovering(balances, evaluator, attempt.object, around);
  if (!covering) return std::unexpected(covering.error());
  if (covering->empty()) return {};
  Amounts usage = evaluator.Usage(attempt.object, around);
  if (Names negative = Negative(usage); !negative.empty()) {
    return std::unexpected("quota usage is negative for resource(s): " + ToText(negative));
  }
  // An update costs the difference, where the quota covered the object before.
  std::optional<Amounts> difference;
  if (attempt.update && attempt.old_object) difference = SubtractToZero(usage, evaluator.Usage(attempt.old_object, around));
  std::vector<std::pair<Balance*, Amounts>> results;
  for (const Addition& addition : *covering) {
    Balance& balance = *addition.balance;
    bool covered_before = difference && Covers(balance, evaluator, addition.matching, attempt.old_object);
    Amounts requested = Mask(WithoutZeros(covered_before ? *difference : usage), NamesOf(balance.hard));
    if (requested.empty()) continue;
    Amounts used = balance.used;
    AddTo(used, requested);
    // What a status says has happened already.
    if (attempt.subresource != "status") {
      Names exceeded = Exceeding(Mask(used, NamesOf(requested)), balance.hard);
      if (!exceeded.empty()) {
        return std::unexpected("exceeded quota: " + balance.name + ", requested: " + ToText(Mask(requested, exceeded)) +
                               ", used: " + ToText(Mask(balance.used, exceeded)) + ", limited: " + ToText(Mask(balance.hard, exceeded)));
      }
    }
    results.emplace_back(&balance, std::move(used));
  }
  for (auto& [balance, used] : results) {
    balance->used = std::move(used);
    balance->changed = true;
  }
  return {};
}

}  // namespace homeostat::quota
