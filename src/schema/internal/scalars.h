// Scalars with a canonical form, from what JSON may write for them.
#pragma once

#include <expected>
#include <string>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema::internal {

// The canonical value, or Go's error text.
using ScalarResult = std::expected<object::Value, std::string>;

// kQuantity, of any value that is neither absent nor null; kTime, kMicroTime, kDuration and kIntOrString, of strings. A
// zero time gives Null.
ScalarResult CanonicalScalar(object::Arena& arena, Form form, const object::Value& value);

// A canonical time as protobuf has it. Absent, null and what is no time are zero.
struct WireTime {
  bool zero = true;
  int64_t seconds = 0;
  int32_t nanoseconds = 0;
};
WireTime TimeOnWire(Form form, const object::Value& value);
// The canonical text; Null for a zero time. An error for times that have none (before year 1, after 9999).
ScalarResult TimeFromWire(object::Arena& arena, Form form, const WireTime& time);

// A canonical duration's length; 0 for what is none. And back.
int64_t DurationNanoseconds(const object::Value& value);
object::Value DurationText(object::Arena& arena, int64_t nanoseconds);

// Compares two canonical quantities by their numbers; absent ones are zero.
int CompareQuantities(const object::Value& a, const object::Value& b);

// What Go's JSON errors call the value: string, number, bool, array, object, null.
std::string_view JsonKindName(const object::Value& value);

// A number's text as it may have stood in the source.
std::string NumberText(const object::Value& value);

}  // namespace homeostat::schema::internal
