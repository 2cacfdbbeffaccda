// Evaluators: per resource, what its objects use of which quotas.
// Source of the rules: pkg/quota/v1/evaluator/core and apiserver's quota/v1/generic.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "quota/amounts.h"

namespace homeostat::quota {

// What an evaluator must know beside the object. What is read is current.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual WallTime Now() const = 0;
  // Null if there is none.
  virtual object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const = 0;
  virtual std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const = 0;
};

// A write that may be charged for.
struct Attempt {
  bool update = false;              // else a creation
  std::string_view subresource;
  Value object, old_object;         // old: of an update
};

// One condition of a quota's scopes.
struct ScopeRequirement {
  std::string_view scope, op;       // In, NotIn, Exists, DoesNotExist
  Value values;
};
// Those of spec.scopes and spec.scopeSelector; views of the quota.
std::vector<ScopeRequirement> ScopesOf(const Value& quota);

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Whether the write can change what is used.
  virtual bool Handles(const Attempt& attempt) const { return !attempt.update && attempt.subresource.empty(); }
  // Those of the names that its objects count for.
  virtual Names Matching(const Names& hard, const Surroundings& around) const = 0;
  virtual Amounts Usage(const Value& object, const Surroundings& around) const = 0;
  // Why an object may not be charged for those names at all ("must specify …"); "" if it may.
  virtual std::string Fault(const Names& /*required*/, const Value& /*object*/) const { return {}; }
  virtual bool IsInScope(const ScopeRequirement& /*requirement*/, const Value& /*object*/) const { return false; }

  bool IsInScopes(std::span<const ScopeRequirement> requirements, const Value& object) const;
};

// Null for resources that no quota counts: events, and those that are never stored.
std::unique_ptr<const Evaluator> MakeEvaluator(std::string_view group, std::string_view plural);

struct GroupResource {
  std::string group, plural;
  auto operator<=>(const GroupResource&) const = default;
};
// The resources whose objects may count for the names, apart from "count/…", which names one resource each.
std::vector<GroupResource> ResourcesWithEvaluators();
// The resource of "count/deployments.apps"; empty for other names.
GroupResource CountedResource(std::string_view name);

// Whether the pod counts for more than its existence: it has not ended, nor outlived its period of grace.
bool IsPodCharged(const Value& pod, WallTime now);
// spec.activeDeadlineSeconds is set.
bool IsPodTerminating(const Value& pod);

// What the objects use of the names, which match the evaluator; of each name at least zero.
Amounts CalculateUsage(const Evaluator& evaluator, const Names& names, std::span<const ScopeRequirement> scopes,
                       std::span<const object::DocumentPtr> objects, const Surroundings& around);

}  // namespace homeostat::quota
