// Edit: a typed struct with some of its fields set anew, by name. What hooks of defaults and behaviours change trees with:
// light where a generated builder would be a lot for one field. What does not change is shared with the original.
#pragma once

#include <cassert>
#include <functional>
#include <string_view>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::kinds {

using object::Arena;
using object::Value;

// For one thread. Names given must be fields of the type; texts in values must live as long as the arena.
class Edit {
 public:
  // An absent value starts an empty struct.
  Edit(Arena& arena, const schema::Type& type, const Value& from) : arena_(arena), type_(type), value_(from) {}

  Arena& arena() const { return arena_; }
  Value Get(std::string_view field) const { return value_.Get(field); }
  // An absent value erases.
  void Set(std::string_view field, Value value);
  void SetText(std::string_view field, std::string_view text) { Set(field, text.empty() ? Value() : Value::String(arena_, text)); }
  void Erase(std::string_view field) { Set(field, Value()); }
  // Only where there is nothing yet.
  void Fill(std::string_view field, Value value) {
    if (!Get(field)) Set(field, value);
  }
  // Edits the struct that a field holds, made if there is none and something is set in it.
  void In(std::string_view field, const std::function<void(Edit&)>& edit);
  // Edits each struct of a list.
  void Each(std::string_view list_field, const std::function<void(Edit&)>& edit);
  // An entry of a map with string keys; an absent value erases, and an emptied map goes.
  void SetEntry(std::string_view map_field, std::string_view key, Value value);

  bool changed() const { return changed_; }
  // The value as it stands; the original itself if nothing changed.
  Value Build() const { return value_.IsAbsent() ? Value::EmptyObject() : value_; }

 private:
  const schema::Field& FieldOf(std::string_view name) const {
    int index = type_.FieldIndex(name);
    assert(index >= 0 && "not a field of the type");
    return type_.fields[static_cast<size_t>(index)];
  }

  Arena& arena_;
  const schema::Type& type_;
  Value value_;
  bool changed_ = false;
};

// A map with an entry set; an absent value erases. Keys stay sorted; the key is copied.
Value WithEntry(Arena& arena, const Value& map, std::string_view key, Value value);

// The object after an edit of it.
inline Value Edited(Arena& arena, const schema::Type& type, const Value& from, const std::function<void(Edit&)>& edit) {
  Edit edited(arena, type, from);
  edit(edited);
  return edited.Build();
}

}  // namespace homeostat::kinds
