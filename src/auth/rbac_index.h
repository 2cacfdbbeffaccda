// RbacIndex: bindings by the users and groups they name, and roles by name, made from the stored objects on first demand and kept
// until they change. So a request costs a few look-ups, however many bindings a cluster has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/object/value.h"
#include "kinds/behaviour.h"

namespace homeostat::auth {

// A binding that applies to a user, and the first subject it does so through.
struct AppliedBinding {
  object::DocumentPtr binding;      // RoleBinding or ClusterRoleBinding
  std::string_view ns;              // "": ClusterRoleBinding
  size_t subject = 0;

  std::string_view role_kind() const;
  std::string_view role_name() const;
  // RoleBinding "name/ns" of ClusterRole "role" to User "mira"
  std::string Source() const;
};

// Loop only.
class RbacIndex {
 public:
  explicit RbacIndex(const kinds::ObjectReader& objects) : objects_(objects) {}

  // An object of rbac.authorization.k8s.io was written or removed.
  void Forget(std::string_view plural, std::string_view ns, std::string_view name);

  // The bindings of one namespace ("": the cluster's) that apply to the user, by name, until the visitor says false.
  bool Visit(const User& user, std::string_view ns, const std::function<bool(const AppliedBinding&)>& visit);
  // The rules of a role (a list of PolicyRules); the document keeps them and is null if there is no such role.
  struct Rules {
    object::DocumentPtr role;
    object::Value list;
  };
  Rules RulesOf(std::string_view role_kind, std::string_view ns, std::string_view name);

 private:
  struct Place {
    uint32_t binding = 0, subject = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Scope {
    std::vector<object::DocumentPtr> bindings;
    std::unordered_map<std::string, std::vector<Place>> users, groups;
  };
  const Scope& ScopeOf(std::string_view ns);

  const kinds::ObjectReader& objects_;
  std::unordered_map<std::string, Scope> scopes_;             // by namespace
  std::unordered_map<std::string, object::DocumentPtr> roles_;  // by namespace/name; "/name": ClusterRole
};

}  // namespace homeostat::auth
