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
};

// Source: kubeapiserver's AllOrderedPlugins and DefaultOffAdmissionPlugins. Those of features that are off do nothing there, and
// are left out of the default here.
constexpr Entry kPlugins[] = {
    {"AlwaysAdmit", MakeAlwaysAdmit},
    {"NamespaceAutoProvision"},
    {"NamespaceLifecycle", MakeNamespaceLifecycle, true},
    {"NamespaceExists", MakeNamespaceExists},
    {"LimitPodHardAntiAffinityTopology", MakeLimitPodHardAntiAffinityTopology},
    {"LimitRanger", MakeLimitRanger, true},
    {"ServiceAccount", MakeServiceAccount, true},
    {"NodeRestriction", MakeNodeRestriction},
    {"TaintNodesByCondition", MakeTaintNodesByCondition, true},
    {"AlwaysPullImages", MakeAlwaysPullImages},
    {"ImagePolicyWebhook"},
    {kPodSecurity, MakePodSecurity, true},
    {"PodNodeSelector"},
    {"Priority", MakePriority, true},
    {"DefaultTolerationSeconds", MakeDefaultTolerationSeconds, true},
    {"PodTolerationRestriction"},
    {"EventRateLimit"},
    {"ExtendedResourceToleration", MakeExtendedResourceToleration},
    {"DefaultStorageClass", MakeDefaultStorageClass, true},
    {"StorageObjectInUseProtection", MakeStorageObjectInUseProtection, true},
    {"PodGroupProtection"},
    {"OwnerReferencesPermissionEnforcement", MakeOwnerReferencesPermissionEnforcement},
    {"PersistentVolumeClaimResize", MakePersistentVolumeClaimResize, true},
    {"RuntimeClass", MakeRuntimeClass, true},
    {"CertificateApproval", MakeCertificateApproval, true},
    {"CertificateSigning", MakeCertificateSigning, true},
    {"ClusterTrustBundleAttest", MakeClusterTrustBundleAttest, true},
    {"CertificateSubjectRestriction", MakeCertificateSubjectRestriction, true},
    {"DefaultIngressClass", MakeDefaultIngressClass, true},
    {"DenyServiceExternalIPs", MakeDenyServiceExternalIPs},
    {"PodTopologyLabels", MakePodTopologyLabels, true},
    {"PodGroupWorkloadExists"},
    {"NodeDeclaredFeatureValidator", MakeNodeDeclaredFeatureValidator, true},
    {"JobValidation"},
    {"PodResizeValidator", MakePodResizeValidator, true},
    {"MutatingAdmissionPolicy", MakeMutatingAdmissionPolicy, true},
    {"MutatingAdmissionWebhook", MakeMutatingAdmissionWebhook, true},
    {"ValidatingAdmissionPolicy", MakeValidatingAdmissionPolicy, true},
    {"ValidatingAdmissionWebhook", MakeValidatingAdmissionWebhook, true},
    {"ResourceQuota", MakeResourceQuota, true},
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
    chain.Add(entry.make(configured));
  }
  return {};
}

}  // namespace homeostat::admission
