#include "admission/plugins.h"

#include <algorithm>

#include "admission/configuration.h"

namespace homeostat::admission {
namespace {

constexpr std::string_view kPodSecurity = "PodSecurity";

struct Entry {
  std::string_view name;
  std::unique_ptr<Plugin> (*make)(const PluginParts&) = nullptr;  // null: upstream has it, this server does not
  bool on_by_default = false;
  Hooks hooks = Hooks::kBoth;
};

// Source: kubeapiserver's AllOrderedPlugins and DefaultOffAdmissionPlugins. Those of features that are off do nothing there, and
// are left out of the default here.
constexpr Entry kPlugins[] = {
    {"AlwaysAdmit", MakeAlwaysAdmit},
    {"NamespaceAutoProvision"},
    {"NamespaceLifecycle", MakeNamespaceLifecycle, true, Hooks::kAdmit},
    {"NamespaceExists", MakeNamespaceExists, false, Hooks::kValidate},
    {"LimitPodHardAntiAffinityTopology", MakeLimitPodHardAntiAffinityTopology, false, Hooks::kValidate},
    {"LimitRanger", MakeLimitRanger, true},
    {"ServiceAccount", MakeServiceAccount, true},
    {"NodeRestriction", MakeNodeRestriction, false, Hooks::kAdmit},
    {"TaintNodesByCondition", MakeTaintNodesByCondition, true, Hooks::kAdmit},
    {"AlwaysPullImages", MakeAlwaysPullImages},
    {"ImagePolicyWebhook"},
    {kPodSecurity, MakePodSecurity, true, Hooks::kValidate},
    {"PodNodeSelector"},
    {"Priority", MakePriority, true},
    {"DefaultTolerationSeconds", MakeDefaultTolerationSeconds, true, Hooks::kAdmit},
    {"PodTolerationRestriction"},
    {"EventRateLimit"},
    {"ExtendedResourceToleration", MakeExtendedResourceToleration, false, Hooks::kAdmit},
    {"DefaultStorageClass", MakeDefaultStorageClass, true, Hooks::kAdmit},
    {"StorageObjectInUseProtection", MakeStorageObjectInUseProtection, true, Hooks::kAdmit},
    {"PodGroupProtection"},
    {"OwnerReferencesPermissionEnforcement", MakeOwnerReferencesPermissionEnforcement, false, Hooks::kValidate},
    {"PersistentVolumeClaimResize", MakePersistentVolumeClaimResize, true, Hooks::kValidate},
    {"RuntimeClass", MakeRuntimeClass, true},
    {"CertificateApproval", MakeCertificateApproval, true, Hooks::kValidate},
    {"CertificateSigning", MakeCertificateSigning, true, Hooks::kValidate},
    {"ClusterTrustBundleAttest", MakeClusterTrustBundleAttest, true, Hooks::kValidate},
    {"CertificateSubjectRestriction", MakeCertificateSubjectRestriction, true, Hooks::kValidate},
    {"DefaultIngressClass", MakeDefaultIngressClass, true, Hooks::kAdmit},
    {"DenyServiceExternalIPs", MakeDenyServiceExternalIPs, false, Hooks::kValidate},
    {"PodTopologyLabels", MakePodTopologyLabels, true, Hooks::kAdmit},
    {"PodGroupWorkloadExists"},
    {"NodeDeclaredFeatureValidator", MakeNodeDeclaredFeatureValidator, true, Hooks::kValidate},
    {"JobValidation"},
    {"PodResizeValidator", MakePodResizeValidator, true, Hooks::kValidate},
    {"MutatingAdmissionPolicy", MakeMutatingAdmissionPolicy, true, Hooks::kAdmit},
    {"MutatingAdmissionWebhook", MakeMutatingAdmissionWebhook, true, Hooks::kAdmit},
    {"ValidatingAdmissionPolicy", MakeValidatingAdmissionPolicy, true, Hooks::kValidate},
    {"ValidatingAdmissionWebhook", MakeValidatingAdmissionWebhook, true, Hooks::kValidate},
    {"ResourceQuota", MakeResourceQuota, true, Hooks::kValidate},
    {"AlwaysDeny", MakeAlwaysDeny},
};

bool Contains(const std::vector<std::string>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

Result<void> CheckNames(std::string_view flag, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kPlugins, name, &Entry::name) == std::end(kPlugins)) {
      return Fail(SystemError(std::string(flag) + " plugin \"" + name + "\" is unknown"));
    }
  }
  return {};
}

}  // namespace

Result<void> AddPlugins(Chain& chain, const PluginParts& parts, const PluginChoice& choice) {
  TRY(CheckNames("enable-admission-plugins", choice.enable));
  TRY(CheckNames("disable-admission-plugins", choice.disable));
  for (const std::string& name : choice.enable) {
    if (Contains(choice.disable, name)) {
      return Fail(SystemError("[" + name + "] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
  }
  TRY_ASSIGN(auto configurations, Configurations::Read(choice.configuration_file));
  std::string_view unheeded = configurations.FirstBut([](std::string_view name) { return name == kPodSecurity; });
  if (!unheeded.empty()) return Fail(SystemError("the admission plugin " + std::string(unheeded) + " can't be configured on this server"));
  PluginParts configured = parts;
  TRY_ASSIGN(configured.pod_security, ReadPodSecurityOptions(configurations.For(kPodSecurity)));
  for (const Entry& entry : kPlugins) {
    bool on = Contains(choice.enable, entry.name) || (entry.on_by_default && !Contains(choice.disable, entry.name));
    if (!on) continue;
    if (entry.make == nullptr) return Fail(SystemError("the admission plugin " + std::string(entry.name) + " is not part of this server"));
    chain.Add(entry.make(configured), entry.hooks);
  }
  return {};
}

}  // namespace homeostat::admission
