// What validating and mutating policies have in common: their bindings, their parameters, and keeping all of that compiled.
//
// Source of the rules and texts: apiserver's admission/plugin/policy/generic (policy_source.go, policy_dispatcher.go).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugins.h"
#include "admission/user/change_mark.h"
#include "admission/user/expressions.h"
#include "admission/user/matching.h"

namespace homeostat::admission {

// A policy of either sort, compiled. Each sort derives its own from it. Immutable.
class CompiledPolicy {
 public:
  explicit CompiledPolicy(object::DocumentPtr document);
  virtual ~CompiledPolicy() = default;

  std::string_view name() const { return name_; }
  object::Value spec() const { return spec_; }
  const MatchCriteria& criteria() const { return criteria_; }
  const MatchConditions& conditions() const { return conditions_; }
  std::span<const PolicyVariable> variables() const { return variables_; }
  // The failurePolicy is Ignore.
  bool ignores_faults() const { return ignores_faults_; }
  // Changes with each change of the object.
  const std::string& revision() const { return revision_; }

 protected:
  // Where the policy's own expressions are compiled, with or without `authorizer`.
  cel::PolicyEnvironment EnvironmentFor(bool authorizer, bool patch_types = false) const;

 private:
  object::DocumentPtr document_;
  object::Value spec_;
  std::string_view name_;
  std::string revision_;
  bool ignores_faults_ = false;
  cel::PolicyEnvironment environment_;
  std::vector<PolicyVariable> variables_;
  MatchCriteria criteria_;
  MatchConditions conditions_;
};

// A binding as read. Immutable.
struct PolicyBinding {
  explicit PolicyBinding(object::DocumentPtr document);

  object::DocumentPtr document;
  std::string_view name, policy;
  object::Value spec;
  std::optional<MatchCriteria> criteria;
};

struct BoundPolicy {
  std::shared_ptr<const CompiledPolicy> policy;
  std::vector<PolicyBinding> bindings;  // by name
};

// The policies of one sort that have bindings, by name; compiled anew when they change. Loop only.
class PolicySource {
 public:
  using Compile = std::function<std::shared_ptr<const CompiledPolicy>(object::DocumentPtr)>;
  PolicySource(const PluginParts& parts, std::string_view policies, std::string_view bindings, Compile compile);
  PolicySource(const PolicySource&) = delete;
  PolicySource& operator=(const PolicySource&) = delete;
  // As of now: what is given stays as it is while a request makes use of it. Never null.
  std::shared_ptr<const std::vector<BoundPolicy>> Policies();

 private:
  void Refresh();

  const kinds::ObjectReader& objects_;
  std::string_view policies_plural_, bindings_plural_;
  Compile compile_;
  ChangeMark changes_;
  std::shared_ptr<const std::vector<BoundPolicy>> policies_ = std::make_shared<std::vector<BoundPolicy>>();
};

// One object that a binding's paramRef gives; absent: null is what the policy sees as `params`.
struct PolicyParameter {
  object::Value form;  // JSON form
  std::string_view ns, name;
};

// What policies of both sorts do before they evaluate anything.
class PolicyMatcher {
 public:
  explicit PolicyMatcher(const PluginParts& parts) : parts_(parts) {}

  // Null: the policy is not about the request. `fault`: why a policy that is can't be used.
  struct Match {
    const Place* place = nullptr;
    std::string fault;
  };
  Match MatchPolicy(Attributes& attributes, const CompiledPolicy& policy) const;
  // Whether the binding is about the request; its parameters, one absent one if it has none, none at all if none is found and that
  // is allowed. The error's message is the fault.
  Result<bool> MatchBinding(Attributes& attributes, const PolicyBinding& binding) const;
  // Everything referred to outlives the task.
  Task<Result<std::vector<PolicyParameter>>> Parameters(const Attributes& attributes, const CompiledPolicy& policy,
                                                        const PolicyBinding& binding) const;
  // Whether a policy's conditions hold for the request; counted.
  Task<MatchConditions::Answer> Meets(const Attributes& attributes, const CompiledPolicy& policy, VersionedObjects objects,
                                      object::Value params) const;
  // The request's namespace as expressions see it; absent for what is in none, and for namespaces.
  Result<object::Value> Namespace(const Attributes& attributes) const;

 private:
  const schema::Kind* ParamKind(const object::Value& kind) const;
  // The version in which the store has objects of the kind.
  const schema::Kind& StoredKind(const Attributes& attributes, const schema::Kind& kind) const;
  Task<Result<PolicyParameter>> Parameter(const Attributes& attributes, const schema::Kind& stored, const schema::Kind& kind,
                                          object::DocumentPtr found) const;

  const PluginParts& parts_;
};

}  // namespace homeostat::admission
