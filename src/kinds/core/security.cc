#include "kinds/core/security.h"

#include <re2/re2.h>

#include <set>

#include "homeostat/api/core/v1.h"
#include "kinds/core/containers.h"
#include "kinds/core/windows_options.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr size_t kMaxProfileLength = 4095, kMaxSysctlLength = 253;
constexpr std::string_view kSysctlPattern = R"(^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$)";

void CheckSeccomp(const Value& profile, const FieldPath& path, FieldErrors& errors) {
  if (!profile) return;
  std::string_view type = profile.Get("type").AsString();
  if (type.empty()) {
    errors.Required(path.Child("type"), "type is required when seccompProfile is set");
  } else {
    CheckOneOf(type, {"Localhost", "RuntimeDefault", "Unconfined"}, path.Child("type"), errors);
  }
  Value file = profile.Get("localhostProfile");
  if (type != "Localhost") {
    if (file) errors.Invalid(path.Child("localhostProfile"), InternalValue(types::kSeccompProfile, profile),
                             "can only be set when seccomp type is Localhost");
  } else if (!file) {
    errors.Required(path.Child("localhostProfile"), "must be set when seccomp type is Localhost");
  } else {
    CheckDescendingPath(file.AsString(), path.Child("localhostProfile"), errors);
  }
}

void CheckId(const Value& id, bool group, const FieldPath& path, FieldErrors& errors) {
  if (!id) return;
  AddInvalid(errors, path, id, group ? object::IsValidGroupID(id.AsInt()) : object::IsValidUserID(id.AsInt()));
}

bool IsSysctlName(std::string_view name) {
  static const RE2 pattern{re2::StringPiece(kSysctlPattern.data(), kSysctlPattern.size())};
  return name.size() <= kMaxSysctlLength && RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), pattern);
}

void CheckSysctls(const Value& pod_spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  Value sysctls = pod_spec.Get("securityContext").Get("sysctls");
  std::set<std::string_view> names;
  for (size_t i = 0; i < sysctls.size(); ++i) {
    std::string_view name = sysctls.At(i).Get("name").AsString();
    FieldPath at = path.Index(i).Child("name");
    if (name.empty()) {
      errors.Required(at);
    } else if (!IsSysctlName(name)) {
      errors.Invalid(at, name, "must have at most 253 characters and match regex " + std::string(kSysctlPattern));
    } else if (names.contains(name)) {
      errors.Duplicate(at, name);
    }
    if (!rules.allow_namespaced_sysctls) {
      if (std::string_view fault = HostSysctlFault(name, pod_spec); !fault.empty()) errors.Invalid(at, name, fault);
    }
    names.insert(name);
  }
}

// kernel/shm.x and kernel.shm/x are two spellings of one name: the first separator decides.
std::string DottedSysctl(std::string_view name) {
  std::string dotted(name);
  size_t first = dotted.find_first_of("./");
  if (first == dotted.npos || dotted[first] == '.') return dotted;
  for (char& c : dotted) c = c == '.' ? '/' : c == '/' ? '.' : c;
  return dotted;
}

std::string_view SysctlNamespace(std::string_view name) {
  static constexpr std::string_view kOfIpc[] = {"kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
                                     "kernel.shm", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg"};
  if (IsOneOf(name, kOfIpc) || name.starts_with("fs.mqueue.")) return "ipc";
  return name.starts_with("net.") ? "net" : "";
}

// Fields of a pod that Windows doesn't have, with where upstream reports them below the spec.
constexpr std::pair<std::string_view, bool> kNotOnWindows[] = {
    // name, whether it is part of the security context in the API
    {"appArmorProfile", true}, {"seLinuxOptions", true}, {"hostUsers", false}, {"hostPID", false}, {"hostIPC", false},
    {"seccompProfile", true}, {"fsGroup", true}, {"fsGroupChangePolicy", true}, {"sysctls", true}, {"shareProcessNamespace", false},
    {"runAsUser", true}, {"runAsGroup", true}, {"supplementalGroups", true}, {"supplementalGroupsPolicy", true}, {"seLinuxChangePolicy", true}};

void CheckWindows(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  static constexpr std::string_view kReason = "cannot be set for a windows pod";
  for (const auto& [field, in_context] : kNotOnWindows) {
    if (in_context && spec.Get("securityContext").Get(field)) errors.Forbidden(path.Child("securityContext").Child(field), kReason);
    if (!in_context && spec.Get(field)) errors.Forbidden(path.Child(field), kReason);
  }
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& at) {
    for (std::string_view field : {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem",
                                   "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"}) {
      if (container.Get("securityContext").Get(field)) errors.Forbidden(at.Child("securityContext").Child(field), kReason);
    }
  });
}

void CheckLinux(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  static constexpr std::string_view kReason = "windows options cannot be set for a linux pod";
  if (spec.Get("securityContext").Get("windowsOptions")) errors.Forbidden(path.Child("securityContext", "windowsOptions"), kReason);
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& at) {
    if (container.Get("securityContext").Get("windowsOptions")) errors.Forbidden(at.Child("securityContext", "windowsOptions"), kReason);
  });
}

}  // namespace

std::string_view HostSysctlFault(std::string_view sysctl, const Value& pod_spec) {
  std::string name = DottedSysctl(sysctl.substr(0, sysctl.find('*')));
  std::string_view ns = SysctlNamespace(name);
  if (ns == "net" && pod_spec.Get("hostNetwork").AsBool()) return "may not be specified when 'hostNetwork' is true";
  if (ns == "ipc" && pod_spec.Get("hostIPC").AsBool()) return "may not be specified when 'hostIPC' is true";
  return {};
}

void CheckAppArmorProfile(const Value& profile, const FieldPath& path, FieldErrors& errors) {
  if (!profile) return;
  std::string_view type = profile.Get("type").AsString();
  Value name = profile.Get("localhostProfile");
  FieldPath name_path = path.Child("localhostProfile");
  if (type.empty()) return errors.Required(path.Child("type"), "type is required when appArmorProfile is set");
  CheckOneOf(type, {"Localhost", "RuntimeDefault", "Unconfined"}, path.Child("type"), errors);
  if (type == "RuntimeDefault" || type == "Unconfined") {
    if (name) errors.Invalid(name_path, name, "can only be set when AppArmor type is Localhost");
  } else if (type == "Localhost") {
    std::string_view text = name.AsString();
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    if (!name) return errors.Required(name_path, "must be set when AppArmor type is Localhost");
    if (!text.empty() && (kSpace.find(text.front()) != kSpace.npos || kSpace.find(text.back()) != kSpace.npos)) {
      errors.Invalid(name_path, name, "must not be padded with whitespace");
    } else if (text.empty()) {
      errors.Required(name_path, "must be set when AppArmor type is Localhost");
    }
    if (text.size() > kMaxProfileLength) errors.TooLong(name_path, kMaxProfileLength);
  }
}

void CheckSecurityContext(const Value& context, bool host_users, const FieldPath& path, FieldErrors& errors) {
  if (!context) return;
  CheckId(context.Get("runAsUser"), false, path.Child("runAsUser"), errors);
  CheckId(context.Get("runAsGroup"), true, path.Child("runAsGroup"), errors);
  if (Value proc = context.Get("procMount")) {
    CheckOneOf(proc.AsString(), {"Default", "Unmasked"}, path.Child("procMount"), errors);
    if (host_users && proc.AsString() == "Unmasked") errors.Invalid(path.Child("procMount"), proc, "`hostUsers` must be false to use `Unmasked`");
  }
  CheckSeccomp(context.Get("seccompProfile"), path.Child("seccompProfile"), errors);
  Value escalation = context.Get("allowPrivilegeEscalation");
  if (escalation && !escalation.AsBool()) {
    BadValue shown = InternalValue(types::kSecurityContext, context);
    if (context.Get("privileged").AsBool()) {
      errors.Invalid(path, shown, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    for (const Value& capability : context.Get("capabilities").Get("add").items()) {
      if (capability.AsString() != "CAP_SYS_ADMIN") continue;
      errors.Invalid(path, shown, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
    }
  }
  CheckWindowsOptions(context.Get("windowsOptions"), path.Child("windowsOptions"), errors);
  CheckAppArmorProfile(context.Get("appArmorProfile"), path.Child("appArmorProfile"), errors);
}

void CheckPodSecurityContext(const Value& pod_spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  Value context = pod_spec.Get("securityContext");
  CheckId(context.Get("fsGroup"), true, path.Child("fsGroup"), errors);
  CheckId(context.Get("runAsUser"), false, path.Child("runAsUser"), errors);
  CheckId(context.Get("runAsGroup"), true, path.Child("runAsGroup"), errors);
  Value groups = context.Get("supplementalGroups");
  for (size_t i = 0; i < groups.size(); ++i) CheckId(groups.At(i), true, path.Child("supplementalGroups").Index(i), errors);
  if (pod_spec.Get("hostPID").AsBool() && pod_spec.Get("shareProcessNamespace").AsBool()) {
    errors.Invalid(path.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  CheckSysctls(pod_spec, path.Child("sysctls"), rules, errors);
  if (Value policy = context.Get("fsGroupChangePolicy")) {
    CheckOneOf(policy.AsString(), {"Always", "OnRootMismatch"}, path.Child("fsGroupChangePolicy"), errors);
  }
  CheckSeccomp(context.Get("seccompProfile"), path.Child("seccompProfile"), errors);
  CheckWindowsOptions(context.Get("windowsOptions"), path.Child("windowsOptions"), errors);
  CheckAppArmorProfile(context.Get("appArmorProfile"), path.Child("appArmorProfile"), errors);
  if (Value policy = context.Get("supplementalGroupsPolicy")) {
    CheckOneOf(policy.AsString(), {"Merge", "Strict"}, path.Child("supplementalGroupsPolicy"), errors);
  }
  if (Value policy = context.Get("seLinuxChangePolicy")) {
    FieldPath at = path.Child("seLinuxChangePolicy");
    if (rules.allow_any_selinux_change_policy) CheckOneOf(policy.AsString(), {"MountOption", "Recursive"}, at, errors);
    else CheckOneOf(policy.AsString(), {"Recursive"}, at, errors);
  }
}

void CheckHostUsers(const Value& pod_spec, const FieldPath& spec_path, const PodRules& rules, FieldErrors& errors) {
  static constexpr std::string_view kReason = "when `hostUsers` is false";
  Value users = pod_spec.Get("hostUsers");
  if (!users || users.AsBool()) return;
  if (!rules.allow_host_network_with_user_namespace && pod_spec.Get("hostNetwork").AsBool()) errors.Forbidden(spec_path.Child("hostNetwork"), kReason);
  if (pod_spec.Get("hostPID").AsBool()) errors.Forbidden(spec_path.Child("HostPID"), kReason);
  if (pod_spec.Get("hostIPC").AsBool()) errors.Forbidden(spec_path.Child("HostIPC"), kReason);
  if (rules.allow_volume_devices_with_user_namespace) return;
  ForEachContainer(pod_spec, spec_path, [&](const Value& container, const FieldPath& at) {
    if (!container.Get("volumeDevices").empty()) errors.Forbidden(at.Child("volumeDevices"), kReason);
  });
}

void CheckHostProcesses(const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors) {
  int containers = 0, host_processes = 0;
  Value of_pod = pod_spec.Path({"securityContext", "windowsOptions", "hostProcess"});
  ForEachContainer(pod_spec, spec_path, [&](const Value& container, const FieldPath& at) {
    ++containers;
    Value own = container.Path({"securityContext", "windowsOptions", "hostProcess"});
    if (of_pod && own && of_pod.AsBool() != own.AsBool()) {
      errors.Invalid(at.Child("securityContext", "windowsOptions", "hostProcess"), own,
                     std::string("pod hostProcess value must be identical if both are specified, was ") + (of_pod.AsBool() ? "true" : "false"));
    }
    if (own ? own.AsBool() : of_pod.AsBool()) ++host_processes;
  });
  if (host_processes == 0) return;
  if (host_processes != containers) {
    errors.Invalid(spec_path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers");
  }
  if (!pod_spec.Get("hostNetwork").AsBool()) {
    errors.Invalid(spec_path.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers");
  }
}

void CheckOperatingSystem(const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors) {
  Value os = pod_spec.Get("os");
  if (!os) return;
  std::string_view name = os.Get("name").AsString();
  if (name.empty()) return errors.Required(spec_path.Child("os", "name"));
  if (name == "linux") {
    CheckLinux(pod_spec, spec_path, errors);
  } else if (name == "windows") {
    CheckWindows(pod_spec, spec_path, errors);
  } else {
    errors.NotSupported(spec_path.Child("os"), name, {"linux", "windows"});
  }
}

}  // namespace homeostat::kinds
