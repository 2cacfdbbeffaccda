// OpenAPI documents of version 2 of several servers as one. Pure.
// Source: kube-openapi/pkg/aggregator (FilterSpecByPaths, MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters).
#pragma once

#include <string>
#include <string_view>

#include "homeostat/object/value.h"

namespace homeostat::server {

// The paths that begin with `prefix`, with the definitions and parameters that they need, as JSON.
std::string FilterOpenApiV2(const object::Value& document, std::string_view prefix);

// `base` with what `added` has beside it: of a path in both the base's stays; a definition that says something else under a
// name of the base gets a name of its own (…_v2). Shares the subtrees of both, which must outlive it.
object::Value MergeOpenApiV2(object::Arena& arena, const object::Value& base, const object::Value& added);

}  // namespace homeostat::server
