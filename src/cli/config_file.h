// Flags from a file: a YAML mapping of their names to their values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::cli {

// Names and values as they would stand on the command line; the items of a list are joined with commas, names without a value
// are left out. An error says in one line what is wrong with the file.
using FlagValues = std::vector<std::pair<std::string, std::string>>;
Result<FlagValues> ReadConfigFile(const std::string& path);

// The file that --config among the words or else HOMEOSTAT_CONFIG names; "" without either.
std::string ConfigFileOf(const std::vector<std::string_view>& words);

}  // namespace homeostat::cli
