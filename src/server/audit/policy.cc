#include "server/audit/policy.h"

#include <algorithm>
#include <array>
#include <span>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "homeostat/object/names.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/field_errors.h"
#include "kinds/checks.h"

namespace homeostat::server::audit {
namespace {

using object::Value;
using schema::FieldErrors;
using schema::FieldPath;

constexpr std::array<std::string_view, 4> kLevels = {"None", "Metadata", "Request", "RequestResponse"};
constexpr std::array<std::string_view, 4> kStages = {"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"};

bool Has(const std::vector<std::string>& list, std::string_view wanted) { return std::ranges::find(list, wanted) != list.end(); }

std::vector<std::string> Texts(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items()) texts.emplace_back(item.AsString());
  return texts;
}

uint8_t StageBits(const Value& list) {
  uint8_t bits = 0;
  for (const Value& item : list.items()) {
    auto at = std::ranges::find(kStages, item.AsString());
    if (at != kStages.end()) bits = static_cast<uint8_t>(bits | (1u << (at - kStages.begin())));
  }
  return bits;
}

enum class Sort : uint8_t { kText, kFlag, kTexts, kObjects, kAny };
struct Member {
  std::string_view name;
  Sort sort;
};
constexpr Member kPolicyMembers[] = {{"apiVersion", Sort::kText},   {"kind", Sort::kText},        {"metadata", Sort::kAny},
                                     {"rules", Sort::kObjects},     {"omitStages", Sort::kTexts}, {"omitManagedFields", Sort::kFlag}};
constexpr Member kRuleMembers[] = {{"level", Sort::kText},        {"users", Sort::kTexts},           {"userGroups", Sort::kTexts},
                                   {"verbs", Sort::kTexts},       {"resources", Sort::kObjects},     {"namespaces", Sort::kTexts},
                                   {"omitStages", Sort::kTexts},  {"nonResourceURLs", Sort::kTexts}, {"omitManagedFields", Sort::kFlag}};
constexpr Member kResourceMembers[] = {{"group", Sort::kText}, {"resources", Sort::kTexts}, {"resourceNames", Sort::kTexts}};

bool IsListOf(const Value& value, bool (Value::*is)() const) {
  return value.IsList() && std::ranges::all_of(value.items(), [&](const Value& item) { return (item.*is)(); });
}

bool IsOfSort(const Value& value, Sort sort) {
  if (value.IsNull()) return true;
  switch (sort) {
    case Sort::kText: return value.IsString();
    case Sort::kFlag: return value.IsBool();
    case Sort::kTexts: return IsListOf(value, &Value::IsString);
    case Sort::kObjects: return IsListOf(value, &Value::IsObject);
    case Sort::kAny: return true;
  }
  return false;
}

// That members are of the sort they must be; the names of those that are not known.
Result<void> CheckMembers(const Value& object, std::span<const Member> known, const std::string& where, std::vector<std::string>* unknown) {
  for (const object::Member& member : object.members()) {
    std::string path = where.empty() ? std::string(member.name()) : where + "." + std::string(member.name());
    auto found = std::ranges::find(known, member.name(), &Member::name);
    if (found == known.end()) {
      if (unknown != nullptr) unknown->push_back(std::move(path));
    } else if (!IsOfSort(member.value, found->sort)) {
      return Fail(SystemError("failed decoding: " + path + " has a value of another type"));
    }
  }
  return {};
}

Result<void> CheckShape(const Value& root, std::vector<std::string>* unknown) {
  TRY(CheckMembers(root, kPolicyMembers, "", unknown));
  for (size_t i = 0; i < root.Get("rules").size(); ++i) {
    Value rule = root.Get("rules").At(i);
    std::string where = "rules[" + std::to_string(i) + "]";
    TRY(CheckMembers(rule, kRuleMembers, where, unknown));
    for (size_t j = 0; j < rule.Get("resources").size(); ++j) {
      TRY(CheckMembers(rule.Get("resources").At(j), kResourceMembers, where + ".resources[" + std::to_string(j) + "]", unknown));
    }
  }
  return {};
}

void ValidateStages(const Value& stages, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < stages.size(); ++i) {
    std::string_view stage = stages.At(i).AsString();
    if (std::ranges::find(kStages, stage) != kStages.end()) continue;
    errors.Invalid(path.Index(i), stage, "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic");
  }
}

void ValidatePaths(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  Value paths = rule.Get("nonResourceURLs");
  for (size_t i = 0; i < paths.size(); ++i) {
    std::string_view one = paths.At(i).AsString();
    if (one == "*") continue;
    if (!one.starts_with('/')) errors.Invalid(path.Index(i), one, "non-resource URL rules must begin with a '/' character");
    if (!one.empty() && one.substr(0, one.size() - 1).find('*') != one.npos) {
      errors.Invalid(path.Index(i), one, "non-resource URL wildcards '*' must be the final character of the rule");
    }
  }
}

void ValidateResources(const Value& resources, const FieldPath& path, FieldErrors& errors) {
  for (const Value& one : resources.items()) {
    std::string_view group = one.Get("group").AsString();
    if (!group.empty() && group != "*") {
      std::string faults = kinds::Joined(object::IsDNS1123Subdomain(group));
      if (!faults.empty()) errors.Invalid(path.Child("group"), group, faults);
    }
    if (!one.Get("resourceNames").empty() && one.Get("resources").empty()) {
      errors.Invalid(path.Child("resourceNames"), one.Get("resourceNames"), "using resourceNames requires at least one resource");
    }
  }
}

void ValidateRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  std::string_view level = rule.Get("level").AsString();
  if (level.empty()) errors.Required(path.Child("level"));
  else if (std::ranges::find(kLevels, level) == kLevels.end()) errors.NotSupported(path.Child("level"), level, std::span(kLevels));
  FieldPath paths = path.Child("nonResourceURLs"), resources = path.Child("resources"), stages = path.Child("omitStages");
  ValidatePaths(rule, paths, errors);
  ValidateResources(rule.Get("resources"), resources, errors);
  ValidateStages(rule.Get("omitStages"), stages, errors);
  bool of_resources = !rule.Get("resources").empty() || !rule.Get("namespaces").empty();
  if (of_resources && !rule.Get("nonResourceURLs").empty()) {
    errors.Invalid(paths, rule.Get("nonResourceURLs"), "rules cannot apply to both regular resources and non-resource URLs");
  }
}

Result<void> Validate(const Value& root) {
  FieldErrors errors;
  FieldPath stages("omitStages"), rules("rules");
  ValidateStages(root.Get("omitStages"), stages, errors);
  for (size_t i = 0; i < root.Get("rules").size(); ++i) {
    FieldPath path = rules.Index(i);
    ValidateRule(root.Get("rules").At(i), path, errors);
  }
  if (errors.empty()) return {};
  std::string joined;
  for (const StatusCause& cause : errors.causes()) joined += (joined.empty() ? "" : ", ") + cause.field + ": " + cause.message;
  return Fail(SystemError(errors.size() == 1 ? joined : "[" + joined + "]"));
}

// A path of rules: as it is, with a star at the end for all that begins so, or a star alone.
bool MatchesPath(std::string_view path, std::string_view pattern) {
  if (pattern == "*" || pattern == path) return true;
  if (!pattern.ends_with('*')) return false;
  while (pattern.ends_with('*')) pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

}  // namespace

std::string_view NameOf(Level level) { return kLevels[static_cast<size_t>(level)]; }
std::string_view NameOf(Stage stage) { return kStages[static_cast<size_t>(stage)]; }

Policy::Rule Policy::ReadRule(const Value& source, const Decision& defaults) {
  Rule rule;
  rule.decision = defaults;
  auto level = std::ranges::find(kLevels, source.Get("level").AsString());
  rule.decision.level = static_cast<Level>(level - kLevels.begin());
  rule.decision.omitted_stages = static_cast<uint8_t>(defaults.omitted_stages | StageBits(source.Get("omitStages")));
  if (Value omits = source.Get("omitManagedFields"); omits.IsBool()) rule.decision.omits_managed_fields = omits.AsBool();
  rule.users = Texts(source.Get("users"));
  rule.groups = Texts(source.Get("userGroups"));
  rule.verbs = Texts(source.Get("verbs"));
  rule.namespaces = Texts(source.Get("namespaces"));
  rule.paths = Texts(source.Get("nonResourceURLs"));
  for (const Value& one : source.Get("resources").items()) {
    rule.resources.push_back({std::string(one.Get("group").AsString()), Texts(one.Get("resources")), Texts(one.Get("resourceNames"))});
  }
  return rule;
}

Result<Policy> Policy::Parse(std::string_view text, std::vector<std::string>* unknown) {
  auto document = object::ParseYamlDocument(text);
  if (!document) return Fail(SystemError("failed decoding: " + std::string(document.error().message())));
  const Value& root = (*document)->root();
  if (root.Get("apiVersion").AsString() != "audit.k8s.io/v1" || root.Get("kind").AsString() != "Policy") {
    return Fail(SystemError("failed decoding: expected kind Policy of audit.k8s.io/v1, not " + GoQuote(root.Get("kind").AsString()) + " of " +
                            GoQuote(root.Get("apiVersion").AsString())));
  }
  TRY(CheckShape(root, unknown));
  TRY(Validate(root));
  if (root.Get("rules").empty()) return Fail(SystemError("loaded illegal policy with 0 rules"));
  Decision defaults;
  defaults.omitted_stages = StageBits(root.Get("omitStages"));
  defaults.omits_managed_fields = root.Get("omitManagedFields").AsBool();
  Policy policy;
  for (const Value& rule : root.Get("rules").items()) policy.rules_.push_back(ReadRule(rule, defaults));
  return policy;
}

Result<Policy> Policy::Read(const std::string& path, std::vector<std::string>* unknown) {
  auto text = ReadFile(path);
  if (!text) return Fail(SystemError("loading audit policy file: failed to read file path " + GoQuote(path) + ": " + text.error().message()));
  auto policy = Parse(*text, unknown);
  if (!policy) return Fail(SystemError("loading audit policy file: " + policy.error().message() + ": from file " + path));
  return policy;
}

bool Policy::MatchesResource(const Rule& rule, const auth::Attributes& request) {
  if (!request.resource_request) return false;
  if (!rule.namespaces.empty() && !Has(rule.namespaces, request.ns)) return false;
  if (rule.resources.empty()) return true;
  const std::string& sub = request.subresource;
  std::string combined = sub.empty() ? request.resource : request.resource + "/" + sub;
  auto is_meant = [&](std::string_view pattern) {
    return pattern == "*" || pattern == combined || (!sub.empty() && pattern.starts_with("*/") && pattern.substr(2) == sub) ||
           (pattern.ends_with("/*") && pattern.substr(0, pattern.size() - 2) == request.resource);
  };
  return std::ranges::any_of(rule.resources, [&](const Resources& one) {
    if (one.group != request.group && one.group != "*") return false;
    if (one.resources.empty()) return true;
    return (one.names.empty() || Has(one.names, request.name)) && std::ranges::any_of(one.resources, is_meant);
  });
}

bool Policy::Matches(const Rule& rule, const auth::Attributes& request) {
  if (!rule.users.empty() && (request.user == nullptr || !Has(rule.users, request.user->name))) return false;
  if (!rule.groups.empty()) {
    if (request.user == nullptr) return false;
    if (std::ranges::none_of(request.user->groups, [&](const std::string& group) { return Has(rule.groups, group); })) return false;
  }
  if (!rule.verbs.empty() && !Has(rule.verbs, request.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) return MatchesResource(rule, request);
  if (rule.paths.empty()) return true;
  return !request.resource_request &&
         std::ranges::any_of(rule.paths, [&](const std::string& pattern) { return MatchesPath(request.path, pattern); });
}

Decision Policy::For(const auth::Attributes& request) const {
  for (const Rule& rule : rules_) if (Matches(rule, request)) return rule.decision;
  return {};
}

}  // namespace homeostat::server::audit
