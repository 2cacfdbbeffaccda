// For tests: tables of cases under testdata/.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat::object::internal {

inline std::string FromHex(std::string_view digits) {
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// The lines of a file in src/object/testdata, split at tabs; lines that begin with # are left out.
inline std::vector<std::vector<std::string>> ReadTable(std::string_view name) {
  std::filesystem::path file = std::filesystem::path(__FILE__).parent_path().parent_path() / "testdata" / name;
  std::ifstream in(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> row;
    size_t at = 0;
    for (size_t tab; (tab = line.find('\t', at)) != std::string::npos; at = tab + 1) row.push_back(line.substr(at, tab - at));
    row.push_back(line.substr(at));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace homeostat::object::internal
