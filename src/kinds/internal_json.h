// Objects as upstream prints its internal ones in messages: Go's names, every field written. Clients see that text when an
// update is refused, so it has to be the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"

namespace homeostat::kinds {

struct InternalForm {
  std::span<const std::string_view> fields = {};   // of a struct only these (a volume's source within its spec); none: all
  const schema::EmptyFields* came_empty = nullptr; // lists and maps that are not null but empty; null: none is known
  std::string_view path = {};                      // of the value in its object, as those are named
};

// A value of a built-in type in one line, as in "Invalid value: …".
schema::BadValue InternalValue(const schema::Type& type, const object::Value& value, const InternalForm& form = {});
// The difference of two, as "unified diff" of the indented texts with three lines around each change; no headers. What came empty
// is so in `value` alone.
std::string InternalDiff(const schema::Type& type, const object::Value& old, const object::Value& value, const InternalForm& form = {});

// The difference of two texts, line by line; their last lines have no newline.
std::string UnifiedDiff(std::string_view a, std::string_view b);

}  // namespace homeostat::kinds
