// Checks of containers of every sort.
#pragma once

#include <span>
#include <string_view>

#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"
#include "kinds/core/volumes.h"

namespace homeostat::kinds {

// What the checks of a container look at beside the container.
struct ContainerContext {
  Value pod_spec;
  const Volumes& volumes;
  std::span<const std::string_view> claims;  // names of the pod's resourceClaims
  const PodRules& rules;
  bool host_users = true;
};

// spec_path: of the pod's spec.
void CheckContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors);
void CheckInitContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors);
void CheckEphemeralContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors);

// Of every container, in the order init, ordinary, ephemeral.
template <class Visit>
void ForEachContainer(const Value& pod_spec, const FieldPath& spec_path, Visit visit) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    Value containers = pod_spec.Get(list);
    for (size_t i = 0; i < containers.size(); ++i) visit(containers.At(i), spec_path.Child(list).Index(i));
  }
}

// An image's name must not be padded with spaces: in pods, not in templates of them.
void CheckImagePadding(const Value& container, const FieldPath& path, FieldErrors& errors);

inline bool IsSidecar(const Value& container) { return container.Get("restartPolicy").AsString() == "Always"; }

// Probes and hooks.
void CheckLifecycle(const Value& lifecycle, const Value& pod_spec, const FieldPath& path, FieldErrors& errors);
void CheckProbes(const Value& container, const Value& pod_spec, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
