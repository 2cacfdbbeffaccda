// Equality of typed trees as Kubernetes means it, and which fields differ.
#pragma once

#include <cstdint>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Equal to Go's semantic comparison: absent and zero are the same where the field is no pointer, as are empty and
// missing lists and maps; the order of a map's entries doesn't count; quantities are equal if their numbers are (1Gi,
// 1024Mi). Raw JSON is compared as text.
bool IsEqual(const Type& type, const object::Value& a, const object::Value& b);

// Equal to the letter, the order of members included: how raw JSON that was kept as it came (RawExtension, JSON) is compared, as bytes.
bool IsSameText(const object::Value& a, const object::Value& b);

// Indexes of the struct's fields that differ, ascending.
std::vector<uint16_t> ChangedFields(const Type& type, const object::Value& a, const object::Value& b);

}  // namespace homeostat::schema
