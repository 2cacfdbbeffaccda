// Selectors in texts that people see, as Go prints them.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::controllers {

// A meta/v1 LabelSelector as Go prints a pointer to one; "nil" for none.
std::string GoSelectorText(const object::Value& selector);

}  // namespace homeostat::controllers
