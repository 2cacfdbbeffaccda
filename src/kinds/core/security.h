// Security settings of pods and containers.
#pragma once

#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

// Of a container; absent is fine. host_users: the pod shares the host's users.
void CheckSecurityContext(const Value& context, bool host_users, const FieldPath& path, FieldErrors& errors);
// Of a pod, whose spec it is part of.
void CheckPodSecurityContext(const Value& pod_spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors);
// The profile as a field; absent is fine.
void CheckAppArmorProfile(const Value& profile, const FieldPath& path, FieldErrors& errors);

// What pods of Windows need together: all containers are host processes or none.
void CheckHostProcesses(const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors);
// Users of their own, which leave out the host's namespaces.
void CheckHostUsers(const Value& pod_spec, const FieldPath& spec_path, const PodRules& rules, FieldErrors& errors);
// The operating system and what can't be set for it.
void CheckOperatingSystem(const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors);

// Whether a kernel setting belongs to a namespace that the pod shares with the host: says what is wrong with it.
std::string_view HostSysctlFault(std::string_view sysctl, const Value& pod_spec);

// Annotations that were used before there were fields.
void CheckSecurityAnnotations(const Value& annotations, const Value& pod_spec, const FieldPath& path, FieldErrors& errors);
// … which must agree with the fields in a new pod.
void CheckAnnotationsMatchFields(const Value& annotations, const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors);

// The annotation about one container, whose key is the prefix and its name.
inline Value AnnotationOfContainer(const Value& annotations, std::string_view prefix, std::string_view container) {
  for (const object::Member& entry : annotations.members()) {
    std::string_view key = entry.name();
    if (key.size() == prefix.size() + container.size() && key.starts_with(prefix) && key.ends_with(container)) return entry.value;
  }
  return {};
}

inline constexpr std::string_view kSeccompContainer = "container.seccomp.security.alpha.kubernetes.io/";
inline constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
// The profile that an annotation stands for; absent if it stands for none.
Value AppArmorProfileOf(object::Arena& arena, std::string_view annotation);

}  // namespace homeostat::kinds
