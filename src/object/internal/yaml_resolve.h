// What a YAML scalar means: YAML 1.1's implicit types as go.yaml.in/yaml v2 decides them.
#pragma once

#include <cstdint>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::object::internal {

inline constexpr std::string_view kYamlTagPrefix = "tag:yaml.org,2002:";

struct YamlScalar {
  enum class Kind { kString, kNull, kBool, kInt, kUint, kFloat, kTimestamp, kMerge, kBinary };
  Kind kind = Kind::kString;
  bool boolean = false;
  int64_t integer = 0;
  uint64_t unsigned_integer = 0;  // above 2^63-1
  double number = 0;
};

// tag: as the document has it, in its long form; "" for none. The error is a text without "yaml: ".
Result<YamlScalar> ResolveYaml(std::string_view tag, std::string_view text);

// Whether a plain scalar of that text is a string.
bool IsYamlString(std::string_view text);

}  // namespace homeostat::object::internal
