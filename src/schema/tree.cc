#include "schema/internal/tree.h"

#include <algorithm>

namespace homeostat::schema::internal {

using object::Member;

namespace {

template <class Less, class Same>
size_t SortUnique(std::span<Member> members, Less less, Same same) {
  bool strictly_sorted = true;
  for (size_t i = 1; i < members.size() && strictly_sorted; ++i) strictly_sorted = less(members[i - 1], members[i]);
  if (strictly_sorted) return members.size();
  std::stable_sort(members.begin(), members.end(), less);
  size_t kept = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (kept > 0 && same(members[kept - 1], members[i])) --kept;
    members[kept++] = members[i];
  }
  return kept;
}

}  // namespace

size_t SortByName(std::span<Member> members) {
  return SortUnique(
      members, [](const Member& a, const Member& b) { return a.name() < b.name(); },
      [](const Member& a, const Member& b) { return a.name() == b.name(); });
}

size_t SortByField(std::span<Member> members) {
  return SortUnique(
      members, [](const Member& a, const Member& b) { return a.field < b.field; },
      [](const Member& a, const Member& b) { return a.field == b.field && a.field != object::kNoField; });
}

}  // namespace homeostat::schema::internal
