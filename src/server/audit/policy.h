// Policy: which requests the audit log tells of, how much of each, and at which stages.
//
// Source of the rules and texts: apiserver's audit/policy and apis/audit/validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/authorizer.h"
#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "kinds/audit_annotations.h"

namespace homeostat::server::audit {

using Level = kinds::AuditLevel;
enum class Stage : uint8_t { kRequestReceived, kResponseStarted, kResponseComplete, kPanic };

std::string_view NameOf(Level level);
std::string_view NameOf(Stage stage);

// What a policy says of one request.
struct Decision {
  Level level = Level::kNone;
  uint8_t omitted_stages = 0;  // a bit each
  bool omits_managed_fields = false;

  bool Omits(Stage stage) const { return (omitted_stages & (1u << static_cast<unsigned>(stage))) != 0; }
};

// Immutable. The first rule that matches decides; where none does, nothing is logged.
class Policy {
 public:
  // YAML or JSON of audit.k8s.io/v1. Fields that are not known are passed over and named in `unknown`, where upstream warns of them.
  static Result<Policy> Parse(std::string_view text, std::vector<std::string>* unknown = nullptr);
  // Reads the file: blocks.
  static Result<Policy> Read(const std::string& path, std::vector<std::string>* unknown = nullptr);

  // request.user may be null: nobody was found out.
  Decision For(const auth::Attributes& request) const;

 private:
  struct Resources {
    std::string group;
    std::vector<std::string> resources, names;
  };
  struct Rule {
    Decision decision;
    std::vector<std::string> users, groups, verbs, namespaces, paths;
    std::vector<Resources> resources;
  };
  static Rule ReadRule(const object::Value& source, const Decision& defaults);
  static bool Matches(const Rule& rule, const auth::Attributes& request);
  static bool MatchesResource(const Rule& rule, const auth::Attributes& request);

  std::vector<Rule> rules_;
};

}  // namespace homeostat::server::audit
