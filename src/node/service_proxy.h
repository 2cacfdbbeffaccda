// ServiceProxy: keeps the rules of the kernel in step with services and their endpoints (network/service_proxy.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "homeostat/base/log.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "network/service_proxy.h"

namespace homeostat::node {

// Hands a script to nft. The error says what nft says.
Task<Result<void>> RunNft(Runtime& runtime, std::string script);

// What the proxy makes of objects: a port of a service for each that has an address of its own, with the ready endpoints of its
// slices; those that still serve while they end, if none is ready. Services that say another proxy serves them are left out.
// Source of the rules: kube-proxy (pkg/proxy).
std::vector<network::ServicePort> ServicePortsOf(const std::vector<object::DocumentPtr>& services, const std::vector<object::DocumentPtr>& slices);

// The clients that stay with endpoints, of what `nft -j list sets inet` printed, in the table of that name; none where it is no such
// list.
network::Sessions ReadSessions(std::string_view json, std::string_view table);

// Loop only. Rules stay when it is destroyed: what runs on the node goes on.
class ServiceProxy {
 public:
  // `client` acts as system:kube-proxy. Runtime and client must outlive it.
  ServiceProxy(Runtime& runtime, sdk::Client client, Logger log, network::ServiceProxyOptions options);
  ServiceProxy(const ServiceProxy&) = delete;

  // Completes when the rules have been written once, or could not be; from then on they are kept. What fails is tried again.
  Task<void> Start();

 private:
  Task<bool> Write();
  Task<network::Sessions> Sessions();
  static Task<void> Keep(ServiceProxy* proxy);

  Runtime& runtime_;
  Logger log_;
  const network::ServiceProxyOptions options_;
  sdk::Informer services_, slices_;
  Signal changed_;
  bool stale_ = true;
  std::string written_;   // without the clients that stayed with endpoints then
  TaskGroup group_;
};

}  // namespace homeostat::node
