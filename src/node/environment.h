// The environment of a container: variables from its specification, from ConfigMaps, Secrets and fields, and of the
// services of its namespace. Pure.
//
// Source of the rules: the API's documentation of Container.env, envFrom and enableServiceLinks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/pod_facts.h"

namespace homeostat::node {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Replaces $(NAME) by what `lookup` gives; a name it doesn't know (nullptr) stays as it is written, and $$ is a $.
std::string Expand(std::string_view text, const std::function<const std::string*(std::string_view)>& lookup);
std::string Expand(std::string_view text, const Environment& variables);

// Variables by which a container finds services: NAME_SERVICE_HOST and the rest. `services`: those of the pod's
// namespace, and kubernetes in default.
Environment ServiceVariables(const std::vector<core::Service>& services);

// The whole environment; the error says which reference is missing.
Result<Environment> MakeEnvironment(core::Pod pod, core::Container container, const PodReferences& references,
                                    const PodSurroundings& around, const std::vector<core::Service>& services);

// Whether a service's variables go into a pod: those of its namespace if it wants them, the API server's always.
bool ServiceIsVisible(core::Service service, core::Pod pod);

}  // namespace homeostat::node
