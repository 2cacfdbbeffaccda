#include "controllers/controllers.h"

#include "controllers/root_ca_publisher.h"
#include "controllers/service_account.h"

namespace homeostat::controllers {

struct Controllers::All {
  All(Runtime& runtime, sdk::InformerFactory& informers, const ControllersOptions& options)
      : deployment(runtime, options.client_for("deployment-controller"), informers, options.deployment),
        replica_set(runtime, options.client_for("replicaset-controller"), informers, options.replica_set),
        namespaces(runtime, options.client_for("namespace-controller"), informers, options.namespaces),
        service_account(runtime, options.client_for("service-account-controller"), informers),
        root_ca(runtime, options.client_for("root-ca-cert-publisher"), informers, options.authority),
        endpoint_slice(runtime, options.client_for("endpointslice-controller"), informers, options.endpoint_slice),
        endpoints(runtime, options.client_for("endpoint-controller"), informers, options.endpoints),
        node_lifecycle(runtime, options.client_for("node-controller"), informers, options.node_lifecycle),
        taint_eviction(runtime, options.client_for("node-controller"), informers, options.taint_eviction),
        pod_gc(runtime, options.client_for("pod-garbage-collector"), informers, options.pod_gc),
        cluster_roles(runtime, options.client_for("clusterrole-aggregation-controller"), informers, options.cluster_role_aggregation),
        resource_quota(runtime, options.client_for("resourcequota-controller"), informers, options.resource_quota),
        garbage_collector(runtime, options.client_for("generic-garbage-collector"), informers, options.garbage_collector) {}

  DeploymentController deployment;
  ReplicaSetController replica_set;
  NamespaceController namespaces;
  ServiceAccountController service_account;
  RootCaPublisher root_ca;
  EndpointSliceController endpoint_slice;
  EndpointsController endpoints;
  NodeLifecycleController node_lifecycle;
  TaintEvictionController taint_eviction;
  PodGarbageCollector pod_gc;
  ClusterRoleAggregationController cluster_roles;
  ResourceQuotaController resource_quota;
  // Last: where somebody needs whole objects already, it needs no copy of their metadata.
  GarbageCollector garbage_collector;
};

Controllers::Controllers(Runtime& runtime, sdk::InformerFactory& informers, ControllersOptions options)
    : all_(std::make_unique<All>(runtime, informers, options)) {}
Controllers::~Controllers() = default;

void Controllers::Start() {
  all_->deployment.Start();
  all_->replica_set.Start();
  all_->namespaces.Start();
  all_->service_account.Start();
  all_->root_ca.Start();
  all_->endpoint_slice.Start();
  all_->endpoints.Start();
  all_->node_lifecycle.Start();
  all_->taint_eviction.Start();
  all_->pod_gc.Start();
  all_->cluster_roles.Start();
  all_->resource_quota.Start();
  all_->garbage_collector.Start();
}

bool Controllers::idle() const {
  return all_->deployment.idle() && all_->replica_set.idle() && all_->namespaces.idle() && all_->service_account.idle() &&
         all_->root_ca.idle() && all_->endpoint_slice.idle() && all_->endpoints.idle() && all_->node_lifecycle.idle() &&
         all_->taint_eviction.idle() && all_->cluster_roles.idle() && all_->resource_quota.idle() && all_->garbage_collector.idle();
}

}  // namespace homeostat::controllers
