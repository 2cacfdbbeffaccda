// Objects as upstream prints its internal ones in messages: Go's names, every field written. Clients see that text when an
// update is refused, so it has to be the same.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"

namespace homeostat::kinds {

// A value of a built-in type in one line, as in "Invalid value: …".
schema::BadValue InternalValue(const schema::Type& type, const object::Value& value);
// The difference of two, as "unified diff" of the indented texts with three lines around each change; no headers.
std::string InternalDiff(const schema::Type& type, const object::Value& old, const object::Value& value);
// The same of only those fields of a struct (a volume's source within its spec).
std::string InternalDiff(const schema::Type& type, const object::Value& old, const object::Value& value,
                         std::span<const std::string_view> fields);

// The difference of two texts, line by line; their last lines have no newline.
std::string UnifiedDiff(std::string_view a, std::string_view b);

}  // namespace homeostat::kinds
