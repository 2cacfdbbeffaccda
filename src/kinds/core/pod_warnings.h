// What clients are told about pods that are accepted all the same.
// Source of the texts: pkg/api/pod, pkg/api/node, pkg/api/persistentvolumeclaim.
#pragma once

#include <string>
#include <vector>

#include "kinds/checks.h"

namespace homeostat::kinds {

using Warnings = std::vector<std::string>;

// root: where the pod's metadata and spec stand; the root path for a pod itself.
void WarnOfPod(const Value& metadata, const Value& spec, const FieldPath& root, bool is_template, Warnings& warnings);
void WarnOfOverlappingPaths(const Value& volumes, Warnings& warnings);
// Addresses in a pod's status that are written unwisely.
void WarnOfAddresses(const Value& pod, Warnings& warnings);
void WarnOfClaimSpec(const Value& spec, const FieldPath& path, Warnings& warnings);
// The replacement of a label of nodes that went out of use; "" if it did not.
std::string_view DeprecatedNodeLabel(std::string_view key);
void WarnOfNodeSelectorTerm(const Value& term, bool check_values, const FieldPath& path, Warnings& warnings);

}  // namespace homeostat::kinds
