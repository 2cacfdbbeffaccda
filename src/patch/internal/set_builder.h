// SetBuilder: builds the levels of a FieldSet, inner ones before outer ones, with one growing buffer for all of them.
//
//   size_t start = out.Begin();
//   for (…) out.Push({element, children_built_with_out, member});
//   return out.End(start);
#pragma once

#include <algorithm>
#include <vector>

#include "patch/field_set.h"

namespace homeostat::patch::internal {

class SetBuilder {
 public:
  explicit SetBuilder(Arena& arena) : arena_(arena) {}

  size_t Begin() const { return pending_.size(); }
  // Steps come in sorted order (or SortFrom is called). One that is neither member nor has children is left out.
  void Push(const FieldSet::Entry& entry) {
    if (entry.member || !entry.children.empty()) pending_.push_back(entry);
  }
  // Sorts what was pushed since `start`; steps there differ from each other.
  void SortFrom(size_t start) {
    auto first = pending_.begin() + static_cast<ptrdiff_t>(start);
    auto before = [](const FieldSet::Entry& a, const FieldSet::Entry& b) { return a.element < b.element; };
    if (!std::is_sorted(first, pending_.end(), before)) std::sort(first, pending_.end(), before);
  }
  // Sorts what was pushed since `start`; of equal steps one is left, a member without children. Whether there were any.
  bool SortMerged(size_t start) {
    auto first = pending_.begin() + static_cast<ptrdiff_t>(start);
    std::sort(first, pending_.end(),
              [](const FieldSet::Entry& a, const FieldSet::Entry& b) { return a.element < b.element; });
    auto last = first;
    for (auto at = first; at != pending_.end(); ++at) {
      if (at != first && std::prev(last)->element == at->element) {
        *std::prev(last) = {at->element, {}, true};
      } else {
        *last++ = *at;
      }
    }
    bool merged = last != pending_.end();
    pending_.erase(last, pending_.end());
    return merged;
  }
  FieldSet End(size_t start) {
    size_t count = pending_.size() - start;
    if (count == 0) return {};
    auto* entries = arena_.AllocateArray<FieldSet::Entry>(count);
    std::uninitialized_copy(pending_.begin() + static_cast<ptrdiff_t>(start), pending_.end(), entries);
    pending_.resize(start);
    return FieldSet(std::span<const FieldSet::Entry>(entries, count));
  }

  // Forgets what was pushed since `start`.
  void Drop(size_t start) { pending_.resize(start); }
  // The step pushed last; there must be one.
  const FieldSet::Entry& Last() const { return pending_.back(); }
  // What was pushed since `start`, taken back.
  std::vector<FieldSet::Entry> TakeFrom(size_t start) {
    std::vector<FieldSet::Entry> taken(pending_.begin() + static_cast<ptrdiff_t>(start), pending_.end());
    pending_.resize(start);
    return taken;
  }

  Arena& arena() { return arena_; }

 private:
  Arena& arena_;
  std::vector<FieldSet::Entry> pending_;
};

}  // namespace homeostat::patch::internal
