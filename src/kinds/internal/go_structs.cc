// The Go structs that upstream holds objects in while it works on them, where they differ from the API's own: names of fields,
// their order, and which are pointers. Facts of k8s.io/kubernetes 1.36, pkg/apis.
#include "kinds/internal/go_structs.h"

#include <algorithm>

namespace homeostat::kinds::internal {
namespace {

struct Name {
  std::string_view json, go;
};

// Where Go's name isn't the JSON name with a capital.
constexpr Name kNames[] = {
    {"apiGroup", "APIGroup"}, {"apiGroups", "APIGroups"}, {"apiVersion", "APIVersion"},
    {"awsElasticBlockStore", "AWSElasticBlockStore"}, {"cephfs", "CephFS"},
    {"chapAuthDiscovery", "DiscoveryCHAPAuth"}, {"chapAuthSession", "SessionCHAPAuth"}, {"cidr", "CIDR"},
    {"csi", "CSI"}, {"diskURI", "DataDiskURI"}, {"dnsConfig", "DNSConfig"}, {"dnsPolicy", "DNSPolicy"},
    {"endpoints", "EndpointsName"}, {"externalID", "DoNotUseExternalID"}, {"fc", "FC"}, {"fsGroup", "FSGroup"},
    {"fsGroupChangePolicy", "FSGroupChangePolicy"}, {"fsGroupPolicy", "FSGroupPolicy"}, {"fsType", "FSType"},
    {"gcePersistentDisk", "GCEPersistentDisk"}, {"gid", "GID"}, {"gmsaCredentialSpec", "GMSACredentialSpec"},
    {"gmsaCredentialSpecName", "GMSACredentialSpecName"}, {"grpc", "GRPC"}, {"http", "HTTP"}, {"httpGet", "HTTPGet"},
    {"httpHeaders", "HTTPHeaders"}, {"ip", "IP"}, {"ipBlock", "IPBlock"}, {"ipFamilies", "IPFamilies"},
    {"ipFamilyPolicy", "IPFamilyPolicy"}, {"ipMode", "IPMode"}, {"iqn", "IQN"}, {"iscsi", "ISCSI"},
    {"iscsiInterface", "ISCSIInterface"}, {"jsonPatch", "JSONPatch"}, {"jsonPath", "JSONPath"}, {"lastState", "LastTerminationState"}, {"metadata", "ObjectMeta"},
    {"nfs", "NFS"}, {"os", "OS"}, {"osImage", "OSImage"}, {"pdName", "PDName"}, {"pool", "RBDPool"},
    {"qosClass", "QOSClass"}, {"rbd", "RBD"}, {"reportingComponent", "ReportingController"},
    {"seLinuxChangePolicy", "SELinuxChangePolicy"}, {"seLinuxMount", "SELinuxMount"},
    {"seLinuxOptions", "SELinuxOptions"}, {"sslEnabled", "SSLEnabled"}, {"storageos", "StorageOS"},
    {"tcpSocket", "TCPSocket"}, {"tls", "TLS"}, {"ttlSecondsAfterFinished", "TTLSecondsAfterFinished"},
    {"tty", "TTY"}, {"uid", "UID"}, {"wwids", "WWIDs"},
};

// Sorted by definition.
constexpr GoStruct kStructs[] = {
    {"io.k8s.api.apps.v1.DaemonSetSpec",
     "selector template updateStrategy minReadySeconds TemplateGeneration=-:i revisionHistoryLimit"},
    {"io.k8s.api.apps.v1.DeploymentSpec",
     "replicas:i selector template strategy minReadySeconds revisionHistoryLimit paused RollbackTo=-:p "
     "progressDeadlineSeconds"},
    {"io.k8s.api.apps.v1.ReplicaSetSpec",
     "replicas:i minReadySeconds selector template"},
    {"io.k8s.api.apps.v1.RollingUpdateDaemonSet",
     "maxUnavailable:o maxSurge:o"},
    {"io.k8s.api.apps.v1.RollingUpdateDeployment",
     "maxUnavailable:o maxSurge:o"},
    {"io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy",
     "partition:i maxUnavailable"},
    {"io.k8s.api.apps.v1.StatefulSetSpec",
     "replicas:i selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy "
     "revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals"},
    {"io.k8s.api.apps.v1.StatefulSetStatus",
     "observedGeneration:p replicas readyReplicas currentReplicas updatedReplicas currentRevision "
     "updateRevision collisionCount conditions availableReplicas"},
    {"io.k8s.api.autoscaling.v2.ContainerResourceMetricSource",
     "name container target"},
    {"io.k8s.api.autoscaling.v2.ContainerResourceMetricStatus",
     "name container current"},
    {"io.k8s.api.batch.v1.JobSpec",
     "parallelism completions podFailurePolicy successPolicy activeDeadlineSeconds backoffLimit "
     "backoffLimitPerIndex maxFailedIndexes selector manualSelector template ttlSecondsAfterFinished "
     "completionMode suspend podReplacementPolicy managedBy"},
    {"io.k8s.api.batch.v1.JobStatus",
     "conditions startTime completionTime active terminating ready succeeded failed completedIndexes "
     "failedIndexes uncountedTerminatedPods"},
    {"io.k8s.api.core.v1.NodeSpec",
     "podCIDRs providerID unschedulable taints configSource externalID"},
    {"io.k8s.api.core.v1.PersistentVolumeSpec",
     "capacity gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd quobyte iscsi flexVolume "
     "cinder cephfs fc flocker azureFile vsphereVolume azureDisk photonPersistentDisk portworxVolume scaleIO "
     "local storageos csi accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions "
     "volumeMode nodeAffinity volumeAttributesClassName"},
    {"io.k8s.api.core.v1.PodSecurityContext",
     "HostNetwork=^hostNetwork:b HostPID=^hostPID:b HostIPC=^hostIPC:b "
     "ShareProcessNamespace=^shareProcessNamespace:p HostUsers=^hostUsers:p seLinuxOptions windowsOptions "
     "runAsUser runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup "
     "fsGroupChangePolicy sysctls seccompProfile appArmorProfile seLinuxChangePolicy"},
    {"io.k8s.api.core.v1.PodSpec",
     "volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds "
     "activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName automountServiceAccountToken nodeName "
     "securityContext imagePullSecrets hostname subdomain setHostnameAsFQDN affinity schedulerName tolerations "
     "hostAliases priorityClassName priority preemptionPolicy dnsConfig readinessGates runtimeClassName "
     "overhead enableServiceLinks topologySpreadConstraints os schedulingGates resourceClaims resources "
     "hostnameOverride schedulingGroup"},
    {"io.k8s.api.core.v1.PodStatus",
     "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs podIPs startTime "
     "qosClass initContainerStatuses containerStatuses ephemeralContainerStatuses resize resourceClaimStatuses "
     "extendedResourceClaimStatus allocatedResources resources nodeAllocatableResourceClaimStatuses"},
    {"io.k8s.api.core.v1.RBDPersistentVolumeSource",
     "CephMonitors=monitors RBDImage=image fsType pool RadosUser=user keyring secretRef readOnly"},
    {"io.k8s.api.core.v1.RBDVolumeSource",
     "CephMonitors=monitors RBDImage=image fsType pool RadosUser=user keyring secretRef readOnly"},
    {"io.k8s.api.core.v1.Secret",
     "metadata immutable data type"},
    {"io.k8s.api.core.v1.ServiceAccountTokenProjection",
     "audience expirationSeconds:i path"},
    {"io.k8s.api.core.v1.ServiceSpec",
     "type ports selector clusterIP clusterIPs ipFamilies ipFamilyPolicy externalName externalIPs "
     "loadBalancerIP sessionAffinity sessionAffinityConfig loadBalancerSourceRanges externalTrafficPolicy "
     "healthCheckNodePort publishNotReadyAddresses allocateLoadBalancerNodePorts loadBalancerClass "
     "internalTrafficPolicy trafficDistribution"},
    {"io.k8s.api.core.v1.Volume",
     "name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
     "persistentVolumeClaim rbd quobyte flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap "
     "vsphereVolume azureDisk photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral "
     "image"},
    {"io.k8s.api.storage.v1.CSIDriverSpec",
     "attachRequired fsGroupPolicy podInfoOnMount volumeLifecycleModes storageCapacity tokenRequests "
     "requiresRepublish seLinuxMount nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets "
     "preventPodSchedulingIfMissing"},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation", "description URL=url"},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
     "ID=id Schema=$schema Ref=$ref description type nullable format title default maximum exclusiveMaximum minimum exclusiveMinimum "
     "maxLength minLength pattern maxItems minItems uniqueItems multipleOf enum maxProperties minProperties required items allOf oneOf "
     "anyOf not properties additionalProperties patternProperties dependencies additionalItems definitions externalDocs example "
     "XPreserveUnknownFields=x-kubernetes-preserve-unknown-fields XEmbeddedResource=x-kubernetes-embedded-resource "
     "XIntOrString=x-kubernetes-int-or-string XListMapKeys=x-kubernetes-list-map-keys XListType=x-kubernetes-list-type "
     "XMapType=x-kubernetes-map-type XValidations=x-kubernetes-validations"},
};

}  // namespace

std::string GoName(std::string_view json_name) {
  auto known = std::ranges::lower_bound(kNames, json_name, {}, &Name::json);
  if (known != std::end(kNames) && known->json == json_name) return std::string(known->go);
  std::string name(json_name);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

const GoStruct* FindGoStruct(std::string_view definition) {
  auto known = std::ranges::lower_bound(kStructs, definition, {}, &GoStruct::definition);
  return known != std::end(kStructs) && known->definition == definition ? known : nullptr;
}

}  // namespace homeostat::kinds::internal
