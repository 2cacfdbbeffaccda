// Apply's view of two objects of one type: which fields an object has, what merging an apply configuration into it
// gives, what differs between the two, and the object without some of its fields.
//
// Objects are in JSON form (schema::ToJsonForm, or parsed JSON); results are too, share subtrees with the arguments and
// must be conformed before they are used as typed trees. Lists that are sets or have keys are merged item by item, all
// other lists, and maps and structs declared atomic, are replaced as a whole.
//
// Source of the rules: structured-merge-diff v6, typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"

namespace homeostat::patch {

enum class Duplicates { kRefused, kAllowed };

// Whether the value fits the type as far as apply cares: fields are declared, kinds match, items have their keys, and,
// unless allowed, no two items are the same. The error is 500 with upstream's text (`.spec.foo: field not declared in
// schema`).
Done CheckTyped(Arena& arena, const schema::Type& type, const Value& value, Duplicates duplicates);

// The paths of everything in the value that can have an owner. The value must have passed CheckTyped.
FieldSet FieldSetOf(Arena& arena, const schema::Type& type, const Value& value);

// The same of a typed tree of a kind that is no custom one, as it is in JSON, which need not be made then. nullopt where that must be
// looked at, because something is not the same there or not fit (CheckTyped, duplicates allowed).
std::optional<FieldSet> FieldsOfNew(Arena& arena, const schema::Type& type, const Value& typed);

// What applying `config` to `live` gives: config's values win, what it does not say stays. Items that only live has
// keep their place among those before and after them; items of config come in its order. Both must have passed
// CheckTyped.
Value MergeTyped(Arena& arena, const schema::Type& type, const Value& live, const Value& config);

// Where the value holds lists, maps and structs that only go as a whole: `.spec.selector`, `.spec.args[0]`; "" for the value itself.
// In the order of the value. Source: apiserver's policy/mutating/patch/smd.go.
std::vector<std::string> AtomicParts(const schema::Type& type, const Value& value);

struct Comparison {
  FieldSet added, modified, removed;
  // Lists that are new had items without a step, or several at one step, which CheckTyped may refuse.
  bool doubtful = false;
  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};
// What it takes to get from one value to the other. Both must have passed CheckTyped, duplicates allowed.
Comparison CompareTyped(Arena& arena, const schema::Type& type, const Value& from, const Value& to);

// The value without the items at these paths and what is below them. Null if nothing is left.
Value RemoveItems(Arena& arena, const schema::Type& type, const Value& value, const FieldSet& items);
// Only the items at these paths. Give it Leaves() of an owner's set to get what the owner last applied.
Value ExtractItems(Arena& arena, const schema::Type& type, const Value& value, const FieldSet& items);

// The set with every declared field on the way to a path being a member as well.
FieldSet WithNamedFields(Arena& arena, const schema::Type& type, const FieldSet& set);

// A set that was recorded when the type was different, put right: paths below what is atomic now become the path of the
// whole. Returns the same set if there is nothing to change.
FieldSet ReconcileWithType(Arena& arena, const schema::Type& type, const FieldSet& set);

}  // namespace homeostat::patch
