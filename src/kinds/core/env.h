// Environment variables of containers, and references to fields of the pod from them and from volumes.
#pragma once

#include "kinds/checks.h"

namespace homeostat::kinds {

void CheckEnv(const Value& variables, const FieldPath& path, FieldErrors& errors);
void CheckEnvFrom(const Value& sources, const FieldPath& path, FieldErrors& errors);

enum class FieldRefUse : uint8_t { kEnv, kVolume };
void CheckFieldRef(const Value& reference, FieldRefUse use, const FieldPath& path, FieldErrors& errors);
void CheckResourceFieldRef(const Value& reference, FieldRefUse use, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
