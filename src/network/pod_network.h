// The network of one node's pods: a bridge, an address range, and a way out.
//
// Pure: these are the texts that CNI plugins and nft read. All pods of a node hang on one bridge; addresses are given
// by the host-local plugin out of the node's range; traffic that leaves the cluster's ranges gets the node's address.
//
// Source: the CNI specification 0.4.0 and the reference plugins' documentation (bridge, host-local, portmap).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::network {

struct PodNetworkOptions {
  std::string name = "homeostat";          // of the CNI network and of the nft tables
  std::string bridge = "homeostat0";       // at most 15 characters, as the kernel wants
  std::vector<std::string> pod_cidrs = {"10.244.0.0/24"};  // this node's; one a family
  std::vector<std::string> cluster_cidrs;  // traffic to these keeps the pod's address; empty: pod_cidrs
  std::string address_directory;           // where host-local writes who has which address
  int mtu = 0;                             // 0: the kernel's default
  bool masquerade_by_plugin = false;       // by the bridge plugin with iptables, where nft is not to be had
  bool portmap = true;                     // host ports
};

// A range such as 10.244.0.0/24 or fd00:10:244::/64, checked. The error says what is wrong.
Result<void> CheckCidr(std::string_view cidr);

// The configuration list, as JSON for a file NAME.conflist.
Result<std::string> CniConfiguration(const PodNetworkOptions& options);

// A script for `nft -f -` that makes, or makes anew, the table with the masquerading rules; and one that removes it.
Result<std::string> MasqueradeScript(const PodNetworkOptions& options);
std::string RemoveMasqueradeScript(const PodNetworkOptions& options);

// Names go into JSON, file names and nft scripts: letters, digits, dash and underscore only.
bool IsPlainName(std::string_view name);
// Takes a table of nft away, whether or not it is there.
std::string RemoveTableScript(const std::string& table);

}  // namespace homeostat::network
