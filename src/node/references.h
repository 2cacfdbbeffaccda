// References: the ConfigMaps and Secrets that this node's pods refer to, each watched by its name for as long as a pod
// here needs it (a node may see no others). Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "homeostat/sdk/informer.h"
#include "node/pod_facts.h"

namespace homeostat::node {

class References {
 public:
  // `changed` is told the uid of each pod that refers to an object that changed.
  References(Runtime& runtime, sdk::Client client, std::function<void(const std::string& uid)> changed);
  ~References();
  References(const References&) = delete;

  // Begins to watch what the pod refers to; Release ends it. A repeated Acquire follows changes of the pod.
  void Acquire(const std::string& uid, core::Pod pod);
  void Release(const std::string& uid);

  // What the objects are now. Waits, a few seconds at most, until each has been read once.
  Task<Result<PodReferences>> Get(object::DocumentPtr pod);

 private:
  struct Watched;
  using Key = std::pair<std::string, std::string>;   // namespace, name
  using Watches = std::map<Key, std::shared_ptr<Watched>>;

  void AcquireKind(Watches& watches, const schema::Kind& kind, const std::string& uid, const std::string& ns,
                   const std::vector<std::string>& names);
  static void ReleaseKind(Watches& watches, const std::string& uid);
  Task<Result<object::DocumentPtr>> Find(const Watches& watches, Key key);

  Runtime& runtime_;
  sdk::Client client_;
  std::function<void(const std::string&)> changed_;
  Watches config_maps_, secrets_;
};

}  // namespace homeostat::node
