// Fields of features that are switched off: what clients write to them is dropped, as if the fields weren't there.
#pragma once

#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::kinds {

// Whether the feature is on. All are that kube-apiserver 1.36 has on unless told otherwise.
bool IsFeatureEnabled(std::string_view gate);

// The object without fields of features that are off; those that the stored object uses already are let be. old is absent
// on create. A struct that had nothing else goes as well, where a pointer leads to it.
object::Value DropDisabledFields(object::Arena& arena, const schema::Type& type, const object::Value& object, const object::Value& old);

}  // namespace homeostat::kinds
