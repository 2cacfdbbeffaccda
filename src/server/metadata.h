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

// uid, creationTimestamp, generation start; clears what only the server may say.
Value FillSystemFields(Arena& arena, Runtime& runtime, const schema::Type& type, const Value& object);
// Wall time as meta/v1 Time writes it.
std::string FormatNow(Runtime& runtime);

using NameCheck = std::vector<std::string> (*)(std::string_view name, bool prefix);

// Checks a new object's metadata; name_check: the kind's rule, null for DNS subdomains.
void ValidateObjectMeta(const Value& object, bool namespaced, NameCheck name_check, schema::FieldErrors& errors);
// Checks that what must not change did not.
void ValidateObjectMetaUpdate(const Value& object, const Value& old, schema::FieldErrors& errors);

}  // namespace homeostat::server
