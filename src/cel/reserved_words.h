// Names that the language keeps to itself. Source: the CEL specification's grammar.
#pragma once

#include <string_view>

namespace homeostat::cel {

// Whether it can be no identifier, and fields of that name are escaped.
bool IsReservedWord(std::string_view name);

}  // namespace homeostat::cel
