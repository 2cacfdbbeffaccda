// MemberTable: an object being changed member by member, however many there are.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/object/value.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

class MemberTable {
 public:
  // Anything but an object counts as an empty one.
  MemberTable(Arena& arena, const Value& from)
      : arena_(arena), from_(from), members_(from.members().begin(), from.members().end()) {}

  // Absent if there is none.
  Value Get(std::string_view name);
  // An absent value erases. The name must outlive the tree.
  void Set(std::string_view name, Value value);
  void Erase(std::string_view name) { Set(name, Value()); }
  template <class Predicate>
  void EraseIf(Predicate predicate) {
    for (object::Member& member : members_) {
      if (!member.value.IsAbsent() && predicate(member.name())) member.value = Value(), changed_ = true;
    }
  }

  // The object it was made from, if nothing was changed.
  Value Build();

 private:
  object::Member* Find(std::string_view name);

  Arena& arena_;
  Value from_;
  std::vector<object::Member> members_;  // erased ones have an absent value
  std::unordered_map<std::string_view, size_t> index_;
  bool changed_ = false;
};

}  // namespace homeostat::patch::internal
