#include "admission/plugins.h"

namespace homeostat::admission {

void AddDefaultPlugins(Chain& chain, const PluginParts& parts) {
  chain.Add(MakeNamespaceLifecycle(parts));
  chain.Add(MakeServiceAccount(parts));
}

}  // namespace homeostat::admission
