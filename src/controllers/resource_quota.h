// ResourceQuotaController: keeps the status of every ResourceQuota true to what is in its namespace. What is created is charged by the
// server as it is written; this counts anew when a quota's limits change, when objects go or cease to count, and from time to time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/custom_kinds.h"
#include "quota/evaluator.h"

namespace homeostat::controllers {

struct ResourceQuotaOptions {
  int workers = 5;
  Duration resync = std::chrono::minutes(5);
  // What was charged for so lately may not be stored yet: until then no less is written than is there.
  Duration settle = std::chrono::milliseconds(500);
  // What can be counted, one version each. Empty: every built-in, stored, namespaced kind but events.
  std::vector<const schema::Kind*> kinds;
  // Kinds of CustomResourceDefinitions: counted where a quota names them; may be null. Must outlive the controller.
  sdk::CustomKinds* custom_kinds = nullptr;
};

class ResourceQuotaController {
 public:
  // All must outlive it. Loop only.
  ResourceQuotaController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ResourceQuotaOptions options = {});
  ~ResourceQuotaController();
  void Start();
  bool idle() const { return controller_.idle(); }

 private:
  class Around;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<void> Resync();
  void CustomKindChanged(const schema::Kind& kind, bool served);
  // Begins to watch the custom kinds that a quota counts; they count from when all of their objects are known.
  void FollowCounted(const quota::Amounts& hard);
  Task<void> CountOnceKnown(quota::GroupResource resource, sdk::Informer& informer);
  void EnqueueQuotasOf(const quota::GroupResource& resource);
  void QuotaChanged(const sdk::Change& change);
  void ObjectChanged(const quota::GroupResource& resource, const sdk::Change& change);
  quota::Amounts Count(const object::Value& quota, const quota::Amounts& hard) const;

  Runtime& runtime_;
  sdk::Client client_;
  ResourceQuotaOptions options_;
  sdk::Informer& quotas_;
  std::map<quota::GroupResource, sdk::Informer*> counted_;
  struct Custom {
    const schema::Kind* kind = nullptr;
    std::unique_ptr<sdk::Informer> informer;  // once a quota has asked for it
    std::unique_ptr<TaskGroup> waiting;
  };
  std::map<quota::GroupResource, Custom> custom_;
  std::unique_ptr<Around> around_;
  std::map<std::string, MonotonicTime> charged_;  // when a quota's use was last seen to rise
  sdk::Controller controller_;
  TaskGroup group_;
};

}  // namespace homeostat::controllers
