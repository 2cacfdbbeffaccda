// JSONPath as kubectl's columns, custom resources' printer columns, selectable fields and scale paths use it.
//
// Source of the rules: client-go/util/jsonpath, the expressions without the template around them: names (.a, ['a']),
// positions ([0], [-1], [0,2], [1:3], [::2]), all ([*], .*), anywhere below (..name), and filters
// ([?(@.type=="Ready")], with == != < > <= >= or only a path that must be there). Safe to call from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

// A path that was read once and is evaluated often. Immutable.
class JsonPath {
 public:
  // ".spec.replicas", "$.spec.replicas", "{.spec.replicas}" or "spec.replicas". BadRequest if it cannot be read.
  static Result<JsonPath> Parse(std::string_view path);

  // Everything that the path leads to, in the order of the tree; nothing if there is nothing. The values are the tree's.
  // BadRequest for comparisons of what cannot be compared.
  Result<std::vector<Value>> Evaluate(const Value& root) const;

  // Only names: a.b.c. The path is then one place that can also be written to, and Names() are its steps.
  bool IsSimple() const;
  std::vector<std::string> Names() const;

  struct Step;

 private:
  explicit JsonPath(std::shared_ptr<const std::vector<Step>> steps) : steps_(std::move(steps)) {}
  std::shared_ptr<const std::vector<Step>> steps_;
};

// Both at once, for a path that is used only once.
Result<std::vector<Value>> EvaluateJsonPath(std::string_view path, const Value& root);

}  // namespace homeostat::object
