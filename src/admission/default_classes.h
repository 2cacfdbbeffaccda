// What the plugins that fill in a default class share.
#pragma once

#include <initializer_list>

#include "admission/admission.h"

namespace homeostat::admission {

// The class that one of the annotations marks as the default ("true"): of several the newest, of those of one age the first by
// name. Null if none is.
object::DocumentPtr FindDefaultClass(const kinds::ObjectReader& objects, std::string_view group, std::string_view plural,
                                     std::initializer_list<std::string_view> annotations);

}  // namespace homeostat::admission
