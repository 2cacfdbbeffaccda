// The name of a field manager: what a request says, or what its user agent tells.
//
// Source of the rules: meta/v1 validation and apiserver endpoints/handlers.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/schema/field_errors.h"

namespace homeostat::patch {

inline constexpr size_t kMostManagerNameBytes = 128;

// The name asked for; without one, the user agent up to its first slash, without what can't be printed, cut to 128
// bytes.
std::string ManagerName(std::string_view asked, std::string_view user_agent);

// Too long, or with characters that can't be printed. Empty is fine: it counts as not said.
void ValidateManagerName(std::string_view name, const schema::FieldPath& path, schema::FieldErrors& errors);

}  // namespace homeostat::patch
