// TaintEvictionController: deletes pods from nodes whose NoExecute taints they don't tolerate, or no longer.
#pragma once

#include <unordered_map>

#include "homeostat/api/core/v1.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct TaintEvictionOptions {
  int workers = 8;
};

class TaintEvictionController {
 public:
  // All must outlive it. Loop only.
  TaintEvictionController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, TaintEvictionOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using PodObject = sdk::Object<api::core::v1::Pod>;
  // A pod whose time runs: since when.
  struct Waiting {
    std::string uid;
    MonotonicTime since;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> Evict(PodObject pod);
  void Cancel(const std::string& key, const PodObject& pod);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& nodes_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  std::unordered_map<std::string, Waiting> waiting_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
