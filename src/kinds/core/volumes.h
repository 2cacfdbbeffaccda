// Checks of volumes: of pods, and the sources that persistent volumes have in common with them.
#pragma once

#include <map>
#include <string_view>

#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

// Volumes without fault, by name.
using Volumes = std::map<std::string_view, Value>;

// pod_name: "" where it isn't known yet (templates, generated names); claims of ephemeral volumes are named after it.
Volumes CheckVolumes(const Value& volumes, std::string_view pod_name, const FieldPath& path, const PodRules& rules, FieldErrors& errors);

// The source of a persistent volume: exactly one.
struct PersistentSourceContext {
  std::string_view volume_name;
  bool has_node_affinity = false;
};
void CheckPersistentSource(const Value& spec, const PersistentSourceContext& context, const FieldPath& path, FieldErrors& errors);
// The names of the fields that are sources of persistent volumes.
std::span<const std::string_view> PersistentSourceFields();

void CheckProjectedSource(const Value& projected, const FieldPath& path, const PodRules& rules, FieldErrors& errors);
void CheckDownwardFile(const Value& file, const FieldPath& path, FieldErrors& errors);
void CheckKeyToPath(const Value& item, const FieldPath& path, FieldErrors& errors);

// A claim for storage, and the template of one in a pod.
struct ClaimRules {
  bool allow_invalid_selector_values = false;
  bool allow_invalid_data_source_group = false;
};
void CheckClaimSpec(const Value& spec, const FieldPath& path, FieldErrors& errors, ClaimRules rules = {});
void CheckClaimTemplate(const Value& claim_template, const FieldPath& path, FieldErrors& errors);
void CheckAccessModes(const Value& modes, const FieldPath& path, FieldErrors& errors);

// The name of a CSI driver.
void CheckCsiDriverName(std::string_view driver, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
