#include "quota/amounts.h"

namespace homeostat::quota {

using object::Quantity;

Amounts ParseAmounts(const Value& list) {
  Amounts amounts;
  for (const object::Member& member : list.members()) {
    if (member.value.IsInt()) {
      amounts.insert_or_assign(std::string(member.name()), Quantity::Of(member.value.AsInt()));
    } else if (auto quantity = Quantity::Parse(member.value.AsString())) {
      amounts.insert_or_assign(std::string(member.name()), *std::move(quantity));
    }
  }
  return amounts;
}

Value ToValue(object::Arena& arena, const Amounts& amounts) {
  object::ObjectBuilder builder(arena);
  for (const auto& [name, amount] : amounts) builder.Append(arena.Copy(name), Value::String(arena, amount.ToString()));
  return builder.Build();
}

Names NamesOf(const Amounts& amounts) {
  Names names;
  for (const auto& [name, amount] : amounts) names.insert(name);
  return names;
}

bool IsEqual(const Amounts& a, const Amounts& b) {
  if (a.size() != b.size()) return false;
  for (auto at = a.begin(), other = b.begin(); at != a.end(); ++at, ++other) {
    if (at->first != other->first || at->second != other->second) return false;
  }
  return true;
}

void AddTo(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    auto [entry, fresh] = sum.try_emplace(name, amount);
    if (!fresh) entry->second.Add(amount);
  }
}

void RaiseTo(Amounts& maximum, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    auto [entry, fresh] = maximum.try_emplace(name, amount);
    if (!fresh && amount > entry->second) entry->second = amount;
  }
}

Amounts SubtractToZero(const Amounts& a, const Amounts& b) {
  Amounts result;
  for (const auto& [name, amount] : a) {
    Quantity rest = amount;
    if (auto other = b.find(name); other != b.end()) rest.Sub(other->second);
    result.emplace(name, rest.Sign() > 0 ? rest : Quantity());
  }
  for (const auto& [name, amount] : b) result.try_emplace(name);
  return result;
}

Amounts Mask(const Amounts& amounts, const Names& names) {
  Amounts masked;
  for (const auto& [name, amount] : amounts) if (names.contains(name)) masked.emplace(name, amount);
  return masked;
}

Amounts WithoutZeros(const Amounts& amounts) {
  Amounts rest;
  for (const auto& [name, amount] : amounts) if (!amount.IsZero()) rest.emplace(name, amount);
  return rest;
}

Names Negative(const Amounts& amounts) {
  Names names;
  for (const auto& [name, amount] : amounts) if (amount.Sign() < 0) names.insert(name);
  return names;
}

Names Exceeding(const Amounts& used, const Amounts& hard) {
  Names names;
  for (const auto& [name, limit] : hard) {
    auto found = used.find(name);
    if (found != used.end() && found->second > limit) names.insert(name);
  }
  return names;
}

std::string ToText(const Amounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += (text.empty() ? "" : ",") + name + "=" + amount.ToString();
  return text;
}

std::string ToText(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace homeostat::quota
