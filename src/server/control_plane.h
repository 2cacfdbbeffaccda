// ControlPlane: the API server with everything it stands on, put together: store, cache, who may do what, admission, and
// the objects that every cluster has. In memory and without sockets for tests, on disk behind TLS for `homeostat up`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/plugins.h"
#include "auth/rbac.h"
#include "auth/service_account_tokens.h"
#include "auth/static_tokens.h"
#include "cache/cache.h"
#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "server/aggregation/extension_server.h"
#include "server/api_server.h"
#include "server/audit/recorder.h"
#include "server/health.h"
#include "store/engine.h"

namespace homeostat::server {

struct ControlPlaneOptions {
  std::unique_ptr<store::Engine> engine;       // required
  cache::Options cache;
  ApiServerOptions server;
  auth::TokenOptions tokens;
  auth::StaticTokens static_tokens;            // bearer tokens known beside those of service accounts
  // Who decides, one after the other: Node, RBAC, AlwaysAllow. system:masters may do everything before any of them is asked. Checked by Start.
  // With AlwaysAllow nobody is anonymous, as upstream has it.
  std::vector<std::string> authorization_modes = {"Node", "RBAC"};
  admission::PluginChoice admission_plugins;   // beside those that are on by default; checked by Start
  Logger log;
  // Superseded revisions are kept for one to two such periods: for pages of a list and for watches that begin anew. 0: for ever.
  Duration compaction_period = std::chrono::minutes(5);
  std::string service_cidr = "10.96.0.0/16";
  std::string advertise_address = "127.0.0.1"; // of the Service `kubernetes`
  uint16_t advertise_port = 6443;
  VersionInfo version;
  // PEM; empty: a key is made off the loop after the start, and handed to save_key.
  std::string service_account_key;
  // PEM with the public keys that tokens are checked with; empty: that of the key above.
  std::string service_account_public_keys;
  std::function<void(const std::string& pem)> save_key;
  // The authority that clients check the server with, for ConfigMap kube-root-ca.crt and extension-apiserver-authentication.
  std::string authority_certificate;
  // Who this server is to extension servers, and by which authority and names they know it (see AggregatorOptions).
  ProxyIdentity proxy_identity;
  std::string proxy_authority;
  std::vector<std::string> proxy_names;
  audit::AuditOptions audit;                   // checked by Start
};

// Loop only. Destroying it drops what is under way; Stop first for a clean end.
class ControlPlane {
 public:
  ControlPlane(Runtime& runtime, ControlPlaneOptions options);
  ~ControlPlane();

  // Opens the store, loads the cache, makes the objects every cluster has. Ready to serve when it completes.
  Task<Result<void>> Start();
  Task<void> Stop();

  ApiServer& server();
  cache::Cache& cache();
  const kinds::ObjectReader& objects() const;
  auth::ServiceAccountTokens& tokens();
  // A transport for a component of this process, as upstream names its users, e.g. "system:kube-scheduler".
  std::shared_ptr<http::Handler> TransportFor(std::string user, std::vector<std::string> groups = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace homeostat::server
