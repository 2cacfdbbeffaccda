#include "patch/consumed_patch.h"

#include <set>
#include <string_view>

#include "patch/internal/prune_nulls.h"

namespace homeostat::patch {
namespace {

using object::Arena;
using object::Member;
using object::Value;

constexpr std::string_view kDirective = "$patch", kRetainKeys = "$retainKeys", kOrder = "$setElementOrder/",
                           kDelete = "$deleteFromPrimitiveList/";

bool HasDirective(const Value& value) { return value.IsObject() && value.Get(kDirective); }

// Without what is marked by a directive, wherever it is; nothing is marked at the top.
Value WithoutMarked(Arena& arena, const Value& value) {
  if (value.IsList()) {
    object::ListBuilder items(arena);
    for (const Value& item : value.items()) {
      if (!HasDirective(item)) items.Append(WithoutMarked(arena, item));
    }
    return items.Build();
  }
  if (!value.IsObject()) return value;
  object::ObjectBuilder builder(arena);
  for (const Member& member : value.members()) {
    if (!HasDirective(member.value)) builder.Append(member.name(), WithoutMarked(arena, member.value));
  }
  return builder.Build();
}

// What has nothing to be merged into is taken as a whole, freed of nulls and directives on the way.
Value Taken(Arena& arena, const Value& patch) {
  Value value = internal::WithoutNullMembers(arena, patch);
  if (!value.IsList()) return HasDirective(value) ? value : WithoutMarked(arena, value);
  object::ListBuilder items(arena);
  for (const Value& item : value.items()) items.Append(HasDirective(item) ? item : WithoutMarked(arena, item));
  return items.Build();
}

Value WithoutReplace(Arena& arena, const Value& patch) {
  if (patch.Get(kDirective).AsString() != "replace") return patch;
  object::ObjectBuilder builder(arena, patch);
  builder.Erase(kDirective);
  return builder.Build();
}

}  // namespace

Value ConsumedPatch(Arena& arena, const schema::Type& type, const Value& original, const Value& patch) {
  if (!patch.IsObject()) return patch;
  if (HasDirective(patch)) return WithoutReplace(arena, patch);
  std::set<std::string_view> ordered;
  for (const Member& member : patch.members()) {
    if (member.name().starts_with(kOrder)) ordered.insert(member.name().substr(kOrder.size()));
  }
  object::ObjectBuilder builder(arena);
  for (const Member& member : patch.members()) {
    std::string_view name = member.name();
    if (name == kRetainKeys || name.starts_with(kOrder) || ordered.contains(name)) continue;
    Value live = original.Get(name);
    bool kept = name.starts_with(kDelete) || member.value.IsNull();
    bool merged = live && live.IsObject() == member.value.IsObject() && live.IsList() == member.value.IsList();
    const schema::Field* field = type.form == schema::Form::kStruct ? type.FindField(name) : nullptr;
    bool replaced = field != nullptr && field->Has(schema::kPatchReplace);
    if (kept || (merged && (replaced || field == nullptr))) builder.Append(name, member.value);
    else builder.Append(name, merged ? ConsumedPatch(arena, *field->type, live, member.value) : Taken(arena, member.value));
  }
  return builder.Build();
}

}  // namespace homeostat::patch
