#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>

#include "admission/pod_security.h"
#include "homeostat/base/text.h"

namespace homeostat::admission {

using object::Value;

namespace {

using Texts = std::vector<std::string>;
using TextSet = std::set<std::string, std::less<>>;

// What is looked at.
struct Subject {
  const Value& metadata;
  const Value& spec;
};
using Check = std::optional<Violation> (*)(const Subject& pod, int64_t minor);

template <class List>
std::string Quoted(const List& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "\"" : ", \"") + item + "\"";
  return text;
}

template <class List>
std::string Joined(const List& items, std::string_view between) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += between;
    text += item;
  }
  return text;
}

std::string_view Plural(size_t count, std::string_view one, std::string_view more) { return count == 1 ? one : more; }

// `container "a"`, `volumes "a", "b"`
std::string Counted(const Texts& names, std::string_view one, std::string_view more) {
  return std::string(Plural(names.size(), one, more)) + " " + Quoted(names);
}
std::string Containers(const Texts& names) { return Counted(names, "container", "containers"); }

void EachContainer(const Subject& pod, const std::function<void(const Value& container, const std::string& name)>& visit) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& container : pod.spec.Get(list).items()) visit(container, std::string(container.Get("name").AsString()));
  }
}

// Names of containers of which the test holds.
Texts ContainersWhere(const Subject& pod, const std::function<bool(const Value& security_context)>& test) {
  Texts names;
  EachContainer(pod, [&](const Value& container, const std::string& name) {
    if (test(container.Get("securityContext"))) names.push_back(name);
  });
  return names;
}

// Who sets something, "pod and containers "a", "b""; empty for nobody.
std::string Setters(bool pod, const Texts& containers) {
  Texts setters;
  if (pod) setters.emplace_back("pod");
  if (!containers.empty()) setters.push_back(Containers(containers));
  return Joined(setters, " and ");
}

bool IsWindows(const Subject& pod) { return pod.spec.Get("os").Get("name").AsString() == "windows"; }
bool HasOwnUsers(const Subject& pod) { return pod.spec.Get("hostUsers") && !pod.spec.Get("hostUsers").AsBool(); }
bool IsFalse(const Value& value) { return value && !value.AsBool(); }

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) { return std::ranges::find(list, text) != list.end(); }

std::optional<Violation> AppArmorProfile(const Subject& pod, int64_t) {
  TextSet types;
  auto bad = [&](const Value& context) {
    Value profile = context.Get("appArmorProfile");
    if (!profile || IsOneOf(profile.Get("type").AsString(), {"RuntimeDefault", "Localhost"})) return false;
    types.emplace(profile.Get("type").AsString());
    return true;
  };
  bool by_pod = bad(pod.spec.Get("securityContext"));
  std::string setters = Setters(by_pod, ContainersWhere(pod, bad));
  Texts values(types.begin(), types.end()), annotations;
  for (const object::Member& entry : pod.metadata.Get("annotations").members()) {
    std::string_view profile = entry.value.AsString();
    bool allowed = profile.empty() || profile == "runtime/default" || profile.starts_with("localhost/");
    if (!entry.name().starts_with("container.apparmor.security.beta.kubernetes.io/") || allowed) continue;
    annotations.push_back(std::string(entry.name()) + "=" + GoQuote(profile));
  }
  std::ranges::sort(annotations);
  if (!annotations.empty()) {
    values.insert(values.end(), annotations.begin(), annotations.end());
    setters.append(setters.empty() ? "" : " and ").append(Plural(annotations.size(), "annotation", "annotations"));
  }
  if (setters.empty()) return std::nullopt;
  return Violation{std::string(Plural(values.size(), "forbidden AppArmor profile", "forbidden AppArmor profiles")),
                   setters + " must not set AppArmor profile type to " + Quoted(values)};
}

// Containers that add a capability beyond those allowed, which are gathered.
Texts Adding(const Subject& pod, std::initializer_list<std::string_view> allowed, TextSet& forbidden) {
  return ContainersWhere(pod, [&](const Value& context) {
    bool any = false;
    for (const Value& capability : context.Get("capabilities").Get("add").items()) {
      if (IsOneOf(capability.AsString(), allowed)) continue;
      forbidden.emplace(capability.AsString());
      any = true;
    }
    return any;
  });
}

std::string AddingDetail(const Texts& containers, const TextSet& forbidden) {
  return Containers(containers) + " must not include " + Quoted(forbidden) + " in securityContext.capabilities.add";
}

std::optional<Violation> CapabilitiesBaseline(const Subject& pod, int64_t) {
  TextSet forbidden;
  Texts containers = Adding(pod, {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
                                  "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}, forbidden);
  if (containers.empty()) return std::nullopt;
  return Violation{"non-default capabilities", AddingDetail(containers, forbidden)};
}

std::optional<Violation> CapabilitiesRestricted(const Subject& pod, int64_t minor) {
  if (minor >= 25 && IsWindows(pod)) return std::nullopt;
  Texts keeping = ContainersWhere(pod, [](const Value& context) {
    return std::ranges::none_of(context.Get("capabilities").Get("drop").items(), [](const Value& dropped) { return dropped.AsString() == "ALL"; });
  });
  TextSet forbidden;
  Texts adding = Adding(pod, {"NET_BIND_SERVICE"}, forbidden), details;
  if (!keeping.empty()) details.push_back(Containers(keeping) + " must set securityContext.capabilities.drop=[\"ALL\"]");
  if (!adding.empty()) details.push_back(AddingDetail(adding, forbidden));
  if (details.empty()) return std::nullopt;
  return Violation{"unrestricted capabilities", Joined(details, "; ")};
}

std::optional<Violation> HostNamespaces(const Subject& pod, int64_t) {
  Texts shared;
  for (std::string_view field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (pod.spec.Get(field).AsBool()) shared.push_back(std::string(field) + "=true");
  }
  if (shared.empty()) return std::nullopt;
  return Violation{"host namespaces", Joined(shared, ", ")};
}

std::optional<Violation> HostPathVolumes(const Subject& pod, int64_t) {
  Texts volumes;
  for (const Value& volume : pod.spec.Get("volumes").items()) {
    if (volume.Get("hostPath")) volumes.emplace_back(volume.Get("name").AsString());
  }
  if (volumes.empty()) return std::nullopt;
  return Violation{"hostPath volumes", Counted(volumes, "volume", "volumes")};
}

// Containers that use things of a sort, as "containers "a", "b" use hostPorts 1, 2".
Violation Users(std::string_view reason, const Texts& containers, const TextSet& used, std::string_view one, std::string_view more, bool quoted) {
  return Violation{std::string(reason), Containers(containers) + " " + std::string(Plural(containers.size(), "uses", "use")) + " " +
                                            std::string(Plural(used.size(), one, more)) + " " + (quoted ? Quoted(used) : Joined(used, ", "))};
}

std::optional<Violation> HostPorts(const Subject& pod, int64_t) {
  TextSet ports;
  Texts containers;
  EachContainer(pod, [&](const Value& container, const std::string& name) {
    bool any = false;
    for (const Value& port : container.Get("ports").items()) {
      if (port.Get("hostPort").AsInt() == 0) continue;
      ports.insert(std::to_string(port.Get("hostPort").AsInt()));
      any = true;
    }
    if (any) containers.push_back(name);
  });
  if (containers.empty()) return std::nullopt;
  return Users("hostPort", containers, ports, "hostPort", "hostPorts", false);
}

std::optional<Violation> HostProbes(const Subject& pod, int64_t) {
  TextSet hosts, names;
  EachContainer(pod, [&](const Value& container, const std::string& name) {
    Value lifecycle = container.Get("lifecycle");
    for (const Value& handler : {container.Get("livenessProbe"), container.Get("readinessProbe"), container.Get("startupProbe"),
                                 lifecycle.Get("postStart"), lifecycle.Get("preStop")}) {
      for (std::string_view action : {"httpGet", "tcpSocket"}) {
        std::string_view host = handler.Get(action).Get("host").AsString();
        if (host.empty()) continue;
        hosts.emplace(host);
        names.insert(name);
      }
    }
  });
  if (names.empty()) return std::nullopt;
  return Users("probe or lifecycle host", Texts(names.begin(), names.end()), hosts, "probe or lifecycle host", "probe or lifecycle hosts", true);
}

std::optional<Violation> Privileged(const Subject& pod, int64_t) {
  Texts containers = ContainersWhere(pod, [](const Value& context) { return context.Get("privileged").AsBool(); });
  if (containers.empty()) return std::nullopt;
  return Violation{"privileged", Containers(containers) + " must not set securityContext.privileged=true"};
}

std::optional<Violation> ProcMountRestricted(const Subject& pod, int64_t) {
  TextSet types;
  Texts containers = ContainersWhere(pod, [&](const Value& context) {
    Value type = context.Get("procMount");
    if (!type || type.AsString() == "Default") return false;
    types.emplace(type.AsString());
    return true;
  });
  if (containers.empty()) return std::nullopt;
  return Violation{"procMount", Containers(containers) + " must not set securityContext.procMount to " + Quoted(types)};
}

std::optional<Violation> ProcMount(const Subject& pod, int64_t minor) {
  if (minor >= 35 && HasOwnUsers(pod)) return std::nullopt;
  return ProcMountRestricted(pod, minor);
}

std::optional<Violation> SeLinuxOptions(const Subject& pod, int64_t minor) {
  TextSet types;
  bool user = false, role = false;
  auto bad = [&](const Value& context) {
    Value options = context.Get("seLinuxOptions");
    std::string_view type = options.Get("type").AsString();
    bool good_type = IsOneOf(type, {"", "container_t", "container_init_t", "container_kvm_t"}) || (minor >= 31 && type == "container_engine_t");
    bool has_user = !options.Get("user").AsString().empty(), has_role = !options.Get("role").AsString().empty();
    if (!good_type) types.emplace(type);
    user = user || has_user;
    role = role || has_role;
    return !good_type || has_user || has_role;
  };
  bool by_pod = bad(pod.spec.Get("securityContext"));
  std::string setters = Setters(by_pod, ContainersWhere(pod, bad));
  if (setters.empty()) return std::nullopt;
  Texts faults;
  if (!types.empty()) faults.push_back(std::string(Plural(types.size(), "type", "types")) + " " + Quoted(types));
  if (user) faults.emplace_back("user may not be set");
  if (role) faults.emplace_back("role may not be set");
  return Violation{"seLinuxOptions", setters + " set forbidden securityContext.seLinuxOptions: " + Joined(faults, "; ")};
}

// As it was written before there was a field for it.
std::optional<Violation> SeccompAnnotations(const Subject& pod) {
  Value annotations = pod.metadata.Get("annotations");
  TextSet forbidden;
  auto check = [&](const std::string& name) {
    Value profile = annotations.Get(name);
    if (!profile || IsOneOf(profile.AsString(), {"runtime/default", "docker/default"}) || profile.AsString().starts_with("localhost/")) return;
    forbidden.insert(name + "=" + GoQuote(profile.AsString()));
  };
  check("seccomp.security.alpha.kubernetes.io/pod");
  EachContainer(pod, [&](const Value&, const std::string& name) { check("container.seccomp.security.alpha.kubernetes.io/" + name); });
  if (forbidden.empty()) return std::nullopt;
  return Violation{"seccompProfile",
                   "forbidden " + std::string(Plural(forbidden.size(), "annotation", "annotations")) + " " + Joined(forbidden, ", ")};
}

bool HasGoodSeccomp(const Value& context) { return IsOneOf(context.Get("seccompProfile").Get("type").AsString(), {"RuntimeDefault", "Localhost"}); }

std::optional<Violation> SeccompFields(const Subject& pod) {
  TextSet types;
  auto bad = [&](const Value& context) {
    if (!context.Get("seccompProfile") || HasGoodSeccomp(context)) return false;
    types.emplace(context.Get("seccompProfile").Get("type").AsString());
    return true;
  };
  bool by_pod = bad(pod.spec.Get("securityContext"));
  std::string setters = Setters(by_pod, ContainersWhere(pod, bad));
  if (setters.empty()) return std::nullopt;
  return Violation{"seccompProfile", setters + " must not set securityContext.seccompProfile.type to " + Quoted(types)};
}

std::optional<Violation> SeccompBaseline(const Subject& pod, int64_t minor) { return minor < 19 ? SeccompAnnotations(pod) : SeccompFields(pod); }

std::optional<Violation> SeccompRestricted(const Subject& pod, int64_t minor) {
  if (minor >= 25 && IsWindows(pod)) return std::nullopt;
  if (auto violation = SeccompFields(pod)) return violation;
  if (HasGoodSeccomp(pod.spec.Get("securityContext"))) return std::nullopt;
  Texts silent = ContainersWhere(pod, [](const Value& context) { return !context.Get("seccompProfile"); });
  if (silent.empty()) return std::nullopt;
  return Violation{"seccompProfile",
                   "pod or " + Containers(silent) + " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""};
}

std::optional<Violation> Sysctls(const Subject& pod, int64_t minor) {
  Texts forbidden;
  for (const Value& sysctl : pod.spec.Get("securityContext").Get("sysctls").items()) {
    std::string_view name = sysctl.Get("name").AsString();
    bool allowed = IsOneOf(name, {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
                                  "net.ipv4.ip_unprivileged_port_start"}) ||
                   (minor >= 27 && name == "net.ipv4.ip_local_reserved_ports") ||
                   (minor >= 29 && IsOneOf(name, {"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
                                                  "net.ipv4.tcp_keepalive_probes"})) ||
                   (minor >= 32 && IsOneOf(name, {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}));
    if (!allowed) forbidden.emplace_back(name);
  }
  if (forbidden.empty()) return std::nullopt;
  return Violation{"forbidden sysctls", Joined(forbidden, ", ")};
}

std::optional<Violation> WindowsHostProcess(const Subject& pod, int64_t) {
  auto bad = [](const Value& context) { return context.Get("windowsOptions").Get("hostProcess").AsBool(); };
  std::string setters = Setters(bad(pod.spec.Get("securityContext")), ContainersWhere(pod, bad));
  if (setters.empty()) return std::nullopt;
  return Violation{"hostProcess", setters + " must not set securityContext.windowsOptions.hostProcess=true"};
}

std::optional<Violation> AllowPrivilegeEscalation(const Subject& pod, int64_t minor) {
  if (minor >= 25 && IsWindows(pod)) return std::nullopt;
  Texts containers = ContainersWhere(pod, [](const Value& context) { return !IsFalse(context.Get("allowPrivilegeEscalation")); });
  if (containers.empty()) return std::nullopt;
  return Violation{"allowPrivilegeEscalation != false", Containers(containers) + " must set securityContext.allowPrivilegeEscalation=false"};
}

std::optional<Violation> RestrictedVolumes(const Subject& pod, int64_t) {
  static constexpr std::string_view kForbidden[] = {
      "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd", "flexVolume", "cinder", "cephfs",
      "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"};
  Texts volumes;
  TextSet types;
  for (const Value& volume : pod.spec.Get("volumes").items()) {
    bool allowed = std::ranges::any_of(std::initializer_list<std::string_view>{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
                                                                               "persistentVolumeClaim", "projected", "secret"},
                                       [&](std::string_view source) { return static_cast<bool>(volume.Get(source)); });
    if (allowed) continue;
    volumes.emplace_back(volume.Get("name").AsString());
    const std::string_view* type = std::ranges::find_if(kForbidden, [&](std::string_view source) { return static_cast<bool>(volume.Get(source)); });
    types.emplace(type == std::end(kForbidden) ? std::string_view("unknown") : *type);
  }
  if (volumes.empty()) return std::nullopt;
  return Violation{"restricted volume types",
                   Counted(volumes, "volume", "volumes") + " " + std::string(Plural(volumes.size(), "uses", "use")) + " " +
                       std::string(Plural(types.size(), "restricted volume type", "restricted volume types")) + " " + Quoted(types)};
}

std::optional<Violation> RunAsNonRoot(const Subject& pod, int64_t minor) {
  if (minor >= 35 && HasOwnUsers(pod)) return std::nullopt;
  Value by_pod = pod.spec.Get("securityContext").Get("runAsNonRoot");
  std::string setters = Setters(IsFalse(by_pod), ContainersWhere(pod, [](const Value& context) { return IsFalse(context.Get("runAsNonRoot")); }));
  if (!setters.empty()) return Violation{"runAsNonRoot != true", setters + " must not set securityContext.runAsNonRoot=false"};
  if (by_pod.AsBool()) return std::nullopt;
  Texts silent = ContainersWhere(pod, [](const Value& context) { return !context.Get("runAsNonRoot"); });
  if (silent.empty()) return std::nullopt;
  return Violation{"runAsNonRoot != true", "pod or " + Containers(silent) + " must set securityContext.runAsNonRoot=true"};
}

std::optional<Violation> RunAsUser(const Subject& pod, int64_t minor) {
  if (minor >= 35 && HasOwnUsers(pod)) return std::nullopt;
  auto bad = [](const Value& context) { return context.Get("runAsUser") && context.Get("runAsUser").AsInt() == 0; };
  std::string setters = Setters(bad(pod.spec.Get("securityContext")), ContainersWhere(pod, bad));
  if (setters.empty()) return std::nullopt;
  return Violation{"runAsUser=0", setters + " must not set runAsUser=0"};
}

constexpr int64_t kNever = INT64_MAX;
// Nothing has changed since.
constexpr int64_t kNewestCheck = 35;

struct Rule {
  SecurityLevel level;
  int64_t since;
  // From that version on the restricted level has a stricter check in its place.
  int64_t replaced;
  Check check;
};

// In the order of upstream's names for them, baseline first.
constexpr Rule kRules[] = {
    {SecurityLevel::kBaseline, 0, kNever, AppArmorProfile},
    {SecurityLevel::kBaseline, 0, 22, CapabilitiesBaseline},
    {SecurityLevel::kBaseline, 0, kNever, HostNamespaces},
    {SecurityLevel::kBaseline, 0, 0, HostPathVolumes},
    {SecurityLevel::kBaseline, 0, kNever, HostPorts},
    {SecurityLevel::kBaseline, 34, kNever, HostProbes},
    {SecurityLevel::kBaseline, 0, kNever, Privileged},
    {SecurityLevel::kBaseline, 0, 35, ProcMount},
    {SecurityLevel::kBaseline, 0, kNever, SeLinuxOptions},
    {SecurityLevel::kBaseline, 0, 19, SeccompBaseline},
    {SecurityLevel::kBaseline, 0, kNever, Sysctls},
    {SecurityLevel::kBaseline, 0, kNever, WindowsHostProcess},
    {SecurityLevel::kRestricted, 8, kNever, AllowPrivilegeEscalation},
    {SecurityLevel::kRestricted, 22, kNever, CapabilitiesRestricted},
    {SecurityLevel::kRestricted, 35, kNever, ProcMountRestricted},
    {SecurityLevel::kRestricted, 0, kNever, RestrictedVolumes},
    {SecurityLevel::kRestricted, 0, kNever, RunAsNonRoot},
    {SecurityLevel::kRestricted, 23, kNever, RunAsUser},
    {SecurityLevel::kRestricted, 19, kNever, SeccompRestricted},
};

}  // namespace

std::vector<Violation> EvaluatePod(const LevelVersion& policy, const Value& metadata, const Value& pod_spec) {
  std::vector<Violation> violations;
  if (policy.level == SecurityLevel::kPrivileged) return violations;
  int64_t minor = std::min(policy.minor, kNewestCheck);
  bool restricted = policy.level == SecurityLevel::kRestricted;
  Subject pod{metadata, pod_spec};
  for (const Rule& rule : kRules) {
    if (rule.level > policy.level || minor < rule.since || (restricted && minor >= rule.replaced)) continue;
    if (auto violation = rule.check(pod, minor)) violations.push_back(*std::move(violation));
  }
  return violations;
}

}  // namespace homeostat::admission
