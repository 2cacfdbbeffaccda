// Agent: the node agent of one machine. Brings up the container runtime and the pod network, registers the node, runs its
// pods. Containers go on running when the agent is destroyed or killed, and are found again by the next one. Loop only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/log.h"
#include "homeostat/sdk/client.h"
#include "network/pod_network.h"
#include "node/containerd.h"

namespace homeostat::node {

struct AgentOptions {
  std::string directory;                 // absolute: everything of the node is below it
  std::string node_name;                 // empty: the machine's host name
  std::string containerd_socket;         // an existing containerd, which must have a pod network; empty: our own
  std::string images_folder;             // image tars to import at the start; empty: none
  std::vector<std::string> node_addresses;  // empty: those of the interface with the default route
  std::map<std::string, std::string> labels;
  // Of our own containerd. Names left empty are made from the directory; without pod_cidrs a range is chosen that this
  // machine doesn't use. What the Node says later (spec.podCIDRs) wins.
  network::PodNetworkOptions network{.name = "", .bridge = "", .pod_cidrs = {}};
  // As system:kube-proxy: services' addresses then lead to their endpoints, where the node has its own containerd. None: nothing is done.
  std::optional<sdk::Client> proxy_client;
  std::vector<std::string> cluster_dns;  // servers of the cluster's DNS
  std::string cluster_domain = "cluster.local";
  std::string kubelet_version = "v1.36.3+homeostat.1";
  int64_t max_pods = 110;
  int32_t api_port = 0;                  // where the API of ApiHandler can be reached; 0: nowhere but in this process
};

// The machine's host name in lower case.
std::string DefaultNodeName();

// Whether this machine can be a node with these options; the error says in one line why not. Blocking.
Result<void> CanBeNode(const AgentOptions& options);

class Agent {
 public:
  // `client` acts as the node's user, system:node:NAME of system:nodes. Runtime and client must outlive the agent.
  Agent(Runtime& runtime, sdk::Client client, Logger log, AgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;

  // Completes when the node takes pods. Fails with one line if this machine can't be a node.
  Task<Result<void>> Start();

  // The node's own HTTP API: /containerLogs, /exec, /attach, /portForward, /pods, /healthz (see node_api.h). Asks nobody
  // whether the caller may: who serves it over a socket must.
  http::Handler& ApiHandler();

  // The node's name, also before Start.
  const std::string& node_name() const;
  // Ends the node agent's work; containers stay. Then `stop_runtime` ends our own containerd as well.
  Task<Result<void>> Stop(bool stop_runtime);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Takes away what the agent has left on the machine outside its directory: containers and their processes, the bridge,
// nft tables, cgroups, what is mounted. For the end of a cluster. The directory may be removed afterwards.
Task<Result<void>> RemoveNode(Runtime& runtime, AgentOptions options);

}  // namespace homeostat::node
