// Managed fields across the scale subresource: a Scale shows those entries of its parent that own the replicas, and
// what a write of the Scale makes of them goes back to the parent.
//
// Source of the rules: apimachinery util/managedfields, ScaleHandler.
#pragma once

#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"
#include "patch/managed_fields.h"

namespace homeostat::patch {

// Where the replicas stand in a version of the parent; the path is empty if that version has no scale.
struct ReplicasPath {
  std::string_view api_version;
  Path path;
};

// The managedFields of the Scale, from those of the parent. Absent if there are none. entry_type, if not null, is
// ManagedFieldsEntry's: members then carry its field indexes. `form` is how the entries' fields are held.
Result<Value> ScaleManagedFields(Arena& arena, const Value& parent, const std::vector<ReplicasPath>& paths,
                                 const schema::Type* entry_type, FieldsForm form);

// The managedFields of the parent, in the version written in, after the Scale was written with those. Entries in
// versions that paths do not name are dropped.
Result<Value> ParentManagedFields(Arena& arena, const Value& parent, const Value& scale,
                                  const std::vector<ReplicasPath>& paths, std::string_view api_version,
                                  const schema::Type* entry_type, FieldsForm form);

}  // namespace homeostat::patch
