// The spec of persistent volumes, which attachments may carry inline.
#pragma once

#include "kinds/checks.h"

namespace homeostat::kinds {

struct PersistentVolumeRules {
  bool inline_in_attachment = false;
  bool allow_invalid_node_affinity_values = false;
};
void CheckPersistentVolumeSpec(const Value& spec, std::string_view volume_name, const PersistentVolumeRules& rules, const FieldPath& path,
                               FieldErrors& errors);

}  // namespace homeostat::kinds
