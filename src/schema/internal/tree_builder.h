// TreeBuilder: short ways to write untyped trees down.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "schema/internal/tree.h"

namespace homeostat::schema::internal {

class TreeBuilder {
 public:
  explicit TreeBuilder(object::Arena& arena) : arena_(arena) {}

  object::Value Text(std::string_view text) const { return object::Value::String(arena_, text); }
  // Members with absent values are left out. Names must be literals or live in the arena.
  object::Value Object(std::initializer_list<object::Member> members) const {
    std::vector<object::Member> present;
    for (const object::Member& member : members) {
      if (!member.value.IsAbsent()) present.push_back(member);
    }
    return CopyMembers(arena_, present);
  }
  object::Value Object(const std::vector<object::Member>& members) const { return CopyMembers(arena_, members); }
  object::Value List(const std::vector<object::Value>& items) const { return CopyItems(arena_, items); }
  object::Value Texts(std::initializer_list<std::string_view> texts) const {
    std::vector<object::Value> items;
    for (std::string_view text : texts) items.push_back(Text(text));
    return List(items);
  }
  std::string_view Name(std::string_view name) const { return arena_.Copy(name); }
  object::Arena& arena() const { return arena_; }

 private:
  object::Arena& arena_;
};

}  // namespace homeostat::schema::internal
