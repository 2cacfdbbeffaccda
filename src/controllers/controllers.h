// Controllers: all of them together, each writing as its own user, reading through shared informers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controllers/certificate_rules.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/cron_job.h"
#include "controllers/daemon_set.h"
#include "controllers/deployment.h"
#include "controllers/endpoint_slice.h"
#include "controllers/endpoints.h"
#include "controllers/garbage_collector.h"
#include "controllers/horizontal_pod_autoscaler.h"
#include "controllers/job.h"
#include "controllers/namespace.h"
#include "controllers/node_lifecycle.h"
#include "controllers/pod_gc.h"
#include "controllers/replica_set.h"
#include "controllers/resource_quota.h"
#include "controllers/service_account_token.h"
#include "controllers/stateful_set.h"
#include "controllers/taint_eviction.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct ControllersOptions {
  // A client that acts as the service account kube-system/NAME, with upstream's names: "deployment-controller", and so on.
  std::function<sdk::Client(std::string name)> client_for;
  std::string authority;          // PEM, for kube-root-ca.crt
  // Signing by that authority; without it, requests for certificates wait for somebody else.
  CertificateAuthority certificates;
  // Without it, secrets of service accounts stay empty.
  MakeLegacyToken make_token;
  // A client that acts as system:kube-controller-manager, for what no controller has a role of its own.
  std::optional<sdk::Client> manager;

  DeploymentOptions deployment;
  ReplicaSetOptions replica_set;
  DaemonSetOptions daemon_set;
  StatefulSetOptions stateful_set;
  JobOptions job;
  CronJobOptions cron_job;
  AutoscalerOptions autoscaler;
  GarbageCollectorOptions garbage_collector;
  NamespaceOptions namespaces;
  EndpointSliceOptions endpoint_slice;
  EndpointsOptions endpoints;
  NodeLifecycleOptions node_lifecycle;
  TaintEvictionOptions taint_eviction;
  PodGcOptions pod_gc;
  ClusterRoleAggregationOptions cluster_role_aggregation;
  ResourceQuotaOptions resource_quota;
};

class Controllers {
 public:
  // The informers, and what the clients reach, must outlive it. Loop only.
  Controllers(Runtime& runtime, sdk::InformerFactory& informers, ControllersOptions options);
  ~Controllers();
  // Starts them; the informers are started by whoever owns them.
  void Start();
  // Nothing that any of them has seen is still to be dealt with.
  bool idle() const;

 private:
  struct All;
  std::unique_ptr<All> all_;
};

}  // namespace homeostat::controllers
