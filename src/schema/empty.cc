// WithoutEmpty: what conforming with keep_empty kept goes, once managed fields know of it.
#include <vector>

#include "homeostat/schema/conform.h"
#include "schema/internal/presence.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;

namespace {

class Emptier {
 public:
  explicit Emptier(Arena& arena) : arena_(arena) {}

  // Shares what does not change.
  Value Apply(const Type& type, const Value& value) {
    if (type.structural || depth_ >= internal::kMaxDepth) return value;
    ++depth_;
    Value result = value;
    if (value.IsObject() && type.form == Form::kStruct) result = Fields(type, value);
    else if (value.IsObject() && type.form == Form::kMap && !ElementType(type).IsScalar()) result = Entries(type, value);
    else if (value.IsList() && type.form == Form::kList && !ElementType(type).IsScalar()) result = Items(type, value);
    --depth_;
    return result;
  }

 private:
  static bool Same(const Value& a, const Value& b) {
    if (a.kind() != b.kind() || a.size() != b.size()) return false;
    if (a.IsObject()) return a.members().data() == b.members().data();
    return !a.IsList() || a.items().data() == b.items().data();
  }

  Value Fields(const Type& type, const Value& value) {
    std::vector<Member> kept;
    kept.reserve(value.size());
    bool changed = false;
    for (const Member& member : value.members()) {
      if (member.field >= type.fields.size()) {
        kept.push_back(member);
        continue;
      }
      const Field& field = type.fields[member.field];
      Value inner = Apply(*field.type, member.value);
      bool holder = inner.IsObject() || inner.IsList();
      bool raw = field.type->form == Form::kRawExtension || field.type->form == Form::kJson || field.type->form == Form::kFieldsV1;
      if (holder && inner.empty() && !field.Has(kPointer) && !raw) {
        changed = true;
        continue;
      }
      changed = changed || !Same(inner, member.value);
      kept.push_back(member);
      kept.back().value = inner;
    }
    return changed ? internal::CopyMembers(arena_, kept) : value;
  }

  Value Entries(const Type& type, const Value& value) {
    std::vector<Member> kept(value.members().begin(), value.members().end());
    bool changed = false;
    for (Member& member : kept) {
      Value inner = Apply(ElementType(type), member.value);
      changed = changed || !Same(inner, member.value);
      member.value = inner;
    }
    return changed ? internal::CopyMembers(arena_, kept) : value;
  }

  Value Items(const Type& type, const Value& value) {
    std::vector<Value> kept(value.items().begin(), value.items().end());
    bool changed = false;
    for (Value& item : kept) {
      Value inner = Apply(ElementType(type), item);
      changed = changed || !Same(inner, item);
      item = inner;
    }
    return changed ? internal::CopyItems(arena_, kept) : value;
  }

  Arena& arena_;
  int depth_ = 0;
};

}  // namespace

Value WithoutEmpty(Arena& arena, const Type& type, const Value& value) { return Emptier(arena).Apply(type, value); }

}  // namespace homeostat::schema
