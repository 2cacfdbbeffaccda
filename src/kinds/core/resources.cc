#include "kinds/core/resources.h"

#include <algorithm>

#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

using object::Quantity;

void AddAll(ResourceAmounts& sum, const ResourceAmounts& more) {
  for (const auto& [name, amount] : more) {
    auto [entry, fresh] = sum.try_emplace(name, amount);
    if (!fresh) entry->second.Add(amount);
  }
}

void RaiseTo(ResourceAmounts& maximum, const ResourceAmounts& other) {
  for (const auto& [name, amount] : other) {
    auto [entry, fresh] = maximum.try_emplace(name, amount);
    if (!fresh && amount > entry->second) entry->second = amount;
  }
}

ResourceAmounts OfContainer(const Value& container, std::string_view which) {
  return ParseResources(container.Get("resources").Get(which));
}

// Amounts of cpu and memory above zero: what quality of service goes by.
ResourceAmounts Compute(const Value& list) {
  ResourceAmounts amounts = ParseResources(list);
  std::erase_if(amounts, [](const auto& entry) {
    return (entry.first != "cpu" && entry.first != "memory") || entry.second.Sign() <= 0;
  });
  return amounts;
}

std::string_view Classify(const ResourceAmounts& requests, const ResourceAmounts& limits, bool all_limited) {
  if (requests.empty() && limits.empty()) return "BestEffort";
  return all_limited && requests == limits ? "Guaranteed" : "Burstable";
}

}  // namespace

ResourceAmounts ParseResources(const Value& list) {
  ResourceAmounts amounts;
  for (const object::Member& member : list.members()) {
    if (auto quantity = Quantity::Parse(member.value.AsString())) amounts.emplace(member.name(), *quantity);
  }
  return amounts;
}

Value ToValue(object::Arena& arena, const ResourceAmounts& amounts) {
  object::ObjectBuilder builder(arena);
  for (const auto& [name, amount] : amounts) builder.Append(arena.Copy(name), Value::String(arena, amount.ToString()));
  return builder.Build();
}

ResourceAmounts AggregateContainers(const Value& pod_spec, std::string_view which) {
  ResourceAmounts running, sidecars, peak;
  for (const Value& container : pod_spec.Get("containers").items()) AddAll(running, OfContainer(container, which));
  for (const Value& container : pod_spec.Get("initContainers").items()) {
    ResourceAmounts own = OfContainer(container, which);
    if (container.Get("restartPolicy").AsString() == "Always") {
      AddAll(running, own);
      AddAll(sidecars, own);
      RaiseTo(peak, sidecars);
    } else {
      AddAll(own, sidecars);
      RaiseTo(peak, own);
    }
  }
  RaiseTo(running, peak);
  return running;
}

std::string_view ComputeQosClass(const Value& pod_spec) {
  if (Value resources = pod_spec.Get("resources")) {
    ResourceAmounts limits = Compute(resources.Get("limits"));
    bool all_limited = resources.Get("limits").empty() || limits.size() == 2;
    return Classify(Compute(resources.Get("requests")), limits, all_limited);
  }
  ResourceAmounts requests, limits;
  bool all_limited = true;
  for (std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : pod_spec.Get(list).items()) {
      ResourceAmounts own = Compute(container.Get("resources").Get("limits"));
      all_limited = all_limited && own.size() == 2;
      AddAll(requests, Compute(container.Get("resources").Get("requests")));
      AddAll(limits, own);
    }
  }
  return Classify(requests, limits, all_limited);
}

}  // namespace homeostat::kinds
