#include <algorithm>

#include "homeostat/object/member_lookup.h"
#include "patch/internal/compare_values.h"
#include "patch/internal/set_builder.h"
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::EqualValues;
using internal::Identical;
using internal::ItemElement;
using object::MemberLookup;
using internal::SetBuilder;
using internal::Structure;
using object::Member;

namespace {

// What differs at one place: the thing itself, and things below it.
struct Difference {
  bool added = false, modified = false, removed = false;
  Comparison below;
};

class Comparer {
 public:
  explicit Comparer(Arena& arena) : arena_(arena), added_(arena), modified_(arena), removed_(arena) {}

  // Absent stands for a side that has nothing here; at least one has. What is new as a whole, which is all of an object that
  // is created, takes a way of its own.
  Difference Compare(const Structure& structure, const Value& from, const Value& to) {
    if (Identical(from, to)) return {};
    if (from.IsAbsent()) return New(structure, to);
    uint8_t parts_from = structure.PartsFor(from);
    uint8_t parts_to = to.IsAbsent() ? 0 : structure.PartsFor(to);
    Difference difference;
    bool leaf = false;
    if (parts_to == 0) {
      leaf = ComparePart(structure, parts_from, from, to, difference);
    } else {
      // Where anything may stand, a scalar may have become a list or an object: both then have their say.
      if (parts_from != 0 && parts_from != parts_to) ComparePart(structure, parts_from, from, to, difference);
      leaf = ComparePart(structure, parts_to, from, to, difference);
    }
    if (!leaf && to.IsAbsent()) difference.removed = true;
    return difference;
  }

  bool doubtful() const { return doubtful_; }

 private:
  // True if the value is one thing to apply, without parts of its own.
  bool ComparePart(const Structure& structure, uint8_t parts, const Value& from, const Value& to,
                   Difference& difference) {
    switch (internal::MainPart(parts)) {
      case internal::kMapPart:
        if (structure.map_atomic() || (from.members().empty() && to.members().empty())) break;
        CompareMaps(structure, from, to, difference);
        return false;
      case internal::kListPart:
        if (structure.list_atomic() || (from.items().empty() && to.items().empty())) break;
        CompareLists(structure, from, to, difference);
        return false;
      case internal::kScalarPart:
        break;
    }
    if (to.IsAbsent())
      difference.removed = true;
    else if (!EqualValues(from, to))
      difference.modified = true;
    return true;
  }

  // Everything in a value with nothing on the other side.
  Difference New(const Structure& structure, const Value& value) {
    Difference difference;
    difference.added = true;
    difference.below.added = AllOf(structure, value);
    return difference;
  }

  FieldSet AllOf(const Structure& structure, const Value& value) {
    switch (internal::MainPart(structure.PartsFor(value))) {
      case internal::kMapPart:
        return structure.map_atomic() ? FieldSet() : AllOfMap(structure, value);
      case internal::kListPart:
        return structure.list_atomic() ? FieldSet() : AllOfList(structure, value);
      case internal::kScalarPart:
        break;
    }
    return {};
  }

  FieldSet AllOfMap(const Structure& structure, const Value& value) {
    size_t start = added_.Begin();
    for (const Member& member : value.members()) {
      if (structure.IsScalarField(member)) {
        added_.Push({PathElement::Field(member.name()), {}, true});
        continue;
      }
      Structure child = structure.MapChild(member).structure;
      if (!child.declared()) continue;
      bool scalar = child.parts() == internal::kScalarPart;
      added_.Push({PathElement::Field(member.name()), scalar ? FieldSet() : AllOf(child, member.value), true});
    }
    added_.SortFrom(start);
    return added_.End(start);
  }

  // Of several items at one step only the step counts.
  FieldSet AllOfList(const Structure& structure, const Value& list) {
    size_t start = added_.Begin();
    Structure child = structure.ListElement();
    bool scalar = child.parts() == internal::kScalarPart, sorted = true;
    for (const Value& item : list.items()) {
      auto element = ItemElement(arena_, structure, item);
      if (!element) {
        doubtful_ = true;
        continue;
      }
      FieldSet below = scalar ? FieldSet() : AllOf(child, item);
      sorted = sorted && (added_.Begin() == start || added_.Last().element < *element);
      added_.Push({*element, below, true});
    }
    if (!sorted && added_.SortMerged(start)) doubtful_ = true;
    return added_.End(start);
  }

  struct Marks {
    size_t added, modified, removed;
  };
  Marks Begin() const { return {added_.Begin(), modified_.Begin(), removed_.Begin()}; }

  void Push(const PathElement& element, const Difference& difference) {
    added_.Push({element, difference.below.added, difference.added});
    modified_.Push({element, difference.below.modified, difference.modified});
    removed_.Push({element, difference.below.removed, difference.removed});
  }

  // Puts what was pushed since Begin with what an earlier part of the same value found.
  void End(const Marks& marks, Comparison& below) {
    added_.SortFrom(marks.added);
    modified_.SortFrom(marks.modified);
    removed_.SortFrom(marks.removed);
    below.added = Union(arena_, below.added, added_.End(marks.added));
    below.modified = Union(arena_, below.modified, modified_.End(marks.modified));
    below.removed = Union(arena_, below.removed, removed_.End(marks.removed));
  }

  void CompareMaps(const Structure& structure, const Value& from, const Value& to, Difference& difference) {
    Marks marks = Begin();
    MemberLookup in_to(to);
    size_t matched = 0;
    for (const Member& member : from.members()) {
      const Member* other = in_to.Find(member.name());
      matched += other != nullptr;
      CompareMember(structure, member, member.value, other ? other->value : Value());
    }
    if (matched < to.size()) {
      MemberLookup in_from(from);
      for (const Member& member : to.members()) {
        if (!in_from.Find(member.name())) CompareMember(structure, member, Value(), member.value);
      }
    }
    End(marks, difference.below);
  }

  void CompareMember(const Structure& structure, const Member& member, const Value& from, const Value& to) {
    if (Identical(from, to)) return;
    Structure child = structure.MapChild(member).structure;
    if (child.declared()) Push(PathElement::Field(member.name()), Compare(child, from, to));
  }

  struct Item {
    PathElement element;
    Value value;
  };

  std::vector<Item> SortedItems(const Structure& structure, const Value& list) {
    std::vector<Item> items;
    items.reserve(list.size());
    for (const Value& value : list.items()) {
      if (auto element = ItemElement(arena_, structure, value)) items.push_back({*element, value});
    }
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.element < b.element; });
    return items;
  }

  void CompareLists(const Structure& structure, const Value& from, const Value& to, Difference& difference) {
    Marks marks = Begin();
    Structure child = structure.ListElement();
    std::vector<Item> left = SortedItems(structure, from), right = SortedItems(structure, to);
    size_t l = 0, r = 0;
    while (l < left.size() || r < right.size()) {
      bool take_left = r == right.size() || (l < left.size() && !(right[r].element < left[l].element));
      const PathElement element = take_left ? left[l].element : right[r].element;
      size_t left_end = l, right_end = r;
      while (left_end < left.size() && left[left_end].element == element) ++left_end;
      while (right_end < right.size() && right[right_end].element == element) ++right_end;
      Push(element,
           CompareItems(child, std::span(left).subspan(l, left_end - l), std::span(right).subspan(r, right_end - r)));
      l = left_end;
      r = right_end;
    }
    End(marks, difference.below);
  }

  // The items at one step. Several of them count as one thing without parts.
  Difference CompareItems(const Structure& child, std::span<const Item> from, std::span<const Item> to) {
    auto first = [](std::span<const Item> items) { return items.empty() ? Value() : items[0].value; };
    if (from.size() <= 1 && to.size() <= 1) return Compare(child, first(from), first(to));
    Difference difference;
    if (from.size() > 1 && to.size() > 1) {
      difference.modified = !std::equal(from.begin(), from.end(), to.begin(), to.end(),
                                        [](const Item& a, const Item& b) { return EqualValues(a.value, b.value); });
    } else if (from.size() > 1) {
      if (!to.empty()) difference = Compare(child, Value(), first(to));
      difference.removed = true;
    } else {
      if (!from.empty()) difference = Compare(child, first(from), Value());
      difference.added = true;
    }
    return difference;
  }

  Arena& arena_;
  SetBuilder added_, modified_, removed_;
  bool doubtful_ = false;
};

}  // namespace

Comparison CompareTyped(Arena& arena, const schema::Type& type, const Value& from, const Value& to) {
  Comparer comparer(arena);
  Comparison comparison = comparer.Compare(Structure(type), from, to).below;
  comparison.doubtful = comparer.doubtful();
  return comparison;
}

}  // namespace homeostat::patch
