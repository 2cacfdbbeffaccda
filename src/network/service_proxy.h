// The service proxy of one node: what is sent to a service's address goes to one of its endpoints.
//
// Pure: this is the text that `nft` reads. The kernel chooses an endpoint for each connection at random, or
// for a client, where its sessions stay with one. Traffic of a pod to a service that leads to a
// pod of the same node comes from the node, since the answer would otherwise not pass the node on its way back.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::network {

// One port of a service, in whatever families it has addresses.
struct ServicePort {
  std::string protocol;                // tcp, udp or sctp
  std::vector<std::string> addresses;  // the cluster's, external ones, those of load balancers
  uint16_t port = 0;
  uint16_t node_port = 0;              // 0: none
  std::vector<std::pair<std::string, uint16_t>> endpoints;  // address and port; none: connections are refused
  uint32_t session_seconds = 0;        // for so long after its last connection a client stays with an endpoint; 0: it does not
};

// Clients that stay with an endpoint, and for how long still. The kernel keeps them in a set for each endpoint; rules that take the
// place of others go on with those that are given here.
struct Session {
  std::string client;
  uint32_t seconds = 0;
};
using Sessions = std::map<std::string, std::vector<Session>, std::less<>>;  // by the set's name
inline constexpr std::string_view kSessionSetPrefix = "sticky-";

struct ServiceProxyOptions {
  std::string name = "homeostat";      // of the nft table, as PodNetworkOptions::name
  std::string bridge = "homeostat0";   // of the pods: another cluster's on this machine may have services of the same addresses
  std::vector<std::string> pod_cidrs;  // the node's
};

// The nft table's name, of the family inet.
std::string ServiceTableName(const std::string& name);
// A script for `nft -f -` that puts these rules in the place of those that are there. Addresses, ports and protocols that are
// none are left out; of two services with one address and port the first has it. An error for options that are wrong.
Result<std::string> ServiceProxyScript(const ServiceProxyOptions& options, std::span<const ServicePort> ports, const Sessions& sessions = {});
// One that takes all of them away.
std::string RemoveServiceProxyScript(const std::string& name);

}  // namespace homeostat::network
