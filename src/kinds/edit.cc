#include "kinds/edit.h"

namespace homeostat::kinds {

void Edit::Set(std::string_view field, Value value) {
  const schema::Field& known = FieldOf(field);
  auto index = static_cast<uint16_t>(&known - type_.fields.data());
  if (value.IsAbsent() && value_.Field(index).IsAbsent()) return;
  object::ObjectBuilder builder(arena_, value_);
  if (value.IsAbsent()) {
    builder.Erase(field);
  } else {
    builder.SetField(index, known.name, value);
  }
  value_ = builder.Build();
  changed_ = true;
}

void Edit::In(std::string_view field, const std::function<void(Edit&)>& edit) {
  Edit inner(arena_, *FieldOf(field).type, Get(field));
  edit(inner);
  if (inner.changed()) Set(field, inner.Build());
}

void Edit::Each(std::string_view list_field, const std::function<void(Edit&)>& edit) {
  Value list = Get(list_field);
  const schema::Type& element = *FieldOf(list_field).type->element;
  object::ListBuilder items(arena_, list);
  bool any = false;
  for (Value& item : items.items()) {
    Edit inner(arena_, element, item);
    edit(inner);
    if (!inner.changed()) continue;
    item = inner.Build();
    any = true;
  }
  if (any) Set(list_field, items.Build());
}

void Edit::SetEntry(std::string_view map_field, std::string_view key, Value value) {
  Value old = Get(map_field);
  Value map = WithEntry(arena_, old, key, value);
  if (map.empty() && old.empty()) return;
  Set(map_field, map.empty() ? Value() : map);
}

Value WithEntry(Arena& arena, const Value& map, std::string_view key, Value value) {
  object::ObjectBuilder builder(arena);
  bool placed = false;
  for (const object::Member& member : map.members()) {
    if (!placed && member.name() >= key) {
      if (!value.IsAbsent()) builder.Append(member.name() == key ? member.name() : arena.Copy(key), value);
      placed = true;
    }
    if (member.name() != key) builder.Append(member.name(), member.value, member.field);
  }
  if (!placed && !value.IsAbsent()) builder.Append(arena.Copy(key), value);
  return builder.Build();
}

}  // namespace homeostat::kinds
