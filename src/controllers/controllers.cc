#include "controllers/controllers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "controllers/attributes_class_protection.h"
#include "controllers/certificates.h"
#include "controllers/disruption.h"
#include "controllers/endpoint_slice_mirroring.h"
#include "controllers/ephemeral_volumes.h"
#include "controllers/node_ttl.h"
#include "controllers/policy_status.h"
#include "controllers/resource_claim.h"
#include "controllers/root_ca_publisher.h"
#include "controllers/service_account.h"
#include "controllers/service_cidr.h"
#include "controllers/ttl_after_finished.h"
#include "controllers/volume_binder.h"
#include "controllers/volume_protection.h"

namespace homeostat::controllers {

namespace {

// Any of them, as far as all are the same.
struct Part {
  virtual ~Part() = default;
  virtual void Start() = 0;
  virtual bool idle() const = 0;
};

template <class C>
struct PartOf : Part {
  template <class... Arguments>
  explicit PartOf(Arguments&&... arguments) : controller(std::forward<Arguments>(arguments)...) {}
  void Start() override { controller.Start(); }
  bool idle() const override {
    // Those that only go their rounds are never busy.
    if constexpr (requires { controller.idle(); }) return controller.idle();
    return true;
  }
  C controller;
};

template <class Options>
Options WithCustom(Options options, sdk::CustomKinds& kinds) {
  options.custom_kinds = &kinds;
  return options;
}

}  // namespace

// The list of them: each with the service account it acts as, which has the bootstrap role system:controller:NAME.
struct Controllers::All {
  All(Runtime& runtime, sdk::InformerFactory& informers, const ControllersOptions& options) : runtime(runtime), informers(informers), options(options), custom_kinds(informers) {
    custom_kinds.FollowExtensions(runtime, options.client_for("namespace-controller"), informers);
    Add<DeploymentController>("deployment-controller", options.deployment);
    Add<ReplicaSetController>("replicaset-controller", options.replica_set);
    Add<ReplicationManager>("replication-controller", options.replica_set);
    Add<DaemonSetController>("daemon-set-controller", options.daemon_set);
    Add<StatefulSetController>("statefulset-controller", options.stateful_set);
    Add<JobController>("job-controller", options.job);
    Add<CronJobController>("cronjob-controller", options.cron_job);
    Add<TtlAfterFinishedController>("ttl-after-finished-controller");
    Add<DisruptionController>("disruption-controller");
    if (options.certificates.sign) {
      Add<CertificateSigner>("certificate-controller", options.certificates);
      Add<CertificateApprover>("certificate-controller", options.certificates);
      Add<CertificateCleaner>("certificate-controller", options.certificates);
    }
    Add<VolumeBinder>("persistent-volume-binder");
    Add<VolumeProtection>("pv-protection-controller");
    Add<ClaimProtection>("pvc-protection-controller");
    Add<AttributesClassProtection>("volumeattributesclass-protection-controller");
    Add<EphemeralVolumeController>("ephemeral-volume-controller");
    Add<ResourceClaimController>("resource-claim-controller");
    Add<HorizontalPodAutoscalerController>("horizontal-pod-autoscaler", options.autoscaler);
    Add<EndpointSliceMirroringController>("endpointslicemirroring-controller");
    Add<NodeTtlController>("ttl-controller");
    if (options.make_token && options.manager) {
      parts.push_back(std::make_unique<PartOf<ServiceAccountTokenController>>(runtime, *options.manager, informers, options.authority, options.make_token));
    }
    Add<NamespaceController>("namespace-controller", WithCustom(options.namespaces, custom_kinds));
    Add<ServiceAccountController>("service-account-controller");
    Add<RootCaPublisher>("root-ca-cert-publisher", options.authority);
    Add<EndpointSliceController>("endpointslice-controller", options.endpoint_slice);
    Add<EndpointsController>("endpoint-controller", options.endpoints);
    Add<NodeLifecycleController>("node-controller", options.node_lifecycle);
    Add<TaintEvictionController>("node-controller", options.taint_eviction);
    Add<PodGarbageCollector>("pod-garbage-collector", options.pod_gc);
    Add<ServiceCidrController>("service-cidrs-controller");
    Add<ClusterRoleAggregationController>("clusterrole-aggregation-controller", options.cluster_role_aggregation);
    Add<ResourceQuotaController>("resourcequota-controller", WithCustom(options.resource_quota, custom_kinds));
    Add<ValidatingAdmissionPolicyStatusController>("validatingadmissionpolicy-status-controller");
    // Last: where somebody needs whole objects already, it needs no copy of their metadata.
    Add<GarbageCollector>("generic-garbage-collector", WithCustom(options.garbage_collector, custom_kinds));
  }

  template <class C, class... Options>
  void Add(const char* account, const Options&... own) {
    parts.push_back(std::make_unique<PartOf<C>>(runtime, options.client_for(account), informers, own...));
  }

  Runtime& runtime;
  sdk::InformerFactory& informers;
  const ControllersOptions& options;   // while it is made
  sdk::CustomKinds custom_kinds;
  std::vector<std::unique_ptr<Part>> parts;
};

Controllers::Controllers(Runtime& runtime, sdk::InformerFactory& informers, ControllersOptions options)
    : all_(std::make_unique<All>(runtime, informers, options)) {}

Controllers::~Controllers() {
  while (!all_->parts.empty()) all_->parts.pop_back();
}

void Controllers::Start() {
  for (const std::unique_ptr<Part>& part : all_->parts) part->Start();
}

bool Controllers::idle() const {
  return std::ranges::all_of(all_->parts, [](const std::unique_ptr<Part>& part) { return part->idle(); });
}

}  // namespace homeostat::controllers
