// Metadata: reading, writing and checking the part that every object has. Works on typed trees of any kind.
// Source of the rules: API conventions "Metadata", and upstream's api/validation ObjectMeta checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/kind.h"

namespace homeostat::server {

using object::Arena;
using object::Value;

// `object` with a field of its metadata replaced; an absent value erases it. type: the object's.
Value SetMetadata(Arena& arena, const schema::Type& type, const Value& object, std::string_view field, Value value);
// Several at once.
struct MetadataChange {
  std::string_view field;
  Value value;
};
Value SetMetadata(Arena& arena, const schema::Type& type, const Value& object, std::initializer_list<MetadataChange> changes);

// A field of a typed struct replaced, by name; an absent value erases. The name must be the type's.
Value SetField(Arena& arena, const schema::Type& type, const Value& object, std::string_view field, Value value);
// The value at a dotted path of struct fields, and the object with it replaced (structs on the way are made as needed).
Value GetPath(const Value& object, std::string_view dotted_path);
Value SetPath(Arena& arena, const schema::Type& type, const Value& object, std::string_view dotted_path, Value value);

std::string_view MetadataString(const Value& object, std::string_view field);

// uid and creationTimestamp.
Value FillSystemFields(Arena& arena, Runtime& runtime, const schema::Type& type, const Value& object);
// Wall time as meta/v1 Time writes it.
std::string FormatNow(Runtime& runtime);

using NameCheck = std::vector<std::string> (*)(std::string_view name, bool prefix);

// The rule that holds for names of every kind: they can stand in a path.
std::vector<std::string> PathSegmentName(std::string_view name, bool prefix);

// Whether an object of this name can be in the store at all: 400 if not.
Result<void> CheckKeyName(std::string_view name);

struct MetaRules {
  bool finalizer_owners = false;  // finalizers must be qualified, if they are none of Kubernetes' own
  bool any_generate_name = false; // only the name that came of it is looked at
};

// Checks an object's metadata; name_check: the kind's rule, null for DNS subdomains.
void ValidateObjectMeta(const Value& object, bool namespaced, NameCheck name_check, MetaRules rules, schema::FieldErrors& errors);
// Checks that what must not change did not, and what might have got new faults.
void ValidateObjectMetaUpdate(const Value& object, const Value& old, MetaRules rules, schema::FieldErrors& errors);

}  // namespace homeostat::server
