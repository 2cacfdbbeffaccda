// NamespaceController: empties a namespace that is being deleted, tells in its conditions what is left, and lets it go.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class NamespaceController {
 public:
  NamespaceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }

 private:
  // What is left of the content after one round.
  struct Remaining {
    std::vector<std::pair<std::string, size_t>> kinds;        // pods., 3
    std::vector<std::pair<std::string, size_t>> finalizers;   // example.com/x, 1
    std::string fault;
    Duration wait{0};
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  Task<Remaining> DeleteContent(std::string name);
  Task<Result<void>> WriteConditions(object::DocumentPtr ns, Remaining remaining);
  Task<Result<void>> Finalize(object::DocumentPtr ns);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& namespaces_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
