// What decides where a pod runs: selectors of nodes, affinity, tolerations, spreading.
#pragma once

#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

void CheckNodeSelector(const Value& selector, bool allow_invalid_values, const FieldPath& path, FieldErrors& errors);
void CheckNodeSelectorTerm(const Value& term, bool allow_invalid_values, const FieldPath& path, FieldErrors& errors);
void CheckAffinity(const Value& affinity, const PodRules& rules, const FieldPath& path, FieldErrors& errors);
void CheckTolerations(const Value& tolerations, const PodRules& rules, const FieldPath& path, FieldErrors& errors);
void CheckTaintEffect(std::string_view effect, bool allow_empty, const FieldPath& path, FieldErrors& errors);
void CheckTopologySpread(const Value& constraints, const PodRules& rules, const FieldPath& path, FieldErrors& errors);
// Keys of the pod's labels that are merged into a selector.
void CheckMergedLabelKeys(const Value& match, const Value& mismatch, const Value& selector, const FieldPath& path, FieldErrors& errors);

bool HasInvalidNodeSelectorValues(const Value& node_selector);

}  // namespace homeostat::kinds
