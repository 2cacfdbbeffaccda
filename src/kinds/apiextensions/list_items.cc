// Lists of custom resources that are sets or maps, and resources within them.
// Source: apiextensions-apiserver's pkg/apiserver/schema/listtype and objectmeta.
#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/member_field.h"
#include "kinds/apiextensions/custom_resource.h"
#include "kinds/checks.h"
#include "kinds/object_meta.h"

namespace homeostat::kinds {
namespace {

struct Less {
  bool operator()(const Value& a, const Value& b) const { return object::Compare(a, b) < 0; }
};

// The indexes of the second appearance of each value that is there more than once.
std::vector<size_t> SecondAppearances(std::span<const Value> values) {
  // None where they rise, as those of most lists do.
  auto rises = [](const Value& a, const Value& b) { return object::Compare(a, b) < 0; };
  if (std::ranges::adjacent_find(values, std::not_fn(rises)) == values.end()) return {};
  std::map<Value, int, Less> seen;
  std::vector<size_t> second;
  for (size_t i = 0; i < values.size(); ++i) {
    if (++seen[values[i]] == 2) second.push_back(i);
  }
  return second;
}

void CheckSet(const Value& list, const FieldPath& path, FieldErrors& errors) {
  for (size_t index : SecondAppearances(list.items())) errors.Duplicate(path.Index(index), list.items()[index]);
}

void CheckMap(const schema::Type& type, const Value& list, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Value& item = list.items()[i];
    if (item.IsObject() || item.IsNull()) continue;
    return errors.Invalid(path.Index(i), item, "must be an object for an array of list-type map");
  }
  std::vector<std::string_view> names(type.list_map_keys.begin(), type.list_map_keys.end());
  std::ranges::sort(names);
  object::Arena arena;
  std::vector<Value> keys;
  keys.reserve(list.size());
  for (const Value& item : list.items()) {
    object::Member* key = arena.AllocateArray<object::Member>(names.size());
    size_t count = 0;
    for (std::string_view name : names) {
      if (const object::Member* member = item.Find(name)) new (&key[count++]) object::Member(name, member->value);
    }
    keys.push_back(Value::Object({key, count}));
  }
  for (size_t index : SecondAppearances(keys)) errors.Duplicate(path.Index(index), keys[index]);
}

// The type of a member, and whether it is one of the type's own fields.
const schema::Type* MemberType(const schema::Type& type, const object::Member& member, bool& is_field) {
  const schema::Field* field = type.form == schema::Form::kStruct ? schema::FieldOfMember(type, member) : nullptr;
  is_field = field != nullptr;
  return field != nullptr ? field->type : type.element;
}

template <class Visit>
void EachBelow(const schema::Type& type, const Value& value, const FieldPath& path, Visit visit) {
  if (value.IsList()) {
    for (size_t i = 0; type.form == schema::Form::kList && type.element != nullptr && i < value.size(); ++i) {
      visit(*type.element, value.items()[i], path.Index(i));
    }
    return;
  }
  for (const object::Member& member : value.members()) {
    bool is_field = false;
    const schema::Type* below = MemberType(type, member, is_field);
    if (below == nullptr || !below->structural) continue;
    visit(*below, member.value, is_field ? path.Child(member.name()) : path.Key(member.name()));
  }
}

void CheckResource(const Value& object, const FieldPath& path, FieldErrors& errors) {
  for (std::string_view name : {"apiVersion", "kind"}) {
    if (object.Find(name) == nullptr) errors.Required(path.Child(name));
  }
  if (const object::Member* version = object.Find("apiVersion")) {
    std::string_view text = version->value.AsString();
    if (!version->value.IsString()) errors.Invalid(path.Child("apiVersion"), version->value, "must be a string");
    else if (text.empty()) errors.Invalid(path.Child("apiVersion"), text, "must not be empty");
    else if (std::ranges::count(text, '/') > 1) {
      errors.Invalid(path.Child("apiVersion"), text, "unexpected GroupVersion string: " + std::string(text));
    }
  }
  if (const object::Member* kind = object.Find("kind")) {
    std::string_view text = kind->value.AsString();
    object::Messages messages = object::IsDNS1035Label(LowerCase(text));
    if (!kind->value.IsString()) errors.Invalid(path.Child("kind"), kind->value, "must be a string");
    else if (text.empty()) errors.Invalid(path.Child("kind"), text, "must not be empty");
    else if (!messages.empty()) errors.Invalid(path.Child("kind"), text, "may have mixed case, but should otherwise match: " + Joined(messages));
  }
  Value metadata = object.Get("metadata");
  if (!metadata) return;
  FieldPath below = path.Child("metadata");
  for (std::string_view name : {"creationTimestamp", "deletionTimestamp"}) {
    Value time = metadata.Get(name);
    if (!time.IsString()) continue;
    if (auto parsed = object::ParseTime(time.AsString()); !parsed) return errors.Invalid(below, metadata, parsed.error().message());
  }
  for (std::string_view name : {"name", "generateName"}) {
    std::string_view text = metadata.Get(name).AsString();
    if (text.empty()) continue;
    object::Messages messages = name == "name" ? object::IsValidPathSegmentName(text) : object::IsValidPathSegmentPrefix(text);
    AddInvalid(errors, below.Child(name), text, messages);
  }
  if (std::string_view ns = metadata.Get("namespace").AsString(); !ns.empty()) {
    AddInvalid(errors, below.Child("namespace"), ns, object::IsDNS1123Label(ns));
  }
  if (int64_t generation = metadata.Get("generation").AsInt(); generation < 0) {
    errors.Invalid(below.Child("generation"), generation, "must be greater than or equal to 0");
  }
  CheckLabels(metadata.Get("labels"), below.Child("labels"), errors);
  CheckAnnotations(metadata.Get("annotations"), below.Child("annotations"), errors);
  CheckOwnerReferences(metadata.Get("ownerReferences"), below.Child("ownerReferences"), errors);
  CheckFinalizers(metadata.Get("finalizers"), below.Child("finalizers"), errors);
}

}  // namespace

void CheckListItems(const schema::Type& type, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (value.IsList() && type.form == schema::Form::kList) {
    if (type.list_type == schema::ListType::kSet) CheckSet(value, path, errors);
    if (type.list_type == schema::ListType::kMap) CheckMap(type, value, path, errors);
  }
  EachBelow(type, value, path, [&](const schema::Type& below, const Value& part, const FieldPath& at) {
    CheckListItems(below, part, at, errors);
  });
}

void CheckEmbeddedResources(const schema::Type& type, const Value& value, const FieldPath& path, FieldErrors& errors, bool root) {
  if (value.IsObject() && (type.embedded_resource || root)) CheckResource(value, path, errors);
  EachBelow(type, value, path, [&](const schema::Type& below, const Value& part, const FieldPath& at) {
    CheckEmbeddedResources(below, part, at, errors);
  });
}

}  // namespace homeostat::kinds
