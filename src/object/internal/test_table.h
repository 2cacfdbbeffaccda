// For tests: tables of cases under testdata/.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
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

// The lines of a file in src/object/testdata, split at tabs, with `$n` replaced by the message that a line `$n=…` names.
// The first column is given back from hexadecimal.
inline std::vector<std::vector<std::string>> ReadTable(std::string_view name) {
  std::filesystem::path file = std::filesystem::path(__FILE__).parent_path().parent_path() / "testdata" / name;
  std::ifstream in(file);
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, std::string> messages;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('$')) {
      size_t equals = line.find('=');
      messages[line.substr(0, equals)] = line.substr(equals + 1);
      continue;
    }
    std::vector<std::string> row;
    size_t at = 0;
    for (size_t tab; (tab = line.find('\t', at)) != std::string::npos; at = tab + 1) row.push_back(line.substr(at, tab - at));
    row.push_back(line.substr(at));
    row[0] = FromHex(row[0]);
    for (std::string& column : row) {
      if (auto message = messages.find(column); message != messages.end() && &column != &row[0]) column = message->second;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::string Join(const std::vector<std::string>& texts, std::string_view separator) {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += separator;
    out += text;
  }
  return out;
}

}  // namespace homeostat::object::internal
