// PodSecurity: pods keep to the standard that their namespace's labels ask for; what makes pods is only warned of.
// Source of the rules and texts: k8s.io/pod-security-admission.
#include <algorithm>
#include <map>
#include <set>

#include "admission/plugins.h"
#include "admission/pod_security.h"
#include "homeostat/base/text.h"
#include "kinds/audit_annotations.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr size_t kMostPods = 3000;
constexpr Duration kLongestCheck = std::chrono::seconds(1);

// The pod that the object makes: its metadata and spec.
Value TemplateOf(const Request& request) {
  if (request.Is("", "podtemplates")) return request.object.Get("template");
  if (request.Is("batch", "cronjobs")) return request.object.Path({"spec", "jobTemplate", "spec", "template"});
  return request.object.Path({"spec", "template"});
}

bool IsWorkload(const Request& request) {
  std::string_view plural = request.kind.plural, group = request.kind.gvk.group;
  if (group.empty()) return plural == "replicationcontrollers" || plural == "podtemplates";
  if (group == "apps") return plural == "replicasets" || plural == "deployments" || plural == "statefulsets" || plural == "daemonsets";
  return group == "batch" && (plural == "jobs" || plural == "cronjobs");
}

bool IsIgnoredSubresource(std::string_view subresource) {
  for (std::string_view ignored : {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}) {
    if (subresource == ignored) return true;
  }
  return false;
}

// Only images change what a pod may do; containers may be added where they are ephemeral.
bool IsSignificant(const Value& spec, const Value& old) {
  auto image = [](const Value& container) { return container.Get("image").AsString(); };
  for (std::string_view list : {"containers", "initContainers"}) {
    Value now = spec.Get(list), before = old.Get(list);
    if (now.size() != before.size()) return true;
    for (size_t i = 0; i < now.size(); ++i) if (image(now.At(i)) != image(before.At(i))) return true;
  }
  return std::ranges::any_of(spec.Get("ephemeralContainers").items(), [&](const Value& container) {
    auto known = std::ranges::find_if(old.Get("ephemeralContainers").items(), [&](const Value& other) {
      return other.Get("name").AsString() == container.Get("name").AsString();
    });
    return known == old.Get("ephemeralContainers").items().end() || image(*known) != image(container);
  });
}

// Pods of one controller are much the same: the first of each comes before the others.
std::vector<Value> InOrderOfInterest(const std::vector<object::DocumentPtr>& documents) {
  std::vector<Value> first, others;
  std::set<std::string_view> seen;
  for (const object::DocumentPtr& document : documents) {
    std::string_view controller;
    for (const Value& owner : document->root().Path({"metadata", "ownerReferences"}).items()) {
      if (owner.Get("controller").AsBool()) controller = owner.Get("uid").AsString();
    }
    bool repeated = !controller.empty() && !seen.insert(controller).second;
    (repeated ? others : first).push_back(document->root());
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

// Pods that break the rules in the same way.
struct Offenders {
  std::string first;
  size_t count = 0;

  void Add(std::string_view name) {
    if (count++ == 0 || name < first) first = name;
  }
  std::string ToText() const {
    if (count == 1) return first;
    return first + " (and " + std::to_string(count - 1) + (count == 2 ? " other pod)" : " other pods)");
  }
};

class PodSecurity : public PlainPlugin {
 public:
  explicit PodSecurity(const PluginParts& parts) : runtime_(parts.runtime), objects_(parts.objects), options_(parts.pod_security) {}
  std::string_view name() const override { return "PodSecurity"; }

  bool Handles(const Request& request) const override {
    if (!request.creates() && !request.updates()) return false;
    if (request.Is("", "pods")) return !IsIgnoredSubresource(request.subresource);
    return request.subresource.empty() && (request.Is("", "namespaces") || IsWorkload(request));
  }

  Result<void> ValidateNow(const Request& request) override {
    if (request.Is("", "namespaces")) return Namespace(request);
    if (options_.namespaces.contains(request.ns)) return Exempt(request, "namespace");
    if (options_.users.contains(request.context.user.name)) return Exempt(request, "user");
    object::DocumentPtr ns = objects_.Get("", "namespaces", "", request.ns);
    bool is_pod = request.Is("", "pods");
    if (!ns) {
      if (!is_pod) return {};
      return Fail(InternalError("failed to lookup namespace " + GoQuote(request.ns)));
    }
    schema::FieldErrors errors;
    SecurityPolicy policy = PolicyOf(ns->root().Path({"metadata", "labels"}), options_.defaults, errors);
    if (is_pod) return Pod(request, policy);
    Value made = policy.warn.level == SecurityLevel::kPrivileged && policy.audit.level == SecurityLevel::kPrivileged ? Value() : TemplateOf(request);
    if (!made) return {};
    if (IsExempt(made.Get("spec"))) return Exempt(request, "runtimeClass");
    NoteViolations(request, policy.audit, made.Get("metadata"), made.Get("spec"));
    Warn(request, policy.warn, made.Get("metadata"), made.Get("spec"));
    return {};
  }

 private:
  static void AddWarning(const Request& request, std::string warning) {
    if (request.context.warnings != nullptr) request.context.warnings->push_back(std::move(warning));
  }

  // For the audit log.
  static void Note(const Request& request, std::string_view key, std::string_view value) {
    if (request.context.annotations != nullptr) request.context.annotations->Add("pod-security.kubernetes.io/" + std::string(key), value);
  }
  static Result<void> Exempt(const Request& request, std::string_view why) {
    Note(request, "exempt", why);
    return {};
  }
  static void NoteViolations(const Request& request, const LevelVersion& policy, const Value& metadata, const Value& spec) {
    if (request.context.annotations == nullptr) return;
    std::vector<Violation> violations = EvaluatePod(policy, metadata, spec);
    if (!violations.empty()) Note(request, "audit-violations", "would violate PodSecurity " + GoQuote(policy.ToText()) + ": " + DetailsOf(violations));
  }

  static void Warn(const Request& request, const LevelVersion& policy, const Value& metadata, const Value& spec) {
    std::vector<Violation> violations = EvaluatePod(policy, metadata, spec);
    if (!violations.empty()) AddWarning(request, "would violate PodSecurity " + GoQuote(policy.ToText()) + ": " + DetailsOf(violations));
  }

  bool IsExempt(const Value& spec) const {
    Value runtime_class = spec.Get("runtimeClassName");
    return runtime_class && options_.runtime_classes.contains(runtime_class.AsString());
  }

  Result<void> Pod(const Request& request, const SecurityPolicy& policy) const {
    Value metadata = request.object.Get("metadata"), spec = request.object.Get("spec");
    if (request.updates() && !IsSignificant(spec, request.old_object.Get("spec"))) return {};
    if (!policy.IsPrivileged() && IsExempt(spec)) return Exempt(request, "runtimeClass");
    Note(request, "enforce-policy", policy.enforce.ToText());
    if (policy.IsPrivileged()) return {};
    NoteViolations(request, policy.audit, metadata, spec);
    std::vector<Violation> violations = EvaluatePod(policy.enforce, metadata, spec);
    if (!violations.empty()) {
      return Fail(ForbiddenError("", "pods", request.name, "violates PodSecurity " + GoQuote(policy.enforce.ToText()) + ": " + DetailsOf(violations)));
    }
    Warn(request, policy.warn, metadata, spec);
    return {};
  }

  Result<void> Namespace(const Request& request) {
    schema::FieldErrors errors, old_errors;
    Value labels = request.object.Path({"metadata", "labels"});
    SecurityPolicy policy = PolicyOf(labels, options_.defaults, errors);
    LevelVersion enforce = policy.enforce;
    bool exempt = options_.namespaces.contains(request.name);
    auto refusal = [&]() -> Result<void> { return Fail(errors.ToStatus("", "Namespace", request.name)); };
    if (request.creates()) {
      if (!errors.empty()) return refusal();
      if (exempt) WarnOfExemption(request, policy, labels);
      return {};
    }
    LevelVersion before = PolicyOf(request.old_object.Path({"metadata", "labels"}), options_.defaults, old_errors).enforce;
    // What was wrong before may stay so.
    if (!errors.empty() && errors.causes() != old_errors.causes()) return refusal();
    bool relaxed = enforce.minor == before.minor && enforce.level <= before.level;
    if (enforce.level == SecurityLevel::kPrivileged || relaxed) return {};
    if (exempt) WarnOfExemption(request, policy, labels);
    else WarnOfExisting(request, enforce);
    return {};
  }

  void WarnOfExemption(const Request& request, const SecurityPolicy& policy, const Value& labels) const {
    if (policy.IsPrivileged() || policy == options_.defaults) return;
    std::string text;
    auto add = [&](const std::string& mode, const LevelVersion& asked) {
      const std::string label = "pod-security.kubernetes.io/" + mode;
      if (asked.level == SecurityLevel::kPrivileged || (!labels.Get(label) && !labels.Get(label + "-version"))) return;
      text += (text.empty() ? "" : ", ") + mode + "=" + asked.ToText();
    };
    add("enforce", policy.enforce);
    add("audit", policy.audit);
    add("warn", policy.warn);
    AddWarning(request, "namespace " + GoQuote(request.name) + " is exempt from Pod Security, and the policy (" + text + ") will be ignored");
  }

  void WarnOfExisting(const Request& request, const LevelVersion& enforce) {
    std::vector<object::DocumentPtr> documents = objects_.List("", "pods", request.object.Path({"metadata", "name"}).AsString());
    std::vector<Value> pods = InOrderOfInterest(documents);
    MonotonicTime deadline = runtime_.Now() + kLongestCheck;
    std::map<std::string, Offenders> offenders;
    size_t checked = 0;
    while (checked < std::min(pods.size(), kMostPods)) {
      const Value& pod = pods[checked++];
      if (IsExempt(pod.Get("spec"))) continue;
      std::vector<Violation> violations = EvaluatePod(enforce, pod.Get("metadata"), pod.Get("spec"));
      if (!violations.empty()) offenders[ReasonsOf(violations)].Add(pod.Path({"metadata", "name"}).AsString());
      if (runtime_.Now() > deadline) break;
    }
    if (checked < pods.size()) {
      AddWarning(request, "new PodSecurity enforce level only checked against the first " + std::to_string(checked) + " of " +
                              std::to_string(pods.size()) + " existing pods");
    }
    if (offenders.empty()) return;
    AddWarning(request, "existing pods in namespace " + GoQuote(request.object.Path({"metadata", "name"}).AsString()) +
                            " violate the new PodSecurity enforce level " + GoQuote(enforce.ToText()));
    std::vector<std::string> lines;
    for (const auto& [reasons, pods_of] : offenders) lines.push_back(pods_of.ToText() + ": " + reasons);
    std::ranges::sort(lines);
    for (std::string& line : lines) AddWarning(request, std::move(line));
  }

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  const PodSecurityOptions options_;
};

}  // namespace

std::unique_ptr<Plugin> MakePodSecurity(const PluginParts& parts) { return std::make_unique<PodSecurity>(parts); }

}  // namespace homeostat::admission
