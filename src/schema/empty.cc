// WithoutEmpty: what conforming with keep_empty kept goes, once managed fields know of it.
#include <span>
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
  // The parts of a list or object, copied from where the first one changes.
  template <class T>
  static std::vector<T> Begun(std::span<const T> parts, size_t count) {
    std::vector<T> kept;
    kept.reserve(parts.size());
    kept.assign(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count));
    return kept;
  }

  Value Fields(const Type& type, const Value& value) {
    std::vector<Member> kept;
    bool changed = false;
    for (size_t i = 0; i < value.members().size(); ++i) {
      Member member = value.members()[i];
      bool holder = member.value.IsObject() || member.value.IsList(), dropped = false, same = true;
      if (holder && member.field < type.fields.size()) {
        const Field& field = type.fields[member.field];
        Value inner = Apply(*field.type, member.value);
        bool raw = field.type->form == Form::kRawExtension || field.type->form == Form::kJson || field.type->form == Form::kFieldsV1;
        dropped = inner.empty() && !field.Has(kPointer) && !raw;
        same = !dropped && internal::IsSame(inner, member.value);
        member.value = inner;
      }
      if (!changed && !same) {
        kept = Begun(value.members(), i);
        changed = true;
      }
      if (changed && !dropped) kept.push_back(member);
    }
    return changed ? internal::CopyMembers(arena_, kept) : value;
  }

  Value Entries(const Type& type, const Value& value) {
    std::vector<Member> kept;
    bool changed = false;
    for (size_t i = 0; i < value.members().size(); ++i) {
      Member member = value.members()[i];
      Value inner = Apply(ElementType(type), member.value);
      if (!changed && !internal::IsSame(inner, member.value)) {
        kept = Begun(value.members(), i);
        changed = true;
      }
      member.value = inner;
      if (changed) kept.push_back(member);
    }
    return changed ? internal::CopyMembers(arena_, kept) : value;
  }

  Value Items(const Type& type, const Value& value) {
    std::vector<Value> kept;
    bool changed = false;
    for (size_t i = 0; i < value.items().size(); ++i) {
      Value inner = Apply(ElementType(type), value.items()[i]);
      if (!changed && !internal::IsSame(inner, value.items()[i])) {
        kept = Begun(value.items(), i);
        changed = true;
      }
      if (changed) kept.push_back(inner);
    }
    return changed ? internal::CopyItems(arena_, kept) : value;
  }

  Arena& arena_;
  int depth_ = 0;
};

}  // namespace

Value WithoutEmpty(Arena& arena, const Type& type, const Value& value) { return Emptier(arena).Apply(type, value); }

}  // namespace homeostat::schema
