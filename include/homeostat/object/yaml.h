// YAML to values and back, as sigs.k8s.io/yaml does for Kubernetes: YAML 1.1's words and numbers, merge keys, the result
// what it would be after a detour through JSON.
//
// Source of the rules: go.yaml.in/yaml v2 and sigs.k8s.io/yaml; messages are theirs. Safe to call from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

// How deep a YAML document may nest, aliases resolved. (Upstream allows 10,000.) In documents beyond 300 kB less of the
// bracketed kind: 100 levels at 3 MB, as the cost of a token grows with the brackets that are open.
inline constexpr int kMaxYamlDepth = 1000;

// Reads the first document; an empty one is null. Texts are copied into the arena. Keys that are not strings become
// strings. Of equal keys the last wins; each repetition is added to duplicate_keys in upstream's words
// (`line 3: key "a" already set in map`; see StrictYamlMessage). Integers that fit are kInt, and so are doubles without a fraction.
//
// BadRequest with upstream's words ("yaml: line 2: did not find expected key").
Result<Value> ParseYaml(Arena& arena, std::string_view text, std::vector<std::string>* duplicate_keys = nullptr);
Result<std::shared_ptr<Document>> ParseYamlDocument(std::string_view text, std::vector<std::string>* duplicate_keys = nullptr);

// The one problem that strict decoding reports for all duplicate keys of a document.
std::string StrictYamlMessage(const std::vector<std::string>& duplicate_keys);

// The documents of a stream, separated by lines of "---" with nothing or a comment behind; empty ones are left out.
std::vector<std::string_view> SplitYamlDocuments(std::string_view text);

struct YamlStyle {
  // By name, in upstream's order that counts numbers as numbers (a2 before a10): what `kubectl -o yaml` shows. Otherwise
  // members in the order of the tree.
  bool sort_names = true;
};

// Appends one document, ending in a newline. Block style, two spaces; texts are quoted where they would read as something
// else, and broken at 80 columns. Bytes as base64, an absent value as null. Any depth.
void AppendYaml(std::string& out, const Value& value, const YamlStyle& style = {});
std::string WriteYaml(const Value& value, const YamlStyle& style = {});

}  // namespace homeostat::object
