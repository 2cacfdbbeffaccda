#include "homeostat/schema/prune.h"

#include "schema/internal/presence.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;

namespace {

class Pruner {
 public:
  Pruner(Arena& arena, std::vector<std::string>* removed) : arena_(arena), removed_(removed) {}

  Value Apply(const Type& type, const Value& value, const std::string& path) {
    // Of a wrong kind, values of custom resources have no members that anyone knows.
    bool unknown = type.structural && !type.preserve_unknown_fields && (value.IsList() ? type.form != Form::kList : type.IsScalar() || type.form == Form::kList);
    if (value.IsList()) {
      const Type& element = unknown ? Nothing() : ElementType(type);
      return element.IsScalar() && !element.structural ? value : PruneItems(element, value, path);
    }
    if (!value.IsObject()) return value;
    const Type& object_type = unknown ? Nothing() : internal::ObjectType(type);
    bool walk = object_type.form == Form::kStruct ||
                (object_type.form == Form::kMap && (object_type.structural || !ElementType(object_type).IsScalar()));
    if (!walk || depth_ >= internal::kMaxDepth) return value;
    ++depth_;
    Value result = PruneMembers(object_type, value, path);
    --depth_;
    return result;
  }

 private:
  static const Type& Nothing() {
    static constexpr Type kNothing{.form = Form::kStruct, .structural = true};
    return kNothing;
  }

  Value PruneItems(const Type& element, const Value& list, const std::string& path) {
    std::vector<Value> items(list.items().begin(), list.items().end());
    bool changed = false;
    for (size_t i = 0; i < items.size(); ++i) {
      Value old = items[i];
      items[i] = Apply(element, old, path + "[" + std::to_string(i) + "]");
      changed |= IsChanged(old, items[i]);
    }
    return changed ? internal::CopyItems(arena_, items) : list;
  }

  Value PruneMembers(const Type& type, const Value& object, const std::string& path) {
    std::vector<Member> kept;
    kept.reserve(object.size());
    bool changed = false;
    for (const Member& member : object.members()) {
      std::string below = path.empty() ? std::string(member.name()) : path + "." + std::string(member.name());
      const Field* field = type.form == Form::kStruct ? type.FindField(member.name()) : nullptr;
      const Type* value_type = field != nullptr          ? field->type
                               : type.form == Form::kMap ? &ElementType(type)
                                                         : type.element;
      if (value_type == nullptr && !type.preserve_unknown_fields) {
        changed = true;
        if (removed_ != nullptr) removed_->push_back(std::move(below));
        continue;
      }
      kept.push_back(member);
      if (value_type == nullptr) continue;
      kept.back().value = Apply(*value_type, member.value, below);
      changed |= IsChanged(member.value, kept.back().value);
    }
    return changed ? internal::CopyMembers(arena_, kept) : object;
  }

  static bool IsChanged(const Value& before, const Value& after) {
    return before.IsObject() ? before.members().data() != after.members().data() || before.size() != after.size()
           : before.IsList() ? before.items().data() != after.items().data()
                             : false;
  }

  Arena& arena_;
  std::vector<std::string>* removed_;
  int depth_ = 0;
};

}  // namespace

Value Prune(Arena& arena, const Type& type, const Value& value, std::vector<std::string>* removed) {
  return Pruner(arena, removed).Apply(type, value, std::string());
}

}  // namespace homeostat::schema
