// ServedResources: what admission's policies and webhooks ask of the kinds that are served, answered from the index of resources.
#pragma once

#include "admission/user/served_kinds.h"
#include "homeostat/schema/defaults.h"
#include "server/resources.h"

namespace homeostat::callout {
class Caller;
}

namespace homeostat::server {

// Everything must outlive it. Loop only.
class ServedResources final : public admission::ServedKinds {
 public:
  // defaults: of built-in kinds. caller: of the webhooks of definitions.
  ServedResources(const Resources& resources, const schema::Defaults& defaults, callout::Caller& caller)
      : resources_(resources), defaults_(defaults), caller_(caller) {}
  std::vector<const schema::Kind*> SharingStore(object::Arena& arena, const schema::Kind& kind) const override;
  Result<object::Value> Convert(object::Arena& arena, const object::Value& object, const schema::Kind& from,
                                const schema::Kind& to) const override;
  bool IsConvertedElsewhere(const schema::Kind& from, const schema::Kind& to) const override;
  Task<Result<object::Value>> ConvertElsewhere(object::Arena& arena, object::Value object, const schema::Kind& from,
                                               const schema::Kind& to) const override;
  Result<object::Value> Default(object::Arena& arena, const object::Value& object, const schema::Kind& kind) const override;

 private:
  const Resource* Find(const schema::Kind& kind) const { return resources_.Find(kind.gvk.group, kind.gvk.version, kind.plural); }

  const Resources& resources_;
  const schema::Defaults& defaults_;
  callout::Caller& caller_;
};

}  // namespace homeostat::server
