// NamespaceController: empties namespaces that are being deleted, then lets them go.
//
// Pods go first and alone, so that nothing that guards them (network policies, say) is gone before they are. What is left,
// and what holds it, is told in the namespace's conditions.
#pragma once

#include <map>
#include <unordered_map>

#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/custom_kinds.h"

namespace homeostat::controllers {

struct NamespaceOptions {
  // Kinds of CustomResourceDefinitions, whose objects go as well; may be null. Must outlive the controller.
  sdk::CustomKinds* custom_kinds = nullptr;
  int workers = 10;
  // What can be in a namespace, one version each. Empty: every built-in stored kind with list and delete.
  std::vector<const schema::Kind*> kinds;
};

class NamespaceController {
 public:
  // All must outlive it. Loop only.
  NamespaceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, NamespaceOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  // What is left in a namespace after everything was told to go.
  struct Remaining {
    std::map<std::string, size_t> kinds;        // by resource, "pods."
    std::map<std::string, size_t> finalizers;
    std::vector<std::string> faults;
    std::vector<std::string> undiscovered;      // versions of which it can't be told whether anything is left
    int64_t grace_seconds = 0;                  // the longest that a pod may still take
    bool empty() const { return kinds.empty() && faults.empty() && undiscovered.empty(); }
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  Task<Result<void>> DeleteContent(std::string name, Remaining& remaining);
  Task<void> DeleteCustom(std::string name, Remaining& remaining);
  Task<Result<void>> DeleteKind(const schema::Kind& kind, std::string name, Remaining& remaining);
  Task<Result<void>> DeleteEach(const schema::Kind& kind, std::string name);
  Task<Result<void>> WriteConditions(object::DocumentPtr document, Remaining remaining);
  Task<Result<void>> Finalize(object::DocumentPtr document);

  Runtime& runtime_;
  sdk::Client client_;
  NamespaceOptions options_;
  sdk::Informer& namespaces_;
  std::unordered_map<std::string, int> looks_;   // how often a namespace was found not empty
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
