#include "patch/internal/member_table.h"

#include "patch/internal/compare_values.h"

namespace homeostat::patch::internal {

using object::Member;

namespace {

constexpr size_t kIndexAbove = 24;

}  // namespace

Member* MemberTable::Find(std::string_view name) {
  if (members_.size() <= kIndexAbove) {
    for (Member& member : members_) {
      if (member.name() == name) return &member;
    }
    return nullptr;
  }
  for (size_t i = index_.size(); i < members_.size(); ++i) index_.emplace(members_[i].name(), i);
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &members_[found->second];
}

Value MemberTable::Get(std::string_view name) {
  const Member* member = Find(name);
  return member ? member->value : Value();
}

void MemberTable::Set(std::string_view name, Value value) {
  if (Member* member = Find(name)) {
    if (Identical(member->value, value)) return;
    member->value = value;
  } else if (value.IsAbsent()) {
    return;
  } else {
    members_.emplace_back(name, value);
  }
  changed_ = true;
}

Value MemberTable::Build() {
  if (!changed_ && from_.IsObject()) return from_;
  Member* copy = arena_.AllocateArray<Member>(members_.size());
  size_t count = 0;
  for (const Member& member : members_) {
    if (!member.value.IsAbsent()) new (copy + count++) Member(member);
  }
  return Value::Object({copy, count});
}

}  // namespace homeostat::patch::internal
