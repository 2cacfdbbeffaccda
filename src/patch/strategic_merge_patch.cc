#include "patch/strategic_merge_patch.h"

#include <algorithm>
#include <set>

#include "object/go_value.h"
#include "patch/internal/list_order.h"
#include "patch/internal/member_table.h"
#include "patch/internal/prune_nulls.h"
#include "patch/internal/strategic_errors.h"

namespace homeostat::patch {

using object::GoNumbers;
using internal::ItemKey;
using internal::KeyIndex;
using internal::MemberTable;
using object::Member;
using schema::Field;
using schema::Form;
using schema::Type;

namespace {

constexpr std::string_view kPatch = "$patch", kRetain = "$retainKeys", kDeleteList = "$deleteFromPrimitiveList",
                           kOrder = "$setElementOrder";

// "$setElementOrder/containers" is about containers.
Result<std::string_view> DirectiveTarget(std::string_view name, std::string_view prefix) {
  size_t slash = name.find('/');
  if (slash != prefix.size())
    return Fail(prefix == kDeleteList ? internal::BadPrimitiveList() : internal::BadSetElementOrder());
  return name.substr(slash + 1);
}

bool HasDirective(const Value& value) {
  if (value.Find(kPatch) != nullptr) return true;
  return std::any_of(value.members().begin(), value.members().end(),
                     [](const Member& member) { return HasDirective(member.value); }) ||
         std::any_of(value.items().begin(), value.items().end(), HasDirective);
}

// What is added where there was nothing: objects that are directives go, wherever they are. Absent if the value is one.
Value WithoutDirectives(Arena& arena, const Value& value) {
  if (!HasDirective(value)) return value;
  if (value.Find(kPatch) != nullptr) return {};
  if (value.IsList()) {
    object::ListBuilder kept(arena);
    for (const Value& item : value.items()) {
      if (Value without = WithoutDirectives(arena, item); !without.IsAbsent()) kept.Append(without);
    }
    return kept.Build();
  }
  MemberTable kept(arena, value);
  for (const Member& member : value.members()) kept.Set(member.name(), WithoutDirectives(arena, member.value));
  return kept.Build();
}

std::vector<Value> Items(const Value& list) { return {list.items().begin(), list.items().end()}; }

// A list with a merge key while it is patched. Upstream edits the live list in place and later goes by the order that
// leaves behind: places freed by deletions are taken by the first items added. `remains` is that.
class KeyedList {
 public:
  KeyedList(const Value& live, std::string_view merge_key)
      : merge_key_(merge_key), items_(Items(live)), remains_(items_) {}

  void DeleteAll(const Value& key) {
    for (size_t i = 0; i < items_.size();) {
      if (!object::Equal(ItemKey(items_[i], merge_key_), key)) {
        ++i;
        continue;
      }
      items_.erase(items_.begin() + static_cast<ptrdiff_t>(i));
      std::copy(items_.begin() + static_cast<ptrdiff_t>(i), items_.end(), remains_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void StartAdding() { index_ = KeyIndex(items_, merge_key_); }
  // Null if there is none.
  Value* Find(const Value& key) {
    ptrdiff_t position = index_.Find(key);
    return position < 0 ? nullptr : &items_[static_cast<size_t>(position)];
  }
  void Add(const Value& key, const Value& item) {
    index_.Add(key, items_.size());
    if (items_.size() < remains_.size()) remains_[items_.size()] = item;
    items_.push_back(item);
  }
  void Replace(std::vector<Value> items) { items_ = std::move(items); }

  std::vector<Value>& items() { return items_; }
  std::vector<Value>& remains() { return remains_; }

 private:
  std::string_view merge_key_;
  std::vector<Value> items_, remains_;
  KeyIndex index_;
};

class Merger {
 public:
  explicit Merger(Arena& arena) : arena_(arena) {}

  Result<Value> MergeMap(const Value& original, const Value& patch, const Type& type) {
    if (const Member* directive = patch.Find(kPatch)) return ApplyDirective(directive->value, patch);
    MemberTable merged(arena_, original);
    TRY(RetainKeys(merged, patch));
    std::set<std::string_view> done;
    for (const Member& member : patch.members()) {
      if (member.name().starts_with(kOrder)) TRY(MergeOrdered(merged, patch, member, type, done));
    }
    for (const Member& member : patch.members()) {
      bool used = member.name() == kRetain || member.name().starts_with(kOrder) || done.contains(member.name());
      if (!used) TRY(MergeMember(merged, member, type));
    }
    return merged.Build();
  }

 private:
  Result<Value> ApplyDirective(const Value& directive, const Value& patch) {
    if (directive.AsString() == "delete") return Value::EmptyObject();
    if (directive.AsString() != "replace") return Fail(internal::BadDirective(directive, patch));
    MemberTable rest(arena_, patch);
    rest.Erase(kPatch);
    return rest.Build();
  }

  Done RetainKeys(MemberTable& original, const Value& patch) {
    const Member* directive = patch.Find(kRetain);
    if (directive == nullptr) return {};
    if (!directive->value.IsList()) return Fail(internal::BadRetainKeys());
    std::set<std::string_view> retained;
    for (const Value& name : directive->value.items()) {
      if (name.IsString()) retained.insert(name.AsString());
    }
    for (const Member& member : patch.members()) {
      bool counts = member.value && member.name() != kRetain && !member.name().starts_with(kDeleteList) &&
                    !member.name().starts_with(kOrder);
      if (counts && !retained.contains(member.name())) return Fail(internal::BadRetainKeys());
    }
    original.EraseIf([&](std::string_view name) { return !retained.contains(name); });
    return {};
  }

  Done MergeMember(MemberTable& merged, const Member& member, const Type& type) {
    std::string_view name = member.name();
    bool deletes = name.starts_with(kDeleteList);
    if (deletes) {
      TRY_ASSIGN(std::string_view target, DirectiveTarget(name, kDeleteList));
      if (!target.empty()) name = target;
    }
    if (!member.value) {
      merged.Erase(name);
      return {};
    }
    Value original = merged.Get(name);
    if (object::GoTypeOf(original, GoNumbers::kIntegers) !=
        object::GoTypeOf(member.value, GoNumbers::kIntegers)) {
      if (!deletes) merged.Set(name, WithoutDirectives(arena_, internal::WithoutNullMembers(arena_, member.value)));
      return {};
    }
    if (!original.IsObject() && !original.IsList()) {
      merged.Set(name, member.value);
      return {};
    }
    Status problem(500, "", "");
    const Field* field = internal::LookUpField(type, name, problem);
    if (field == nullptr) return Fail(problem);
    if (original.IsObject()) {
      if (field->Has(schema::kPatchReplace)) {
        merged.Set(name, member.value);
        return {};
      }
      TRY_ASSIGN(Value result, MergeMap(original, member.value, *field->type));
      merged.Set(name, result);
      return {};
    }
    TRY_ASSIGN(Value result, MergeList(original, member.value, *field, deletes, nullptr));
    merged.Set(name, result);
    return {};
  }

  static Result<const Type*> ElementType(const Field& field) {
    if (field.type->form != Form::kList || field.type->element == nullptr) {
      if (field.Has(schema::kPointer)) return field.type;
      return Fail(internal::Other("expected slice or array type, but got: struct"));
    }
    if (field.type->element->form == Form::kList) return Fail(internal::Other("unexpected slice of slice"));
    return field.type->element;
  }

  // remains, if given: becomes the order of the live list as in-place editing leaves it.
  Result<Value> MergeList(const Value& original, const Value& patch, const Field& field, bool deletes,
                          std::vector<Value>* remains) {
    TRY_ASSIGN(const Type* element, ElementType(field));
    if (!deletes && !field.Has(schema::kPatchMerge)) return patch;
    if (original.empty() && patch.empty()) return original;
    Status problem(500, "", "");
    if (!internal::SameKinds(original.items(), patch.items(), problem)) return Fail(problem);
    const Value& example = original.empty() ? patch.items()[0] : original.items()[0];
    if (!example.IsObject()) return deletes ? DeleteScalars(original, patch) : MergeScalars(original, patch);
    if (field.merge_key.empty()) return Fail(internal::Other("cannot merge lists without merge key for struct"));
    return MergeKeyed(original, patch, *element, field.merge_key, remains);
  }

  Value ListOf(const std::vector<Value>& items) {
    Value* copy = arena_.AllocateArray<Value>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), copy);
    return Value::List({copy, items.size()});
  }

  Value DeleteScalars(const Value& original, const Value& unwanted) {
    KeyIndex index(unwanted.items(), {});
    std::vector<Value> kept;
    for (const Value& item : original.items()) {
      if (index.Find(item) < 0) kept.push_back(item);
    }
    return ListOf(kept);
  }

  Result<Value> MergeScalars(const Value& original, const Value& patch) {
    KeyIndex seen;
    std::vector<Value> merged;
    for (const Value& list : {original, patch}) {
      for (const Value& item : list.items()) {
        if (seen.Find(item) >= 0) continue;
        seen.Add(item, merged.size());
        merged.push_back(item);
      }
    }
    TRY_ASSIGN(std::vector<Value> ordered, internal::OrderItems(merged, {{}, patch.items(), original.items()}));
    return ListOf(ordered);
  }

  Result<Value> MergeKeyed(const Value& original, const Value& patch, const Type& element, std::string_view merge_key,
                           std::vector<Value>* remains) {
    KeyedList list(original, merge_key);
    std::vector<Value> plain;
    bool replace = false;
    for (const Value& item : patch.items()) {
      const Member* directive = item.Find(kPatch);
      if (directive == nullptr)
        plain.push_back(item);
      else if (directive->value.AsString() == "replace")
        replace = true;
      else
        TRY(DeleteItem(list, item, directive->value, merge_key));
    }
    if (replace) {
      list.Replace(std::move(plain));
      plain.clear();
    }
    std::vector<Value> live_order = list.items();
    list.StartAdding();
    for (const Value& item : plain) TRY(AddItem(list, item, element, merge_key));
    if (remains) *remains = list.remains();
    TRY_ASSIGN(std::vector<Value> ordered, internal::OrderItems(list.items(), {merge_key, plain, live_order}));
    return ListOf(ordered);
  }

  static Done DeleteItem(KeyedList& list, const Value& item, const Value& directive, std::string_view merge_key) {
    if (directive.AsString() == "merge")
      return Fail(internal::Other("merging lists cannot yet be specified in the patch"));
    if (directive.AsString() != "delete") return Fail(internal::BadDirective(directive, item));
    const Member* key = item.Find(merge_key);
    if (key == nullptr) return Fail(internal::NoMergeKey(item, merge_key));
    list.DeleteAll(key->value);
    return {};
  }

  Done AddItem(KeyedList& list, const Value& item, const Type& element, std::string_view merge_key) {
    const Member* key = item.Find(merge_key);
    if (key == nullptr) return Fail(internal::NoMergeKey(item, merge_key));
    Value* existing = list.Find(key->value);
    if (existing == nullptr) {
      list.Add(key->value, item);
      return {};
    }
    TRY_ASSIGN(*existing, MergeMap(*existing, item, element));
    return {};
  }

  // A list whose order the patch states, together with what the patch does to it otherwise.
  Done MergeOrdered(MemberTable& merged, const Value& patch, const Member& directive, const Type& type,
                    std::set<std::string_view>& done) {
    const Value& order = directive.value;
    if (!order.IsList()) return Fail(internal::NotAList(order));
    TRY_ASSIGN(std::string_view name, DirectiveTarget(directive.name(), kOrder));
    Value original = merged.Get(name), wanted = patch.Get(name);
    for (const Value& list : {original, wanted}) {
      if (!list.IsAbsent() && !list.IsList()) return Fail(internal::NotAList(list));
    }
    Status problem(500, "", "");
    const Field* field = internal::LookUpField(type, name, problem);
    if (field == nullptr) return Fail(problem);
    TRY(ElementType(*field));
    TRY(CheckOrder(wanted, order, field->merge_key));
    if (original.IsAbsent() && wanted.IsAbsent()) return {};
    std::vector<Value> live_order = Items(original);
    Value list = original;
    if (original.IsAbsent()) {
      list = WithoutDirectives(arena_, wanted);
    } else if (!wanted.IsAbsent()) {
      TRY_ASSIGN(list, MergeList(original, wanted, *field, false, &live_order));
    }
    TRY(CheckItems(list, order, field->merge_key));
    if (!internal::SameKinds(original.items(), wanted.items(), problem)) return Fail(problem);
    bool objects = (original.empty() ? wanted : original).items()[0].IsObject();
    if (objects && field->merge_key.empty()) TRY(CheckUnkeyed(list, order, live_order));
    TRY_ASSIGN(std::vector<Value> ordered,
               internal::OrderItems(Items(list), {field->merge_key, order.items(), live_order}));
    merged.Set(name, ListOf(ordered));
    done.insert(name);
    return {};
  }

  static Done CheckItems(const Value& list, const Value& order, std::string_view merge_key) {
    if (merge_key.empty()) return {};
    for (const Value& item : list.items()) {
      if (!item.IsObject()) return Fail(internal::NotAMap(item));
      if (item.Find(merge_key) == nullptr) return Fail(internal::NoMergeKey(item, merge_key));
      for (size_t i = 0; i < order.size() && !order.items()[i].IsObject(); ++i) {
        return Fail(internal::Other("value for key " + std::to_string(i) + " is not a map"));
      }
    }
    return {};
  }

  // Objects without a merge key have no order to be put in. Upstream notices at one place or another.
  static Done CheckUnkeyed(const Value& list, const Value& order, const std::vector<Value>& live_order) {
    for (const Value& one : {list, order}) {
      for (const Value& item : one.items()) {
        if (item.IsObject())
          return Fail(internal::Other("runtime error: hash of unhashable type map[string]interface {}"));
      }
    }
    if (!order.empty()) return Fail(internal::NotAMap(order.items()[0]));
    if (!live_order.empty()) return Fail(internal::NoMergeKey(live_order[0], ""));
    return {};
  }

  // The items of the patch come in the order stated, and all of them are in it.
  static Done CheckOrder(const Value& wanted, const Value& order, std::string_view merge_key) {
    if (wanted.empty() || order.empty()) return {};
    std::vector<Value> items;
    for (const Value& item : wanted.items()) {
      if (!merge_key.empty() && !item.IsObject()) return Fail(internal::NotAMap(item));
      if (merge_key.empty() || item.Get(kPatch).AsString() != "delete") items.push_back(item);
    }
    size_t i = 0, j = 0;
    while (i < items.size() && j < order.size()) {
      if (items[i].Find(kPatch) != nullptr) {
        ++i;
        continue;
      }
      TRY_ASSIGN(bool same, SameItem(items[i], order.items()[j++], merge_key));
      if (same) ++i;
    }
    if (i == items.size()) return {};
    return Fail(internal::Other("The order in patch list:\n" + object::GoText(wanted, GoNumbers::kIntegers) +
                                "\n doesn't match $setElementOrder list:\n" +
                                object::GoText(order, GoNumbers::kIntegers) + "\n"));
  }

  static Result<bool> SameItem(const Value& item, const Value& in_order, std::string_view merge_key) {
    if (merge_key.empty()) return object::Equal(item, in_order);
    if (!in_order.IsObject()) return Fail(internal::NotAMap(in_order));
    for (const Value& one : {item, in_order}) {
      if (one.Find(merge_key) == nullptr) return Fail(internal::NoMergeKey(one, merge_key));
    }
    return object::Equal(item.Get(merge_key), in_order.Get(merge_key));
  }

  Arena& arena_;
};

}  // namespace

Result<Value> ApplyStrategicMergePatch(Arena& arena, const Type& type, const Value& original, const Value& patch) {
  if (patch && !patch.IsObject()) {
    std::string_view kind = patch.IsList() ? "array" : patch.IsString() ? "string" : patch.IsBool() ? "bool" : "number";
    return Fail(BadRequestError("json: cannot unmarshal " + std::string(kind) +
                                " into Go value of type map[string]interface {}"));
  }
  return Merger(arena).MergeMap(original, patch, type);
}

}  // namespace homeostat::patch
