// Discovery documents of extension servers as the resources of one group version in aggregated form. Pure.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::server {

// Of an APIGroupDiscoveryList: the JSON list of that version's resources; "[]" if the list doesn't have it.
std::string AggregatedResources(const object::Value& list, std::string_view group, std::string_view version);

// Of an APIResourceList, the old form. An error for a subresource of another scope than its resource.
// Source: apiserver/pkg/endpoints (ConvertGroupVersionIntoToDiscovery).
Result<std::string> LegacyResources(const object::Value& list);

}  // namespace homeostat::server
