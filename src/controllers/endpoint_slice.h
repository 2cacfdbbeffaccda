// EndpointSliceController: the pods behind each Service, as EndpointSlices, and as Endpoints for older readers.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class EndpointSliceController {
 public:
  EndpointSliceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> RemoveSlices(std::string ns, std::string service, size_t keep);
  Task<Result<void>> WriteEndpoints(object::DocumentPtr service, std::vector<object::DocumentPtr> pods);
  std::vector<std::string> ServicesOf(const sdk::Change& change) const;

  sdk::Client client_;
  sdk::Informer& services_;
  sdk::Informer& pods_;
  sdk::Informer& slices_;
  sdk::Informer& endpoints_;
  sdk::Informer& nodes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
