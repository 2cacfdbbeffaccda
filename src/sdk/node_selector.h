// Node selectors and tolerations, read once and matched often.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/selectors.h"

namespace homeostat::sdk {

// One term: all of its conditions. An empty or malformed term matches no node.
class NodeTerm {
 public:
  NodeTerm() = default;
  explicit NodeTerm(const api::core::v1::NodeSelectorTerm& term);
  bool Matches(std::string_view node_name, const object::Value& labels) const;
  // The node names that the term allows, if it pins some by matchFields.
  std::optional<std::vector<std::string>> PinnedNodes() const;

 private:
  std::vector<object::LabelRequirement> labels_, fields_;
  bool never_ = true;
};

// Any of its terms.
class NodeSelector {
 public:
  NodeSelector() = default;
  explicit NodeSelector(const api::core::v1::NodeSelector& selector);
  bool Matches(std::string_view node_name, const object::Value& labels) const;
  const std::vector<NodeTerm>& terms() const { return terms_; }

 private:
  std::vector<NodeTerm> terms_;
};

struct Taint {
  std::string key, value, effect;
};

struct Toleration {
  std::string key, op, value, effect;
  bool Tolerates(const Taint& taint) const;
};

bool Tolerated(const std::vector<Toleration>& tolerations, const Taint& taint);

}  // namespace homeostat::sdk
