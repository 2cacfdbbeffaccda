// Roles and bindings may be named by anything that can stand in a URL: system:controller:job-controller.
#include "homeostat/object/names.h"
#include "kinds/rbac/rbac.h"

namespace homeostat::kinds {
namespace {

std::vector<std::string> PathSegment(std::string_view name, bool prefix) {
  return prefix ? object::IsValidPathSegmentPrefix(name) : object::IsValidPathSegmentName(name);
}

}  // namespace

const Behaviour kRole{.group = "rbac.authorization.k8s.io", .kind = "Role", .validate_name = PathSegment};
const Behaviour kClusterRole{.group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .validate_name = PathSegment};
const Behaviour kRoleBinding{.group = "rbac.authorization.k8s.io", .kind = "RoleBinding", .validate_name = PathSegment};
const Behaviour kClusterRoleBinding{.group = "rbac.authorization.k8s.io", .kind = "ClusterRoleBinding", .validate_name = PathSegment};

}  // namespace homeostat::kinds
