// ClusterRoleAggregationController: fills the rules of ClusterRoles that are put together from others by label.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct ClusterRoleAggregationOptions {
  int workers = 5;
};

class ClusterRoleAggregationController {
 public:
  // All must outlive it. Loop only.
  ClusterRoleAggregationController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                   ClusterRoleAggregationOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);

  sdk::Client client_;
  sdk::Informer& roles_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
