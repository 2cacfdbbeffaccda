// LazyMap: a map whose values are computed when an expression first asks for them: `variables.x` in admission policies.
//
// Source of the rules: Kubernetes' cel/lazy. Owned by whoever evaluates; for one evaluation at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cel/value.h"

namespace homeostat::cel {

class LazyMap final : public Map {
 public:
  // compute is called at most once. It may look at values of this map that were added before; an error is a value, too,
  // and is what each further use gives.
  void Add(std::string_view name, std::function<Value()> compute) {
    entries_.push_back({std::string(name), std::move(compute), std::nullopt});
  }

  uint64_t size() const override { return entries_.size(); }
  std::optional<Value> Find(const Value& key) const override {
    if (!key.IsString()) return std::nullopt;
    for (const Entry& entry : entries_) {
      if (entry.name == key.text()) return Compute(entry);
    }
    return std::nullopt;
  }
  Value KeyAt(uint64_t position) const override { return Value::String(entries_[position].name); }
  Value ValueAt(uint64_t position) const override { return Compute(entries_[position]); }

 private:
  struct Entry {
    std::string name;
    std::function<Value()> compute;
    mutable std::optional<Value> value;
  };
  static Value Compute(const Entry& entry) {
    if (!entry.value) entry.value = entry.compute();
    return *entry.value;
  }

  std::vector<Entry> entries_;
};

}  // namespace homeostat::cel
