// The order in which a merged list comes out: items that the patch names in the patch's order, the others in the order
// they had, the two interleaved as the live list has them as far as that can be.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

// What tells items of a list apart: the merge key's value of an object, or the item itself where there is no merge key.
Value ItemKey(const Value& item, std::string_view merge_key);

// Keys, each with the first position it has in a list.
class KeyIndex {
 public:
  KeyIndex() = default;
  KeyIndex(std::span<const Value> items, std::string_view merge_key);
  // The position of a key, or -1.
  ptrdiff_t Find(const Value& key) const;
  void Add(const Value& key, size_t position) { positions_.emplace(key, position); }

 private:
  struct Before {
    bool operator()(const Value& a, const Value& b) const { return object::Compare(a, b) < 0; }
  };
  std::map<Value, size_t, Before> positions_;
};

struct ListOrder {
  std::string_view merge_key;          // empty for lists of scalars
  std::span<const Value> patch_order;  // names the items that count as the patch's
  std::span<const Value> live_order;
};

// The merged items in order. An error if an item lacks the merge key.
Result<std::vector<Value>> OrderItems(const std::vector<Value>& merged, const ListOrder& order);

}  // namespace homeostat::patch::internal
