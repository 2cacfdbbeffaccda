// NodeLifecycleController: notices nodes that no longer report, says so in their conditions and taints, and removes the
// pods that don't tolerate it, so that others take their place.
#pragma once

#include <unordered_map>

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct NodeLifecycleOptions {
  Duration monitor_period = std::chrono::seconds(5);
  Duration grace_period = std::chrono::seconds(50);   // without a sign of life a node's state is unknown
};

class NodeLifecycleController {
 public:
  NodeLifecycleController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, NodeLifecycleOptions options = {});
  void Start();

 private:
  // What was last seen of a node, and when by our own clock: theirs may be wrong.
  struct Seen {
    std::string renewed, heartbeat;
    MonotonicTime at;
  };

  Task<void> Run();
  Task<void> Look(object::DocumentPtr node);
  Task<void> EvictPods(std::string node);
  bool IsAlive(const object::Value& node);

  Runtime& runtime_;
  sdk::Client client_;
  NodeLifecycleOptions options_;
  sdk::Informer& nodes_;
  sdk::Informer& leases_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_map<std::string, MonotonicTime> tainted_since_;
  TaskGroup group_;
};

}  // namespace homeostat::controllers
