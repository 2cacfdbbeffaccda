// Pod security standards: what a pod must not do in a namespace of a level, as of a version of Kubernetes.
// Source of the checks and texts: k8s.io/pod-security-admission.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"

namespace homeostat::admission {

enum class SecurityLevel : uint8_t { kPrivileged, kBaseline, kRestricted };
std::string_view ToText(SecurityLevel level);

// Versions are minor ones of 1; those later than any check stand for the latest.
inline constexpr int64_t kLatestVersion = INT64_MAX;

struct LevelVersion {
  SecurityLevel level = SecurityLevel::kPrivileged;
  int64_t minor = kLatestVersion;
  // "baseline:v1.24", "restricted:latest"
  std::string ToText() const;
  bool operator==(const LevelVersion&) const = default;
};

struct SecurityPolicy {
  LevelVersion enforce, audit, warn;
  bool IsPrivileged() const;
  bool operator==(const SecurityPolicy&) const = default;
};

// What a namespace's labels ask for, and `defaults` where they don't ask. What can't be read is reported, and counts as the strictest
// where it is enforced, as nothing otherwise.
SecurityPolicy PolicyOf(const object::Value& labels, const SecurityPolicy& defaults, schema::FieldErrors& errors);

// The plugin's configuration: what namespaces without labels ask for, and what is not checked at all.
struct PodSecurityOptions {
  SecurityPolicy defaults;
  std::set<std::string, std::less<>> namespaces, users, runtime_classes;
};
// From a PodSecurityConfiguration; absent: none.
Result<PodSecurityOptions> ReadPodSecurityOptions(const object::Value& configuration);

// A check that a pod does not pass: "hostPath volumes" and "volume "v"".
struct Violation {
  std::string reason, detail;
};
std::vector<Violation> EvaluatePod(const LevelVersion& policy, const object::Value& metadata, const object::Value& pod_spec);
// "reason (detail), reason", and without the details.
std::string DetailsOf(const std::vector<Violation>& violations);
std::string ReasonsOf(const std::vector<Violation>& violations);

}  // namespace homeostat::admission
