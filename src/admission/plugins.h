// The admission plugins that are on by default, in upstream's order.
#pragma once

#include "admission/admission.h"
#include "auth/authorizer.h"
#include "homeostat/base/runtime.h"

namespace homeostat::admission {

struct PluginParts {
  Runtime& runtime;
  const kinds::ObjectReader& objects;
  auth::Authorizer& authorizer;
};

void AddDefaultPlugins(Chain& chain, const PluginParts& parts);

// One maker per plugin; each is described at its implementation.
std::unique_ptr<Plugin> MakeNamespaceLifecycle(const PluginParts& parts);
std::unique_ptr<Plugin> MakeServiceAccount(const PluginParts& parts);

}  // namespace homeostat::admission
