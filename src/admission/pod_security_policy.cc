#include <algorithm>
#include <charconv>

#include "admission/pod_security.h"

namespace homeostat::admission {

using object::Value;

namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";

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
    for (SecurityLevel known : {SecurityLevel::kPrivileged, SecurityLevel::kBaseline, SecurityLevel::kRestricted}) {
      if (label.AsString() != ToText(known)) continue;
      level = known;
      valid = true;
      return true;
    }
    level = otherwise;
    valid = false;
    Report(name, label.AsString(), "must be one of privileged, baseline, restricted");
    return true;
  }

  // Whether there is such a label.
  bool Version(std::string_view mode, int64_t& minor) const {
    std::string name = Name(mode, "-version");
    Value label = labels.Get(name);
    if (!label) return false;
    minor = kLatestVersion;
    std::string_view text = label.AsString();
    if (text == "latest") return true;
    int64_t number = 0;
    std::string_view digits = text.starts_with("v1.") ? text.substr(3) : std::string_view();
    auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
    bool leading_zero = digits.size() > 1 && digits.front() == '0';
    bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos && !leading_zero && error == std::errc();
    if (plain) minor = number;
    else Report(name, text, "must be \"latest\" or \"v1.x\"");
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

SecurityPolicy PolicyOf(const Value& labels, schema::FieldErrors& errors) {
  SecurityPolicy policy;
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
