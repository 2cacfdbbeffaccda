#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::ItemElement;
using internal::Structure;
using object::Member;

namespace {

enum class Keep { kOthers, kThese };

class Picker {
 public:
  Picker(Arena& arena, Keep keep) : arena_(arena), keep_(keep) {}

  Value Pick(const Structure& structure, const Value& value, const FieldSet& items) {
    switch (internal::MainPart(structure.PartsFor(value))) {
      case internal::kMapPart:
        return PickMembers(structure, value, items);
      case internal::kListPart:
        return PickItems(structure, value, items);
      case internal::kScalarPart:
        break;
    }
    return value;
  }

 private:
  // What has no parts to pick from: nothing is left of it when parts are removed.
  Value Whole(const Value& value) const { return keep_ == Keep::kThese ? value : Value::Null(); }

  Value PickMembers(const Structure& structure, const Value& value, const FieldSet& items) {
    if (!value.IsObject()) return Value::Null();
    if (value.empty() || structure.map_atomic()) return Whole(value);
    std::vector<Member> kept;
    kept.reserve(value.size());
    for (const Member& member : value.members()) {
      const FieldSet::Entry* entry = items.Find(PathElement::Field(member.name()));
      bool picked = entry != nullptr && entry->member;
      bool below = entry != nullptr && !entry->children.empty();
      if (keep_ == Keep::kOthers ? picked : !picked && !below) continue;
      Value part = member.value;
      if (picked || below) part = Pick(structure.MapChild(member).structure, part, entry->children);
      kept.emplace_back(member.name(), part, member.field);
    }
    if (kept.empty()) return Value::Null();
    Member* members = arena_.AllocateArray<Member>(kept.size());
    std::uninitialized_copy(kept.begin(), kept.end(), members);
    return Value::Object({members, kept.size()});
  }

  Value PickItems(const Structure& structure, const Value& value, const FieldSet& items) {
    if (!value.IsList()) return Value::Null();
    if (value.empty() || structure.list_atomic()) return Whole(value);
    std::vector<Value> kept;
    kept.reserve(value.size());
    Structure child = structure.ListElement();
    for (const Value& item : value.items()) {
      auto element = ItemElement(arena_, structure, item);
      const FieldSet::Entry* entry = element ? items.Find(*element) : nullptr;
      bool picked = entry != nullptr && entry->member;
      bool below = entry != nullptr && !entry->children.empty();
      if (keep_ == Keep::kOthers ? picked : !picked && !below) continue;
      kept.push_back(below ? Pick(child, item, entry->children) : item);
    }
    if (kept.empty()) return Value::Null();
    Value* list = arena_.AllocateArray<Value>(kept.size());
    std::uninitialized_copy(kept.begin(), kept.end(), list);
    return Value::List({list, kept.size()});
  }

  Arena& arena_;
  Keep keep_;
};

}  // namespace

Value RemoveItems(Arena& arena, const schema::Type& type, const Value& value, const FieldSet& items) {
  if (items.empty()) return value;
  return Picker(arena, Keep::kOthers).Pick(Structure(type), value, items);
}

Value ExtractItems(Arena& arena, const schema::Type& type, const Value& value, const FieldSet& items) {
  return Picker(arena, Keep::kThese).Pick(Structure(type), value, items);
}

}  // namespace homeostat::patch
