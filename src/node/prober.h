// Prober: runs the probes of this node's containers and keeps what they found. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "node/pod_worker.h"
#include "node/probe_state.h"

namespace homeostat::node {

// Records an event about a pod.
using EventSink = std::function<void(const object::DocumentPtr& pod, const PodEvent& event)>;

class Prober {
 public:
  // `changed`: told the uid of a pod for which something has been settled.
  Prober(Runtime& runtime, cri::Cri& cri, EventSink events, std::function<void(const std::string& uid)> changed);
  ~Prober();
  Prober(const Prober&) = delete;

  // Begins probes of containers that run and ends those of containers that don't. `old`: the status as it was, from which
  // containers are known that this node agent found running.
  void Sync(object::DocumentPtr pod, const RuntimePod& runtime, core::PodStatus old);
  void Forget(const std::string& uid);
  const ProbeBook& Book(const std::string& uid) const;

 private:
  struct Pod;
  struct Probing;
  void Begin(Pod& state, const object::DocumentPtr& pod, const RuntimeContainer& container, core::ContainerStatus old);
  Task<void> Run(std::shared_ptr<Pod> state, std::shared_ptr<Probing> probing);
  Task<bool> LookOnce(std::shared_ptr<Pod> state, std::shared_ptr<Probing> probing);

  Runtime& runtime_;
  cri::Cri& cri_;
  EventSink events_;
  std::function<void(const std::string&)> changed_;
  std::map<std::string, std::shared_ptr<Pod>> pods_;
};

}  // namespace homeostat::node
