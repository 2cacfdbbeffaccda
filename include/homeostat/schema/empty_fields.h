// EmptyFields: the lists and maps that came empty, where a typed tree has nothing; and the byte strings.
//
// Go tells an empty list from none, and upstream's rules and messages show it now and then: a pod's overhead of {} is one, and
// what an update may not change is refused as [] or as null. What is stored knows only one of the two (but for byte strings), and
// so does a typed tree (conform.h); this is the record of the difference for one decoded object.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace homeostat::schema {

class EmptyFields {
 public:
  // path: as FieldPath and strict decoding spell it, spec.containers[0].ports; entries of maps as .key. text: what JSON
  // writes for it, with static storage: [] or {} or "".
  void Add(std::string path, std::string_view text) { fields_.emplace_back(std::move(path), text); }
  void Clear() { fields_.clear(); }
  bool empty() const { return fields_.empty(); }
  // Paths, and what JSON writes for them, in the order in which they came.
  const std::vector<std::pair<std::string, std::string_view>>& fields() const { return fields_; }
  size_t size() const { return fields_.size(); }
  bool Has(std::string_view path) const { return Text(path) != "null"; }
  // [] or {} or "" for a field that came empty, null for every other.
  std::string_view Text(std::string_view path) const {
    for (const auto& [known, text] : fields_) {
      if (known == path) return text;
    }
    return "null";
  }
  // Whether one stands at the path or below it.
  bool HasWithin(std::string_view path) const {
    for (const auto& [known, text] : fields_) {
      if (!known.starts_with(path)) continue;
      if (known.size() == path.size() || known[path.size()] == '.' || known[path.size()] == '[') return true;
    }
    return false;
  }

  // Whether an empty list or map stands outside the metadata. Octets are in the tree, too, and stay empty when they are stored.
  bool HasInBody() const {
    for (const auto& [known, text] : fields_) {
      if (text != "\"\"" && !known.starts_with("metadata.")) return true;
    }
    return false;
  }

 private:
  // Few and seldom asked for.
  std::vector<std::pair<std::string, std::string_view>> fields_;
};

}  // namespace homeostat::schema
