// FlowRules: which requests belong to a FlowSchema. Made from the object once, matched against every request.
// Source of the rules: apiserver's util/flowcontrol/rule.go. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/value.h"
#include "kinds/user.h"
#include "server/request_info.h"

namespace homeostat::server {

class FlowRules {
 public:
  enum class Distinguisher : uint8_t { kNone, kUser, kNamespace };

  explicit FlowRules(const object::Value& flow_schema);

  bool Matches(const User& user, const RequestInfo& info) const;
  // What tells the schema's flows apart, for a request of it.
  std::string_view FlowOf(const User& user, const RequestInfo& info) const;

  const std::string& name() const { return name_; }
  const std::string& uid() const { return uid_; }
  const std::string& level() const { return level_; }
  int64_t precedence() const { return precedence_; }

 private:
  // A list of names, or every one.
  struct Names {
    bool all = false;
    std::vector<std::string> names;
    bool Has(std::string_view name) const;
    static Names Read(const object::Value& list);
  };
  struct Subject {
    enum class Kind : uint8_t { kUser, kGroup, kServiceAccount } kind;
    std::string ns, name;
  };
  struct ResourceRule {
    Names verbs, groups, resources, namespaces;
    bool cluster_scope = false;
    bool Matches(const RequestInfo& info, std::string_view resource) const;
  };
  struct PathRule {
    Names verbs;
    std::vector<std::string> paths;
    bool Matches(const RequestInfo& info) const;
  };
  struct Rule {
    std::vector<Subject> subjects;
    std::vector<ResourceRule> resources;
    std::vector<PathRule> paths;
  };

  static bool Is(const Subject& subject, const User& user);
  static Rule ReadRule(const object::Value& rule);

  std::string name_, uid_, level_;
  int64_t precedence_ = 0;
  Distinguisher distinguisher_ = Distinguisher::kNone;
  std::vector<Rule> rules_;
};

}  // namespace homeostat::server
