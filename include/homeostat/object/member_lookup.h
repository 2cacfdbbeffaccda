// MemberLookup: finds members of one object by name, many times over, however large it is and whatever its order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "homeostat/object/value.h"

namespace homeostat::object {

// Looks where the last look-up ended first, so that walking two objects with members in the same order costs one
// comparison a member. Objects of more than a few members are indexed at the first miss. The object must stay alive.
class MemberLookup {
 public:
  explicit MemberLookup(const Value& object) : members_(object.members()) {}

  // Null if there is none.
  const Member* Find(std::string_view name);
  Value Get(std::string_view name) {
    const Member* member = Find(name);
    return member ? member->value : Value();
  }

 private:
  static constexpr size_t kIndexAbove = 24;

  std::span<const Member> members_;
  size_t next_ = 0;
  std::unordered_map<std::string_view, uint32_t> index_;
};

}  // namespace homeostat::object
