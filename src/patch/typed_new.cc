// FieldsOfNew: what FieldSetOf finds in an object's JSON form, found in the typed tree itself.
#include <optional>
#include <vector>

#include "homeostat/schema/json_members.h"
#include "patch/internal/set_builder.h"
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::SetBuilder;
using internal::Structure;
using object::Member;
using schema::Form;

namespace {

class Walk {
 public:
  explicit Walk(Arena& arena) : arena_(arena), out_(arena) {}

  FieldSet Of(const Structure& structure, const Value& value) {
    switch (internal::MainPart(structure.PartsFor(value))) {
      case internal::kMapPart:
        return structure.map_atomic() ? FieldSet() : OfMap(structure, value);
      case internal::kListPart:
        return structure.list_atomic() ? FieldSet() : OfList(structure, value);
      case internal::kScalarPart:
        break;
    }
    return {};
  }

  // Whether there was nothing that looks otherwise in JSON, and no item without a step of its own.
  bool certain() const { return certain_; }

 private:
  FieldSet OfMap(const Structure& structure, const Value& value) {
    const schema::Type& type = structure.type();
    if (value.IsBytes() || type.form > Form::kMap) certain_ = false;  // FieldsV1, and JSON schemas
    const bool is_struct = type.form == Form::kStruct;
    size_t start = out_.Begin(), first = members_.size();
    if (is_struct && value.IsObject()) {
      schema::AppendJsonMembers(type, value, members_);
    } else {
      members_.insert(members_.end(), value.members().begin(), value.members().end());
    }
    for (size_t i = first, end = members_.size(); i < end; ++i) {
      const Member member = members_[i];
      if (structure.IsScalarField(member)) {
        out_.Push({PathElement::Field(member.name()), {}, true});
        continue;
      }
      Structure child = structure.MapChild(member).structure;
      if (!child.declared()) continue;
      const Value& part = is_struct ? member.value : Element(type, member.value);
      out_.Push({PathElement::Field(member.name()), Of(child, part), true});
    }
    members_.resize(first);
    out_.SortFrom(start);
    return out_.End(start);
  }

  FieldSet OfList(const Structure& structure, const Value& list) {
    size_t start = out_.Begin();
    Structure child = structure.ListElement();
    bool sorted = true;
    for (const Value& item : list.items()) {
      auto element = internal::ItemElement(arena_, structure, item);
      if (!element || item.IsBytes() || !HasKeys(structure.type(), item)) {
        certain_ = false;
        continue;
      }
      FieldSet below = Of(child, item);
      sorted = sorted && (out_.Begin() == start || out_.Last().element < *element);
      out_.Push({*element, below, true});
    }
    if (!sorted && out_.SortMerged(start)) certain_ = false;
    return out_.End(start);
  }

  // A key that is absent may be written all the same.
  static bool HasKeys(const schema::Type& list, const Value& item) {
    for (std::string_view key : list.list_map_keys) {
      if (item.Find(key) == nullptr) return false;
    }
    return true;
  }

  // A map's value as JSON has it: null is what Go has no nil for.
  static const Value& Element(const schema::Type& map, const Value& value) {
    static const Value empty = Value::EmptyObject();
    bool zero = !value && !map.element_nullable && map.element != nullptr && map.element->form == Form::kStruct;
    return zero ? empty : value;
  }

  Arena& arena_;
  SetBuilder out_;
  std::vector<Member> members_;  // of the structs that are open
  bool certain_ = true;
};

}  // namespace

std::optional<FieldSet> FieldsOfNew(Arena& arena, const schema::Type& type, const Value& typed) {
  Walk walk(arena);
  FieldSet fields = walk.Of(Structure(type), typed);
  return walk.certain() ? std::optional(fields) : std::nullopt;
}

}  // namespace homeostat::patch
