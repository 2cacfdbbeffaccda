// The fields an object has, and sets of fields seen with a type in hand.
#include <algorithm>

#include "patch/internal/set_builder.h"
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::ItemElement;
using internal::SetBuilder;
using internal::Structure;
using object::Member;
using Entry = FieldSet::Entry;

namespace {

// What a value adds to the set of its owner: itself, and things below it.
struct Owned {
  bool self = false;
  FieldSet below;
};

class SetMaker {
 public:
  explicit SetMaker(Arena& arena) : out_(arena) {}

  Owned Make(const Structure& structure, const Value& value) {
    switch (internal::MainPart(structure.PartsFor(value))) {
      case internal::kMapPart:
        if (structure.map_atomic()) return {true, {}};
        return {false, value.IsObject() ? OfMap(structure, value) : FieldSet()};
      case internal::kListPart:
        if (structure.list_atomic()) return {true, {}};
        return {false, value.IsList() ? OfList(structure, value) : FieldSet()};
      case internal::kScalarPart:
        break;
    }
    return {true, {}};
  }

 private:
  FieldSet OfMap(const Structure& structure, const Value& value) {
    size_t start = out_.Begin();
    for (const Member& member : value.members()) {
      Structure::Child child = structure.MapChild(member);
      if (!child.structure.declared()) continue;
      Owned owned = Make(child.structure, member.value);
      bool empty = !member.value || (member.value.IsObject() && member.value.empty());
      out_.Push({PathElement::Field(member.name()), owned.below, owned.self || empty || !child.named});
    }
    out_.SortFrom(start);
    return out_.End(start);
  }

  // Items that are there more than once are owned as one, without what is in them. What is left of an item after
  // removing all that is in it is null: it has no step of its own, yet its list is not empty.
  FieldSet OfList(const Structure& structure, const Value& value) {
    size_t start = out_.Begin();
    Structure element = structure.ListElement();
    std::vector<std::pair<PathElement, const Value*>> items;
    items.reserve(value.size());
    for (const Value& item : value.items()) {
      auto step = ItemElement(out_.arena(), structure, item);
      items.emplace_back(step ? *step : PathElement::Item(Value()), &item);
    }
    std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < items.size();) {
      size_t end = i + 1;
      while (end < items.size() && items[end].first == items[i].first) ++end;
      FieldSet below = end - i > 1 ? FieldSet() : Make(element, *items[i].second).below;
      out_.Push({items[i].first, below, true});
      i = end;
    }
    return out_.End(start);
  }

  SetBuilder out_;
};

// The type behind a step of a set; undeclared if the type has nothing of that sort.
Structure::Child BehindStep(const Structure& structure, const PathElement& element) {
  if (!structure.declared()) return {};
  if (element.IsField()) {
    if ((structure.parts() & internal::kMapPart) == 0) return {};
    return structure.MapChild(element.name());
  }
  if (element.kind() == PathElement::Kind::kKey && (structure.parts() & internal::kListPart))
    return {structure.ListElement(), false};
  return {};
}

FieldSet EnsureNamed(SetBuilder& out, const Structure& structure, const FieldSet& set) {
  size_t start = out.Begin();
  bool changed = false;
  for (const Entry& entry : set.entries()) {
    Entry ensured = entry;
    if (!entry.children.empty()) {
      Structure::Child child = BehindStep(structure, entry.element);
      ensured.member = entry.member || child.named;
      ensured.children = EnsureNamed(out, child.structure, entry.children);
      changed = changed || ensured.member != entry.member ||
                ensured.children.entries().data() != entry.children.entries().data();
    }
    out.Push(ensured);
  }
  if (changed) return out.End(start);
  out.Drop(start);
  return set;
}

class Reconciler {
 public:
  explicit Reconciler(Arena& arena) : out_(arena) {}

  FieldSet Reconcile(const Structure& structure, const FieldSet& set) {
    std::span<const Entry> entries = set.entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].children.empty()) continue;
      Entry changed = Reconciled(structure, entries[i]);
      if (changed.children.entries().data() == entries[i].children.entries().data()) continue;
      size_t start = out_.Begin();
      for (const Entry& same : entries.first(i)) out_.Push(same);
      out_.Push(changed);
      for (const Entry& entry : entries.subspan(i + 1)) out_.Push(Reconciled(structure, entry));
      return out_.End(start);
    }
    return set;
  }

 private:
  Entry Reconciled(const Structure& structure, const Entry& entry) {
    Entry reconciled = entry;
    if (entry.children.empty()) return reconciled;
    Structure child = Behind(structure, entry.element);
    if (!child.declared()) return reconciled;
    if (IsWhole(child)) {
      reconciled.children = {};
      reconciled.member = true;
    } else if (!Stops(child)) {
      reconciled.children = Reconcile(child, entry.children);
    }
    return reconciled;
  }
  static Structure Behind(const Structure& structure, const PathElement& element) {
    switch (internal::MainPart(structure.parts())) {
      case internal::kMapPart:
        return structure.MapChild(element.name()).structure;
      case internal::kListPart:
        return structure.ListElement();
      case internal::kScalarPart:
        break;
    }
    return {};
  }
  static bool IsWhole(const Structure& child) {
    switch (internal::MainPart(child.parts())) {
      case internal::kMapPart:
        return child.map_atomic();
      case internal::kListPart:
        return child.list_atomic();
      case internal::kScalarPart:
        break;
    }
    return false;
  }
  static bool Stops(const Structure& child) { return child.parts() == internal::kScalarPart || child.IsFreeForm(); }

  SetBuilder out_;
};

}  // namespace

FieldSet FieldSetOf(Arena& arena, const schema::Type& type, const Value& value) {
  return SetMaker(arena).Make(Structure(type), value).below;
}

FieldSet WithNamedFields(Arena& arena, const schema::Type& type, const FieldSet& set) {
  SetBuilder out(arena);
  return EnsureNamed(out, Structure(type), set);
}

FieldSet ReconcileWithType(Arena& arena, const schema::Type& type, const FieldSet& set) {
  return Reconciler(arena).Reconcile(Structure(type), set);
}

}  // namespace homeostat::patch
