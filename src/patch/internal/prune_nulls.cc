#include "patch/internal/prune_nulls.h"

namespace homeostat::patch::internal {

using object::Member;

namespace {

bool HasNullMember(const Value& value) {
  for (const Value& item : value.items()) {
    if (HasNullMember(item)) return true;
  }
  for (const Member& member : value.members()) {
    if (member.value.IsNull() || HasNullMember(member.value)) return true;
  }
  return false;
}

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
  return Value::Object({members, count});
}

}  // namespace

Value WithoutNullMembers(Arena& arena, const Value& value) {
  return HasNullMember(value) ? Pruned(arena, value) : value;
}

}  // namespace homeostat::patch::internal
