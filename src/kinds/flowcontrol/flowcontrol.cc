// FlowSchema and PriorityLevelConfiguration. Source of the rules: pkg/apis/flowcontrol/validation.
#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>

#include "homeostat/api/flowcontrol/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/edit.h"
#include "kinds/flowcontrol/flowcontrol.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxPrecedence = 10000, kMaxQueues = 10'000'000;
constexpr double kMaxEntropyBits = 60;
constexpr std::string_view kVerbs[] = {"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"};

bool HasWildcard(const Value& list) {
  return std::ranges::any_of(list.items(), [](const Value& item) { return item.AsString() == "*"; });
}

// A list that has to say something, with * standing alone. False: its items are to be looked at.
bool CheckList(const Value& rule, std::string_view field, const std::string& required, std::string_view others, const FieldPath& path,
               FieldErrors& errors) {
  Value list = rule.Get(field);
  if (list.empty()) {
    errors.Required(path.Child(field), required);
    return true;
  }
  if (!HasWildcard(list)) return false;
  if (list.size() > 1) errors.Invalid(path.Child(field), list, "if '*' is present, must not specify other " + std::string(others));
  return true;
}

void CheckVerbs(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  if (CheckList(rule, "verbs", "verbs must contain at least one value", "verbs", path, errors)) return;
  Value verbs = rule.Get("verbs");
  bool known = std::ranges::all_of(verbs.items(), [](const Value& verb) { return IsOneOf(verb.AsString(), kVerbs); });
  if (!known) errors.NotSupported(path.Child("verbs"), verbs, kVerbs);
}

void CheckUrl(std::string_view url, const FieldPath& path, FieldErrors& errors) {
  if (url.empty()) return errors.Invalid(path, url, "must not be empty");
  if (url == "/") return;
  if (!url.starts_with('/')) return errors.Invalid(path, url, "must start with slash");
  if (url.find(' ') != url.npos) return errors.Invalid(path, url, "must not contain white-space");
  if (url.find("//") != url.npos) return errors.Invalid(path, url, "must not contain double slash");
  auto stars = std::ranges::count(url, '*');
  if (stars > 1 || (stars == 1 && !url.ends_with("/*"))) errors.Invalid(path, url, "wildcard can only do suffix matching");
}

void CheckNonResourceRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule, path, errors);
  if (CheckList(rule, "nonResourceURLs", "nonResourceURLs must contain at least one value", "non-resource URLs", path, errors)) return;
  Value urls = rule.Get("nonResourceURLs");
  for (size_t i = 0; i < urls.size(); ++i) CheckUrl(urls.At(i).AsString(), path.Child("nonResourceURLs").Index(i), errors);
}

void CheckResourceRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule, path, errors);
  CheckList(rule, "apiGroups", "resource rules must supply at least one api group", "api groups", path, errors);
  CheckList(rule, "resources", "resource rules must supply at least one resource", "resources", path, errors);
  Value namespaces = rule.Get("namespaces");
  if (namespaces.empty() && rule.Get("clusterScope").AsBool()) return;
  if (CheckList(rule, "namespaces", "resource rules that are not cluster scoped must supply at least one namespace", "namespaces", path,
                errors)) {
    return;
  }
  for (size_t i = 0; i < namespaces.size(); ++i) {
    for (const std::string& message : object::IsDNS1123Label(namespaces.At(i).AsString())) {
      errors.Invalid(path.Child("namespaces").Index(i), namespaces.At(i),
                     "each member of this list must be '*' or a DNS-1123 label; " + message);
    }
  }
}

struct SubjectKind {
  std::string_view kind, field;
};
constexpr SubjectKind kSubjects[] = {{"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

void CheckSubjectBody(const Value& body, const SubjectKind& known, const FieldPath& path, FieldErrors& errors) {
  if (!body) {
    return errors.Required(path, std::string(known.field) + " is required when subject kind is '" + std::string(known.kind) + "'");
  }
  std::string_view name = body.Get("name").AsString();
  if (name.empty()) errors.Required(path.Child("name"));
  if (known.kind != "ServiceAccount") return;
  if (!name.empty() && name != "*") CheckDns1123Subdomain(name, path.Child("name"), errors);
  std::string_view ns = body.Get("namespace").AsString();
  if (ns.empty()) return errors.Required(path.Child("namespace"), "must specify namespace for service account");
  CheckDns1123Label(ns, path.Child("namespace"), errors);
}

void CheckSubject(const Value& subject, const FieldPath& path, FieldErrors& errors) {
  std::string_view kind = subject.Get("kind").AsString();
  bool known = false;
  for (const SubjectKind& candidate : kSubjects) {
    if (candidate.kind != kind) continue;
    known = true;
    CheckSubjectBody(subject.Get(candidate.field), candidate, path.Child(candidate.field), errors);
  }
  if (!known) return errors.NotSupported(path.Child("kind"), kind, {"Group", "ServiceAccount", "User"});
  for (const SubjectKind& other : kSubjects) {
    if (other.kind == kind || !subject.Get(other.field)) continue;
    errors.Forbidden(path.Child(other.field),
                     std::string(other.field) + " is forbidden when subject kind is not '" + std::string(other.kind) + "'");
  }
}

void CheckRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  Value subjects = rule.Get("subjects"), resources = rule.Get("resourceRules"), urls = rule.Get("nonResourceRules");
  if (subjects.empty()) errors.Required(path.Child("subjects"), "subjects must contain at least one value");
  for (size_t i = 0; i < subjects.size(); ++i) CheckSubject(subjects.At(i), path.Child("subjects").Index(i), errors);
  if (resources.empty() && urls.empty()) {
    errors.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
  }
  for (size_t i = 0; i < resources.size(); ++i) CheckResourceRule(resources.At(i), path.Child("resourceRules").Index(i), errors);
  for (size_t i = 0; i < urls.size(); ++i) CheckNonResourceRule(urls.At(i), path.Child("nonResourceRules").Index(i), errors);
}

void CheckStatusConditions(const Value& object, FieldErrors& errors) {
  FieldPath path = FieldPath("status").Child("conditions");
  Value conditions = object.Path({"status", "conditions"});
  std::set<std::string_view> seen;
  for (size_t i = 0; i < conditions.size(); ++i) {
    std::string_view type = conditions.At(i).Get("type").AsString();
    if (!seen.insert(type).second) errors.Duplicate(path.Index(i).Child("type"), type);
    if (type.empty()) errors.Required(path.Index(i).Child("type"));
  }
}

// The objects without which requests could not be put in their places: their specs can't be changed, see pkg/apis/flowcontrol/bootstrap.
struct MandatorySpec {
  std::string_view name, spec;
};
constexpr MandatorySpec kMandatorySchemas[] = {
    {"exempt", R"({"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[{
         "subjects":[{"kind":"Group","group":{"name":"system:masters"}}],
         "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
         "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]})"},
    {"catch-all", R"({"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},"rules":[{
         "subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],
         "resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
         "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]})"}};
constexpr MandatorySpec kMandatoryLevels[] = {
    {"exempt", R"({"type":"Exempt"})"},
    {"catch-all", R"({"type":"Limited","limited":{"nominalConcurrencyShares":5,"lendablePercent":0,"limitResponse":{"type":"Reject"}}})"}};

// `free`: a field of the spec that may be anything, or "".
void CheckMandatory(object::Arena& arena, const schema::Type& type, const Value& object, std::span<const MandatorySpec> mandatory,
                    std::string_view free, FieldErrors& errors) {
  std::string_view name = object.Path({"metadata", "name"}).AsString();
  auto found = std::ranges::find(mandatory, name, &MandatorySpec::name);
  if (found == mandatory.end()) return;
  Value spec = object.Get("spec"), compared = spec;
  if (!free.empty()) compared = Edited(arena, type, spec, [&](Edit& edit) { edit.Set(free, Value()); });
  schema::ConformReport report;
  auto parsed = object::ParseJson(arena, found->spec);
  auto wanted = schema::Conform(arena, parsed ? *parsed : Value(), type, report);
  if (wanted && schema::IsEqual(type, compared, *wanted)) return;
  errors.Invalid(FieldPath("spec"), InternalValue(type, spec),
                 "spec of '" + std::string(name) + "' " + (free.empty() ? "" : "except the 'spec." + std::string(free) + "' field ") +
                     "must equal the fixed value");
}

void CheckSchema(RuleContext& context, Value flow, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = flow.Get("spec"), rules = spec.Get("rules"), method = spec.Get("distinguisherMethod");
  int64_t precedence = spec.Get("matchingPrecedence").AsInt();
  FieldPath precedence_path = path.Child("matchingPrecedence");
  if (precedence <= 0) errors.Invalid(precedence_path, precedence, "must be a positive value");
  if (precedence > kMaxPrecedence) errors.Invalid(precedence_path, precedence, "must not be greater than 10000");
  if (precedence == 1 && flow.Path({"metadata", "name"}).AsString() != "exempt") {
    errors.Invalid(precedence_path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  }
  if (method && !IsOneOf(method.Get("type").AsString(), {"ByNamespace", "ByUser"})) {
    errors.NotSupported(path.Child("distinguisherMethod", "type"), InternalValue(api::flowcontrol::v1::FlowDistinguisherMethod::SchemaType(), method),
                        {"ByNamespace", "ByUser"});
  }
  std::string_view level = spec.Path({"priorityLevelConfiguration", "name"}).AsString();
  FieldPath level_path = path.Child("priorityLevelConfiguration", "name");
  if (level.empty()) {
    errors.Required(level_path, "must reference a priority level");
  } else {
    CheckDns1123Subdomain(level, level_path, errors);
  }
  for (size_t i = 0; i < rules.size(); ++i) CheckRule(rules.At(i), path.Child("rules").Index(i), errors);
  CheckMandatory(context.arena, api::flowcontrol::v1::FlowSchemaSpec::SchemaType(), flow, kMandatorySchemas, "", errors);
  CheckStatusConditions(flow, errors);
}

void CheckSchemaUpdate(RuleContext& context, Value flow, Value, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatusConditions(flow, errors);
  CheckSchema(context, flow, errors);
}

Value SchemaCell(object::Arena& arena, std::string_view, Value flow, WallTime) {
  for (const Value& condition : flow.Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() == "Dangling") return TextCell(arena, condition.Get("status").AsString());
  }
  return Value::StringRef("?");
}

// How many bits of a hash it takes to deal a hand of that size.
double EntropyBits(int64_t deck, int64_t hand) {
  double bits = 0;
  for (int64_t i = 0; i < hand; ++i) bits += std::log2(static_cast<double>(deck - i));
  return std::ceil(bits);
}

void CheckQueuing(const Value& queuing, const FieldPath& path, FieldErrors& errors) {
  int64_t length = queuing.Get("queueLengthLimit").AsInt(), queues = queuing.Get("queues").AsInt(), hand = queuing.Get("handSize").AsInt();
  if (length <= 0) errors.Invalid(path.Child("queueLengthLimit"), length, "must be positive");
  if (queues <= 0) {
    errors.Invalid(path.Child("queues"), queues, "must be positive");
  } else if (queues > kMaxQueues) {
    errors.Invalid(path.Child("queues"), queues, "must not be greater than 10000000");
  }
  if (hand <= 0) {
    errors.Invalid(path.Child("handSize"), hand, "must be positive");
  } else if (hand > queues) {
    errors.Invalid(path.Child("handSize"), hand, "should not be greater than queues (" + std::to_string(queues) + ")");
  } else if (EntropyBits(queues, hand) > kMaxEntropyBits) {
    errors.Invalid(path.Child("handSize"), hand, "required entropy bits of deckSize " + std::to_string(queues) + " and handSize " +
                                                     std::to_string(hand) + " should not be greater than 60");
  }
}

void CheckLimitResponse(const Value& response, const FieldPath& path, FieldErrors& errors) {
  Value queuing = response.Get("queuing");
  std::string_view type = response.Get("type").AsString();
  if (type == "Reject") {
    if (queuing) errors.Forbidden(path.Child("queuing"), "must be nil if limited.limitResponse.type is not Limited");
  } else if (type == "Queue") {
    if (!queuing) {
      errors.Required(path.Child("queuing"), "must not be empty if limited.limitResponse.type is Limited");
    } else {
      CheckQueuing(queuing, path.Child("queuing"), errors);
    }
  } else {
    RequireOneOf(type, {"Queue", "Reject"}, path.Child("type"), errors);
  }
}

void CheckShares(const Value& level, const FieldPath& path, FieldErrors& errors) {
  Value shares = level.Get("nominalConcurrencyShares");
  if (shares.AsInt() < 0) errors.Invalid(path.Child("nominalConcurrencyShares"), shares, "must be a non-negative integer");
}

void CheckLendable(const Value& level, const FieldPath& path, FieldErrors& errors) {
  Value lendable = level.Get("lendablePercent");
  if (lendable.AsInt() < 0 || lendable.AsInt() > 100) errors.Invalid(path.Child("lendablePercent"), lendable, "must be between 0 and 100, inclusive");
}

void CheckLevel(RuleContext& context, Value level, FieldErrors& errors) {
  constexpr std::string_view kPreserve = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
  if (level.Path({"metadata", "annotations"}).Find(kPreserve) != nullptr) {
    errors.Forbidden(FieldPath("metadata").Child("annotations"), "annotation '" + std::string(kPreserve) + "' is forbidden");
  }
  FieldPath path("spec");
  Value spec = level.Get("spec"), limited = spec.Get("limited"), exempt = spec.Get("exempt");
  std::string_view type = spec.Get("type").AsString();
  if ((level.Path({"metadata", "name"}).AsString() == "exempt") != (type == "Exempt")) {
    errors.Invalid(path.Child("type"), type, "must be 'Exempt' if and only if `name` is 'exempt'");
  }
  FieldPath limited_path = path.Child("limited"), exempt_path = path.Child("exempt");
  if (type == "Exempt") {
    if (limited) errors.Forbidden(limited_path, "must be nil if the type is not Limited");
    CheckShares(exempt, exempt_path, errors);
    CheckLendable(exempt, exempt_path, errors);
  } else if (type == "Limited") {
    if (exempt) errors.Forbidden(exempt_path, "must be nil if the type is Limited");
    if (!limited) {
      errors.Required(limited_path, "must not be empty when type is Limited");
    } else {
      CheckShares(limited, limited_path, errors);
      CheckLimitResponse(limited.Get("limitResponse"), limited_path.Child("limitResponse"), errors);
      CheckLendable(limited, limited_path, errors);
      Value borrowing = limited.Get("borrowingLimitPercent");
      if (borrowing.AsInt() < 0) {
        errors.Invalid(limited_path.Child("borrowingLimitPercent"), borrowing, "if specified, must be a non-negative integer");
      }
    }
  } else {
    RequireOneOf(type, {"Exempt", "Limited"}, path.Child("type"), errors);
  }
  // How much of the exempt level is lent is the administrator's.
  std::string_view free = type == "Exempt" ? "exempt" : "";
  CheckMandatory(context.arena, api::flowcontrol::v1::PriorityLevelConfigurationSpec::SchemaType(), level, kMandatoryLevels, free, errors);
  CheckStatusConditions(level, errors);
}

void CheckLevelUpdate(RuleContext& context, Value level, Value, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatusConditions(level, errors);
  CheckLevel(context, level, errors);
}

}  // namespace

const Behaviour kFlowSchema{.group = "flowcontrol.apiserver.k8s.io", .kind = "FlowSchema", .validate_create = CheckSchema,
                            .validate_update = CheckSchemaUpdate, .cell = SchemaCell};
const Behaviour kPriorityLevelConfiguration{.group = "flowcontrol.apiserver.k8s.io", .kind = "PriorityLevelConfiguration",
                                            .validate_create = CheckLevel, .validate_update = CheckLevelUpdate};

}  // namespace homeostat::kinds
