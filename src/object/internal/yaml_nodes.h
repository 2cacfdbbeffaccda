// The tree that a YAML document is before its scalars mean anything: with tags, anchors, aliases and line numbers.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/arena.h"

namespace homeostat::object::internal {

struct YamlNode {
  enum class Kind { kScalar, kSequence, kMapping, kAlias };
  Kind kind = Kind::kScalar;
  bool implicit = false;       // a plain scalar without a tag
  bool being_decoded = false;  // for aliases: to find those that contain themselves
  size_t line = 0;             // from 1
  std::string_view tag;
  std::string_view value;             // of a scalar; of an alias, the anchor's name
  YamlNode* target = nullptr;         // of an alias
  std::vector<YamlNode*> children;    // items, or keys and values in turn

  bool IsMergeKey() const;
};

// Owns the nodes and their texts.
class YamlNodes {
 public:
  // The first document's node, or nullptr if there is none. Errors are whole messages, with "yaml: ".
  Result<YamlNode*> Read(std::string_view text);

 private:
  friend class YamlReader;
  Arena arena_;
  std::deque<YamlNode> nodes_;
};

}  // namespace homeostat::object::internal
