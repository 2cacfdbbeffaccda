// The members that a struct has in JSON, one level at a time: for those who only look.
#pragma once

#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Appends the members of a typed struct, not a custom one, as ToJsonForm has them; their values are typed still. Of what is absent
// and written all the same, a struct is an empty one and everything else is null.
void AppendJsonMembers(const Type& type, const object::Value& value, std::vector<object::Member>& members);

}  // namespace homeostat::schema
