// The generated tables behind homeostat/api/registry.h.
#pragma once

#include <span>

#include "homeostat/schema/kind.h"
#include "homeostat/schema/type.h"

namespace homeostat::api::tables {

struct TypeOfKind {
  schema::GroupVersionKind gvk;
  const schema::Type* type;
};

extern const std::span<const schema::Kind* const> kAllKinds;
extern const std::span<const schema::Type* const> kAllTypes;       // sorted by name
extern const std::span<const TypeOfKind> kAllTypesOfKinds;         // sorted by group, version, kind

}  // namespace homeostat::api::tables
