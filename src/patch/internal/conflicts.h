// Conflicts: fields that an apply would change while others own them.
#pragma once

#include <vector>

#include "homeostat/base/status.h"
#include "patch/field_set.h"
#include "patch/managed_fields.h"

namespace homeostat::patch::internal {

struct Conflict {
  ManagedEntry owner;
  Path path;
};

// In order of the owners, and of the paths of each.
std::vector<Conflict> ConflictsWith(const ManagedEntry& owner, const FieldSet& fields);

// 409 with a cause for each. There must be some.
Status ConflictStatus(const std::vector<Conflict>& conflicts);

// Why an apply was refused.
struct Refusal {
  Status status;
  std::vector<Conflict> conflicts;  // if that is why; the status is then theirs
};

}  // namespace homeostat::patch::internal
