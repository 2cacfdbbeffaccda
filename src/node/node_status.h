// The Node object: what the node agent says of its machine. The builders are pure; DetectMachine looks at the machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/cri.h"
#include "node/pod_spec.h"

namespace homeostat::node {

struct MachineFacts {
  int64_t cpus = 1;
  int64_t memory_bytes = 0, swap_bytes = 0;
  int64_t disk_bytes = 0;                // of the file system that holds pods
  std::string hostname, machine_id, system_uuid, boot_id, kernel_version, os_image, architecture;
  std::vector<std::string> addresses;    // of the interface with the default route; IPv4 first
};
// Blocking. `folder` must be there.
MachineFacts DetectMachine(const std::string& folder);

// The first of 10.244.0.0/24, 10.244.1.0/24 … that no interface but `own_bridge` has an address of. Blocking.
std::string FreePodRange(const std::string& own_bridge);

struct NodeDescription {
  std::string name;
  MachineFacts machine;
  std::map<std::string, std::string> labels;     // beyond the usual ones
  std::vector<std::string> pod_cidrs;            // asked for at registration; empty: someone else gives them
  std::string kubelet_version, runtime_version;  // v1.36.3+homeostat.1, containerd://1.6.20
  int32_t api_port = 0;                          // of the node's own HTTP API; 0: it has none
  int64_t max_pods = 110;
  std::vector<std::string> addresses;            // instead of the machine's
};

// What changes from one report to the next.
struct NodeCondition {
  bool ready = true;
  std::string message;                           // why not
};

// Amounts of the node: cpu in thousandths, the others in units.
std::map<std::string, int64_t> NodeCapacity(const NodeDescription& description);
std::map<std::string, int64_t> NodeAllocatable(const NodeDescription& description);

// The object to register.
object::DocumentPtr MakeNode(const NodeDescription& description, const NodeCondition& condition, WallTime now);
// The object with what this node agent owns in it brought up to date; what is others' stays.
object::DocumentPtr UpdateNode(object::DocumentPtr node, const NodeDescription& description, const NodeCondition& condition,
                               const std::vector<cri::Image>& images, WallTime now);
// Whether there is more to tell than a new heartbeat.
bool NodeChanged(core::Node before, core::Node after);

// The condition that the runtime's own conditions amount to; "" where all is well.
std::string RuntimeTrouble(const std::vector<cri::RuntimeCondition>& conditions);

}  // namespace homeostat::node
