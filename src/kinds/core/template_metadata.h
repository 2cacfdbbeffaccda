// Metadata of templates that objects are made from: only labels and annotations may be given.
#pragma once

#include "kinds/checks.h"

namespace homeostat::kinds {

void CheckTemplateMetadata(const Value& metadata, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
