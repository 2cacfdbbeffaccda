#include "homeostat/object/member_order.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace homeostat::object {
namespace {

bool ByName(const Member& a, const Member& b) { return a.name() < b.name(); }

bool IsSame(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  if (a.IsList()) return a.items().data() == b.items().data();
  return !a.IsObject() || a.members().data() == b.members().data();
}

Value SortedItems(Arena& arena, const Value& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    Value sorted = WithSortedMembers(arena, list.At(i));
    if (IsSame(sorted, list.At(i))) continue;
    ListBuilder items(arena, list);
    items.items()[i] = sorted;
    for (++i; i < list.size(); ++i) items.items()[i] = WithSortedMembers(arena, list.At(i));
    return items.Build();
  }
  return list;
}

}  // namespace

Value WithSortedMembers(Arena& arena, const Value& value) {
  if (value.IsList()) return SortedItems(arena, value);
  if (!value.IsObject()) return value;
  bool changed = false;
  std::vector<Member> members;
  if (!std::is_sorted(value.members().begin(), value.members().end(), ByName)) {
    members.assign(value.members().begin(), value.members().end());
    std::stable_sort(members.begin(), members.end(), ByName);
    changed = true;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const Member& member = changed ? members[i] : value.members()[i];
    if (member.value.size() == 0) continue;
    Value sorted = WithSortedMembers(arena, member.value);
    if (IsSame(sorted, member.value)) continue;
    if (!changed) members.assign(value.members().begin(), value.members().end());
    changed = true;
    members[i].value = sorted;
  }
  if (!changed) return value;
  ObjectBuilder builder(arena);
  builder.members() = std::move(members);
  return builder.Build();
}

Value WithoutRepeats(Arena& arena, const Value& value) {
  if (value.IsList()) {
    ListBuilder items(arena);
    bool changed = false;
    for (const Value& item : value.items()) {
      Value single = WithoutRepeats(arena, item);
      changed = changed || !IsSame(single, item);
      items.Append(single);
    }
    return changed ? items.Build() : value;
  }
  if (!value.IsObject()) return value;
  std::unordered_map<std::string_view, size_t> places;
  std::vector<Member> members;
  bool changed = false;
  for (const Member& member : value.members()) {
    Value single = WithoutRepeats(arena, member.value);
    auto [place, first] = places.try_emplace(member.name(), members.size());
    changed = changed || !first || !IsSame(single, member.value);
    if (first) members.push_back(member);
    members[place->second].value = single;
  }
  if (!changed) return value;
  ObjectBuilder builder(arena);
  builder.members() = std::move(members);
  return builder.Build();
}

std::vector<const Member*> SortedByName(const Value& object) {
  std::vector<const Member*> sorted;
  sorted.reserve(object.members().size());
  for (const Member& member : object.members()) sorted.push_back(&member);
  std::ranges::stable_sort(sorted, {}, [](const Member* member) { return member->name(); });
  return sorted;
}

}  // namespace homeostat::object
