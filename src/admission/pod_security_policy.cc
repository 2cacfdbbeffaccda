#include <algorithm>
#include <charconv>

#include "admission/pod_security.h"

namespace homeostat::admission {

using object::Value;

namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr std::string_view kLevelRule = "must be one of privileged, baseline, restricted", kVersionRule = "must be \"latest\" or \"v1.x\"";

bool ReadLevel(std::string_view text, SecurityLevel& level) {
  for (SecurityLevel known : {SecurityLevel::kPrivileged, SecurityLevel::kBaseline, SecurityLevel::kRestricted}) {
    if (text != ToText(known)) continue;
    level = known;
    return true;
  }
  return false;
}

bool ReadVersion(std::string_view text, int64_t& minor) {
  if (text == "latest") {
    minor = kLatestVersion;
    return true;
  }
  int64_t number = 0;
  std::string_view digits = text.starts_with("v1.") ? text.substr(3) : std::string_view();
  auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
  bool leading_zero = digits.size() > 1 && digits.front() == '0';
  bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos && !leading_zero && error == std::errc();
  if (plain) minor = number;
  return plain;
}

struct Reader {
  const Value& labels;
  schema::FieldErrors& errors;

  std::string Name(std::string_view mode, std::string_view suffix) const { return std::string(kPrefix) + std::string(mode) + std::string(suffix); }

  void Report(const std::string& label, std::string_view value, std::string_view why) const {
    schema::FieldPath path("metadata");
    errors.Invalid(path.Child("labels").Key(label), value, why);
  }

  // Whether there is such a label, and it is a level.
  bool Level(std::string_view mode, SecurityLevel otherwise, SecurityLevel& level, bool& valid) const {
    std::string name = Name(mode, "");
    Value label = labels.Get(name);
    if (!label) return false;
    valid = ReadLevel(label.AsString(), level);
    if (!valid) {
      level = otherwise;
      Report(name, label.AsString(), kLevelRule);
    }
    return true;
  }

  // Whether there is such a label.
  bool Version(std::string_view mode, int64_t& minor) const {
    std::string name = Name(mode, "-version");
    Value label = labels.Get(name);
    if (!label) return false;
    minor = kLatestVersion;
    if (!ReadVersion(label.AsString(), minor)) Report(name, label.AsString(), kVersionRule);
    return true;
  }
};

}  // namespace

std::string_view ToText(SecurityLevel level) {
  switch (level) {
    case SecurityLevel::kPrivileged: return "privileged";
    case SecurityLevel::kBaseline: return "baseline";
    case SecurityLevel::kRestricted: return "restricted";
  }
  return "";
}

std::string LevelVersion::ToText() const {
  return std::string(admission::ToText(level)) + ":" + (minor == kLatestVersion ? "latest" : "v1." + std::to_string(minor));
}

bool SecurityPolicy::IsPrivileged() const {
  return enforce.level == SecurityLevel::kPrivileged && audit.level == SecurityLevel::kPrivileged && warn.level == SecurityLevel::kPrivileged;
}

SecurityPolicy PolicyOf(const Value& labels, const SecurityPolicy& defaults, schema::FieldErrors& errors) {
  SecurityPolicy policy = defaults;
  if (labels.empty()) return policy;
  Reader reader{labels, errors};
  bool enforce_valid = false, valid = false;
  reader.Level("enforce", SecurityLevel::kRestricted, policy.enforce.level, enforce_valid);
  reader.Version("enforce", policy.enforce.minor);
  reader.Level("audit", SecurityLevel::kPrivileged, policy.audit.level, valid);
  reader.Version("audit", policy.audit.minor);
  bool has_warn = reader.Level("warn", SecurityLevel::kPrivileged, policy.warn.level, valid);
  bool has_warn_version = reader.Version("warn", policy.warn.minor);
  // What is enforced on pods is warned of where they are made.
  if (!has_warn && enforce_valid && policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!has_warn_version) policy.warn.minor = policy.enforce.minor;
  }
  return policy;
}

Result<PodSecurityOptions> ReadPodSecurityOptions(const Value& configuration) {
  PodSecurityOptions options;
  if (!configuration) return options;
  std::string_view version = configuration.Get("apiVersion").AsString();
  constexpr std::string_view kGroup = "pod-security.admission.config.k8s.io/";
  bool known = version.starts_with(kGroup) && (version.ends_with("/v1") || version.ends_with("/v1beta1") || version.ends_with("/v1alpha1"));
  if (!known || configuration.Get("kind").AsString() != "PodSecurityConfiguration") {
    return Fail(SystemError("PodSecurity: expected a PodSecurityConfiguration of " + std::string(kGroup) + "v1"));
  }
  auto strange = [](std::string_view field) { return Fail(SystemError("PodSecurity: unknown field \"" + std::string(field) + "\"")); };
  schema::FieldErrors errors;
  for (const object::Member& part : configuration.members()) {
    if (part.name() == "apiVersion" || part.name() == "kind") continue;
    schema::FieldPath path(part.name());
    bool defaults = part.name() == "defaults";
    if (!defaults && part.name() != "exemptions") return strange(part.name());
    for (const object::Member& field : part.value.members()) {
      auto at = path.Child(field.name());
      if (defaults) {
        std::string_view mode = field.name(), text = field.value.AsString();
        bool is_version = mode.ends_with("-version");
        if (is_version) mode.remove_suffix(std::string_view("-version").size());
        SecurityPolicy& policy = options.defaults;
        LevelVersion* one = mode == "enforce" ? &policy.enforce : mode == "audit" ? &policy.audit : mode == "warn" ? &policy.warn : nullptr;
        if (one == nullptr) return strange("defaults." + std::string(field.name()));
        bool valid = text.empty() || (is_version ? ReadVersion(text, one->minor) : ReadLevel(text, one->level));
        if (!valid) errors.Invalid(at, text, is_version ? kVersionRule : kLevelRule);
        continue;
      }
      auto* names = field.name() == "namespaces"       ? &options.namespaces
                    : field.name() == "usernames"      ? &options.users
                    : field.name() == "runtimeClasses" ? &options.runtime_classes
                                                       : nullptr;
      if (names == nullptr) return strange("exemptions." + std::string(field.name()));
      for (size_t i = 0; i < field.value.size(); ++i) {
        std::string_view name = field.value.At(i).AsString();
        if (name.empty()) errors.Invalid(at.Index(i), name, "must not be empty");
        else if (!names->emplace(name).second) errors.Duplicate(at.Index(i), name);
      }
    }
  }
  if (!errors.empty()) return Fail(SystemError("PodSecurity: " + errors.causes().front().field + ": " + errors.causes().front().message));
  return options;
}

std::string DetailsOf(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += (text.empty() ? "" : ", ") + violation.reason;
    if (!violation.detail.empty()) text += " (" + violation.detail + ")";
  }
  return text;
}

std::string ReasonsOf(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += (text.empty() ? "" : ", ") + violation.reason;
  return text;
}

}  // namespace homeostat::admission
