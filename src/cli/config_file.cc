#include "cli/config_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "homeostat/base/files.h"
#include "homeostat/object/yaml.h"

namespace homeostat::cli {
namespace {

using object::Value;

// The text of a scalar; nothing for anything else.
std::optional<std::string> TextOf(const Value& value) {
  if (value.IsString()) return std::string(value.AsString());
  if (value.IsBool()) return value.AsBool() ? "true" : "false";
  if (value.IsInt()) return std::to_string(value.AsInt());
  if (value.IsDouble()) return fmt::format("{}", value.AsDouble());
  return std::nullopt;
}

std::optional<std::string> FlagText(const Value& value) {
  if (!value.IsList()) return TextOf(value);
  std::string joined;
  for (const Value& item : value.items()) {
    auto text = TextOf(item);
    if (!text) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

}  // namespace

Result<FlagValues> ReadConfigFile(const std::string& path) {
  auto wrong = [&path](std::string_view what) { return Fail(SystemError(fmt::format("--config {}: {}", path, what))); };
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().WithContext("--config"));
  std::vector<std::string> duplicates;
  auto document = object::ParseYamlDocument(*text, &duplicates);
  if (!document) return wrong(document.error().message());
  if (!duplicates.empty()) return wrong(duplicates.front());
  const Value& root = (*document)->root();
  if (!root.IsObject() && !root.IsNull()) return wrong("names of flags and their values are expected");
  FlagValues values;
  for (const object::Member& member : root.members()) {
    if (member.value.IsNull()) continue;
    auto value = FlagText(member.value);
    if (!value) return wrong(fmt::format("{}: a text, a number, true or false, or a list of such is expected", member.name()));
    values.emplace_back(member.name(), std::move(*value));
  }
  return values;
}

std::string ConfigFileOf(const std::vector<std::string_view>& words) {
  constexpr std::string_view kFlag = "--config";
  std::string path;
  if (const char* named = std::getenv("HOMEOSTAT_CONFIG")) path = named;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == kFlag && i + 1 < words.size()) path = words[++i];
    if (word.starts_with(kFlag) && word.substr(kFlag.size()).starts_with('=')) path = word.substr(kFlag.size() + 1);
  }
  return path;
}

}  // namespace homeostat::cli
