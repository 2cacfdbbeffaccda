#include "patch/internal/list_order.h"

#include <algorithm>

#include "patch/internal/strategic_errors.h"

namespace homeostat::patch::internal {

namespace {

bool IsDeletion(const Value& item) { return item.Get("$patch").AsString() == "delete"; }

Done CheckKeys(std::span<const Value> items, std::string_view merge_key) {
  for (const Value& item : items) {
    if (!item.IsObject()) return Fail(NotAMap(item));
    if (item.Find(merge_key) == nullptr) return Fail(NoMergeKey(item, merge_key));
  }
  return {};
}

struct Placed {
  Value item;
  ptrdiff_t position;  // in the order; -1 if it is not there
};

// As far as all items have a place this is a stable sort. Upstream's comparison puts an item without one both before
// and after any other; sorting by insertion then gives what upstream gives.
void SortPlaced(std::vector<Placed>& items) {
  bool all = std::all_of(items.begin(), items.end(), [](const Placed& placed) { return placed.position >= 0; });
  if (all) {
    std::stable_sort(items.begin(), items.end(),
                     [](const Placed& a, const Placed& b) { return a.position < b.position; });
    return;
  }
  auto before = [](const Placed& a, const Placed& b) {
    return a.position < 0 || b.position < 0 || a.position < b.position;
  };
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t j = i; j > 0 && before(items[j], items[j - 1]); --j) std::swap(items[j], items[j - 1]);
  }
}

// Deletions that are left in a list come last.
Result<std::vector<Value>> SortBy(const std::vector<Value>& items, std::span<const Value> order, const KeyIndex& index,
                                  std::string_view merge_key) {
  if (!merge_key.empty()) {
    TRY(CheckKeys(items, merge_key));
    TRY(CheckKeys(order, merge_key));
  }
  std::vector<Placed> placed;
  std::vector<Value> sorted, deletions;
  for (const Value& item : items) {
    if (!merge_key.empty() && IsDeletion(item))
      deletions.push_back(item);
    else
      placed.push_back({item, index.Find(ItemKey(item, merge_key))});
  }
  SortPlaced(placed);
  for (const Placed& one : placed) sorted.push_back(one.item);
  sorted.insert(sorted.end(), deletions.begin(), deletions.end());
  return sorted;
}

}  // namespace

Value ItemKey(const Value& item, std::string_view merge_key) { return merge_key.empty() ? item : item.Get(merge_key); }

KeyIndex::KeyIndex(std::span<const Value> items, std::string_view merge_key) {
  for (size_t i = 0; i < items.size(); ++i) Add(ItemKey(items[i], merge_key), i);
}

ptrdiff_t KeyIndex::Find(const Value& key) const {
  auto found = positions_.find(key);
  return found == positions_.end() ? -1 : static_cast<ptrdiff_t>(found->second);
}

Result<std::vector<Value>> OrderItems(const std::vector<Value>& merged, const ListOrder& order) {
  KeyIndex in_patch(order.patch_order, order.merge_key), in_live(order.live_order, order.merge_key);
  std::vector<Value> of_patch, of_live;
  for (const Value& item : merged)
    (in_patch.Find(ItemKey(item, order.merge_key)) >= 0 ? of_patch : of_live).push_back(item);
  TRY_ASSIGN(std::vector<Value> right, SortBy(of_patch, order.patch_order, in_patch, order.merge_key));
  TRY_ASSIGN(std::vector<Value> left, SortBy(of_live, order.live_order, in_live, order.merge_key));
  std::vector<Value> all;
  all.reserve(merged.size());
  size_t l = 0, r = 0;
  while (l < left.size() && r < right.size()) {
    ptrdiff_t place_left = in_live.Find(ItemKey(left[l], order.merge_key)),
              place_right = in_live.Find(ItemKey(right[r], order.merge_key));
    bool left_first = place_left >= 0 && place_right >= 0 && place_left < place_right;
    all.push_back(left_first ? left[l++] : right[r++]);
  }
  all.insert(all.end(), left.begin() + static_cast<ptrdiff_t>(l), left.end());
  all.insert(all.end(), right.begin() + static_cast<ptrdiff_t>(r), right.end());
  return all;
}

}  // namespace homeostat::patch::internal
