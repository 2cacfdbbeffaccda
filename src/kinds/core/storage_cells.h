// What tables say of volumes and claims.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::kinds {

// RWO,ROX: each once, in a fixed order.
std::string AccessModesText(const object::Value& modes);
// The class by annotation, as it once was given, or by field.
std::string_view StorageClassOf(const object::Value& object);

inline constexpr std::string_view kStorageClassAnnotation = "volume.beta.kubernetes.io/storage-class";

}  // namespace homeostat::kinds
