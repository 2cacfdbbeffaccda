// FieldsV1 as text, read as it is written here and by upstream: without a tree in between.
#pragma once

#include <optional>
#include <string_view>

#include "patch/field_set.h"

namespace homeostat::patch::internal {

// The set of a text that WriteFieldsV1Text would write just so. nullopt for any other, which may still be a set: it is for
// the full parser. Names point into the text.
std::optional<FieldSet> ReadPlainFieldsText(Arena& arena, std::string_view text);

}  // namespace homeostat::patch::internal
