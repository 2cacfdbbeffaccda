// The admission plugins by upstream's names and in its order, and which of them a server runs.
#pragma once

#include <functional>

#include "admission/admission.h"
#include "admission/pod_security.h"
#include "admission/user/served_kinds.h"
#include "auth/authorizer.h"
#include "homeostat/base/runtime.h"

namespace homeostat::callout {
class Caller;
}

namespace homeostat::admission {

// Everything must outlive the chain.
struct PluginParts {
  Runtime& runtime;
  const kinds::ObjectReader& objects;
  auth::Authorizer& authorizer;
  // The served kind of that name; null if there is none.
  std::function<const schema::Kind*(std::string_view group, std::string_view version, std::string_view kind)> find_kind;
  // Writes the status of a ResourceQuota that was read before, as the server itself; fails with a conflict if it has changed.
  std::function<Task<Result<void>>(object::DocumentPtr quota)> update_quota_status;
  const ServedKinds& served;
  // Calls back in the moment that an object of that resource is stored, changed or removed, as long as the server lives. Empty: whoever
  // keeps what he made of such objects must look each time.
  std::function<void(std::string_view group, std::string_view plural, std::function<void()> changed)> observe;
  PodSecurityOptions pod_security = {};
  callout::Caller* caller = nullptr;  // null: webhooks can't be called
  AdmissionMetrics* metrics = nullptr;  // null: nothing is counted
};

// Beyond those that are on by default, by name, and the file that configures them: all as kube-apiserver's flags.
struct PluginChoice {
  std::vector<std::string> enable, disable;
  std::string configuration_file = {};
};

// Adds the plugins that are on to the chain. An error, as people read it, for names that are not known or chosen both ways, and for
// configurations that can't be read or that nothing here would heed. Reads files.
Result<void> AddPlugins(Chain& chain, const PluginParts& parts, const PluginChoice& choice = {});

// One maker per plugin; each is described at its implementation.
std::unique_ptr<Plugin> MakeNamespaceLifecycle(const PluginParts& parts);
std::unique_ptr<Plugin> MakeLimitRanger(const PluginParts& parts);
std::unique_ptr<Plugin> MakeServiceAccount(const PluginParts& parts);
std::unique_ptr<Plugin> MakeNodeRestriction(const PluginParts& parts);
std::unique_ptr<Plugin> MakeTaintNodesByCondition(const PluginParts& parts);
std::unique_ptr<Plugin> MakePodSecurity(const PluginParts& parts);
std::unique_ptr<Plugin> MakePriority(const PluginParts& parts);
std::unique_ptr<Plugin> MakeDefaultTolerationSeconds(const PluginParts& parts);
std::unique_ptr<Plugin> MakeDefaultStorageClass(const PluginParts& parts);
std::unique_ptr<Plugin> MakeStorageObjectInUseProtection(const PluginParts& parts);
std::unique_ptr<Plugin> MakeOwnerReferencesPermissionEnforcement(const PluginParts& parts);
std::unique_ptr<Plugin> MakePersistentVolumeClaimResize(const PluginParts& parts);
std::unique_ptr<Plugin> MakeRuntimeClass(const PluginParts& parts);
std::unique_ptr<Plugin> MakeCertificateApproval(const PluginParts& parts);
std::unique_ptr<Plugin> MakeCertificateSigning(const PluginParts& parts);
std::unique_ptr<Plugin> MakeClusterTrustBundleAttest(const PluginParts& parts);
std::unique_ptr<Plugin> MakeCertificateSubjectRestriction(const PluginParts& parts);
std::unique_ptr<Plugin> MakeDefaultIngressClass(const PluginParts& parts);
std::unique_ptr<Plugin> MakePodTopologyLabels(const PluginParts& parts);
std::unique_ptr<Plugin> MakeNodeDeclaredFeatureValidator(const PluginParts& parts);
std::unique_ptr<Plugin> MakePodResizeValidator(const PluginParts& parts);
std::unique_ptr<Plugin> MakeMutatingAdmissionPolicy(const PluginParts& parts);
std::unique_ptr<Plugin> MakeValidatingAdmissionPolicy(const PluginParts& parts);
std::unique_ptr<Plugin> MakeResourceQuota(const PluginParts& parts);
std::unique_ptr<Plugin> MakeMutatingAdmissionWebhook(const PluginParts& parts);
std::unique_ptr<Plugin> MakeValidatingAdmissionWebhook(const PluginParts& parts);
std::unique_ptr<Plugin> MakeAlwaysAdmit(const PluginParts& parts);
std::unique_ptr<Plugin> MakeAlwaysDeny(const PluginParts& parts);
std::unique_ptr<Plugin> MakeAlwaysPullImages(const PluginParts& parts);
std::unique_ptr<Plugin> MakeDenyServiceExternalIPs(const PluginParts& parts);
std::unique_ptr<Plugin> MakeExtendedResourceToleration(const PluginParts& parts);
std::unique_ptr<Plugin> MakeLimitPodHardAntiAffinityTopology(const PluginParts& parts);
std::unique_ptr<Plugin> MakeNamespaceExists(const PluginParts& parts);

}  // namespace homeostat::admission
