// AttributesClassProtection: a finalizer that keeps a VolumeAttributesClass while a volume or a claim names it.
#pragma once

#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

class AttributesClassProtection {
 public:
  // All must outlive it. Loop only.
  AttributesClassProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers);
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string name);
  bool IsUsed(std::string_view name) const;

  sdk::Client client_;
  sdk::Informer& classes_;
  sdk::Informer& claims_;
  sdk::Informer& volumes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
