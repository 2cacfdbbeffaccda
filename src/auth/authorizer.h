// Authorization: whether a user may do a thing. Asked before every request and by the review APIs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/selectors.h"
#include "kinds/user.h"

namespace homeostat::auth {

// What is asked. Either a resource request or a path.
struct Attributes {
  const User* user = nullptr;
  std::string verb;
  bool resource_request = false;
  std::string group, version, resource, subresource, ns, name;
  std::string path;
  // Of list, watch and deletecollection, where they could be parsed.
  std::vector<object::FieldRequirement> field_selector;
  std::vector<object::LabelRequirement> label_selector;
};

enum class Decision : uint8_t { kNoOpinion, kAllow, kDeny };

struct Verdict {
  Decision decision = Decision::kNoOpinion;
  std::string reason;           // e.g. RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "z"
  std::string evaluation_error;
};

// Loop only. Answers from caches, so it never waits.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual Verdict Authorize(const Attributes& attributes) = 0;
};

// Rules a user has in a namespace, for SelfSubjectRulesReview.
struct ResourceRule {
  std::vector<std::string> verbs, groups, resources, resource_names;
};
struct NonResourceRule {
  std::vector<std::string> verbs, urls;
};
struct RuleList {
  std::vector<ResourceRule> resources;
  std::vector<NonResourceRule> paths;
  bool incomplete = false;          // the user may do more than can be listed
  std::vector<std::string> faults;  // what could not be looked up
};
class RuleResolver {
 public:
  virtual ~RuleResolver() = default;
  virtual RuleList RulesFor(const User& user, std::string_view ns) = 0;
};

}  // namespace homeostat::auth
