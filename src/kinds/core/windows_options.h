// Options of containers on Windows.
#pragma once

#include "kinds/checks.h"

namespace homeostat::kinds {

void CheckWindowsOptions(const Value& options, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
