#include "controllers/controllers.h"

#include "controllers/deployment.h"
#include "controllers/endpoint_slice.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace.h"
#include "controllers/node_lifecycle.h"
#include "controllers/pod_gc.h"
#include "controllers/replica_set.h"
#include "controllers/root_ca_publisher.h"
#include "controllers/service_account.h"

namespace homeostat::controllers {

struct Controllers::All {
  All(Runtime& runtime, sdk::InformerFactory& informers, const ControllersOptions& options)
      : deployment(runtime, options.client_for("deployment-controller"), informers),
        replica_set(runtime, options.client_for("replicaset-controller"), informers),
        garbage_collector(runtime, options.client_for("generic-garbage-collector"), informers),
        namespaces(runtime, options.client_for("namespace-controller"), informers),
        service_account(runtime, options.client_for("service-account-controller"), informers),
        root_ca(runtime, options.client_for("root-ca-cert-publisher"), informers, options.authority),
        endpoint_slice(runtime, options.client_for("endpointslice-controller"), informers),
        node_lifecycle(runtime, options.client_for("node-controller"), informers),
        pod_gc(runtime, options.client_for("pod-garbage-collector"), informers) {}

  DeploymentController deployment;
  ReplicaSetController replica_set;
  GarbageCollector garbage_collector;
  NamespaceController namespaces;
  ServiceAccountController service_account;
  RootCaPublisher root_ca;
  EndpointSliceController endpoint_slice;
  NodeLifecycleController node_lifecycle;
  PodGarbageCollector pod_gc;
};

Controllers::Controllers(Runtime& runtime, sdk::InformerFactory& informers, ControllersOptions options)
    : all_(std::make_unique<All>(runtime, informers, options)) {}
Controllers::~Controllers() = default;

void Controllers::Start() {
  all_->deployment.Start();
  all_->replica_set.Start();
  all_->garbage_collector.Start();
  all_->namespaces.Start();
  all_->service_account.Start();
  all_->root_ca.Start();
  all_->endpoint_slice.Start();
  all_->node_lifecycle.Start();
  all_->pod_gc.Start();
}

}  // namespace homeostat::controllers
