// The text of one step of a path, as it stands as a member's name in FieldsV1: f:name, k:{"name":"a"}, v:"a", i:3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "patch/field_set.h"

namespace homeostat::patch::internal {

struct ParsedElement {
  PathElement element;
  bool canonical = true;  // written again it is the same text
};

// nullopt: a sort of step that is not known, to be passed over. The result may point into the text.
Result<std::optional<ParsedElement>> ParsePathElement(Arena& arena, std::string_view text);

void AppendPathElement(std::string& out, const PathElement& element);

}  // namespace homeostat::patch::internal
