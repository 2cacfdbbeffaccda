#include "patch/internal/prune_nulls.h"

#include <algorithm>

namespace homeostat::patch::internal {

using object::Member;

namespace {

Value Pruned(Arena& arena, const Value& value) {
  if (value.IsList()) {
    Value* items = arena.AllocateArray<Value>(value.size());
    for (size_t i = 0; i < value.size(); ++i) new (items + i) Value(Pruned(arena, value.items()[i]));
    return Value::List({items, value.size()});
  }
  if (!value.IsObject()) return value;
  Member* members = arena.AllocateArray<Member>(value.size());
  size_t count = 0;
  for (const Member& member : value.members()) {
    if (!member.value.IsNull())
      new (members + count++) Member(member.name(), Pruned(arena, member.value), member.field);
  }
  std::sort(members, members + count, [](const Member& a, const Member& b) { return a.name() < b.name(); });
  return Value::Object({members, count});
}

}  // namespace

Value WithoutNullMembers(Arena& arena, const Value& value) { return Pruned(arena, value); }

}  // namespace homeostat::patch::internal
