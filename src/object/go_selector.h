// Selectors in texts that people see, as Go prints them.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::object {

// A meta/v1 LabelSelector as Go prints a pointer to one; "nil" for none.
std::string GoSelectorText(const Value& selector);

}  // namespace homeostat::object
