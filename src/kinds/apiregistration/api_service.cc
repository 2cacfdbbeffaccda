// APIService: named VERSION.GROUP, where the core group has no name: v1. with the dot.
#include "homeostat/object/names.h"
#include "kinds/apiregistration/apiregistration.h"

namespace homeostat::kinds {
namespace {

std::vector<std::string> PathSegment(std::string_view name, bool prefix) {
  return prefix ? object::IsValidPathSegmentPrefix(name) : object::IsValidPathSegmentName(name);
}

}  // namespace

const Behaviour kAPIService{.group = "apiregistration.k8s.io", .kind = "APIService", .validate_name = PathSegment};

}  // namespace homeostat::kinds
