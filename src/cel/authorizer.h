// Authorizer: what the variable `authorizer` of expressions asks. The caller answers.
//
// Source of the rules: Kubernetes' cel/library/authz.go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace homeostat::cel {

// One question: may the user do that? The user is the request's, or a service account if one is named.
struct AuthorizationQuestion {
  // "system:serviceaccount:NAMESPACE:NAME"; empty: the user that the request is from.
  std::string service_account;
  bool is_resource = false;
  std::string verb;
  std::string path;  // if it is no resource
  std::string group, resource, subresource, namespace_name, name;
  std::string field_selector, label_selector;  // as text; empty: none
};

struct AuthorizationAnswer {
  bool allowed = false;
  std::string reason;
  std::string error;  // empty: none
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // Answers at once. Called during evaluation, on the evaluation's thread.
  virtual AuthorizationAnswer Authorize(const AuthorizationQuestion& question) const = 0;
};

// The variable `authorizer`, and `authorizer.requestResource`: a check of the resource that the request is about. The
// authorizer must outlive the evaluation.
Value AuthorizerValue(object::Arena& arena, const Authorizer& authorizer);
Value ResourceCheckValue(object::Arena& arena, const Authorizer& authorizer, const AuthorizationQuestion& resource);

}  // namespace homeostat::cel
