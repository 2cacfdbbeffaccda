// Which other objects of the API a pod refers to: what a mirror of a static pod must not do.
// Source of the rules: pkg/api/pod's visitors and HasAPIObjectReference.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::admission {

// A secret by name: in its pull secrets, its containers' environment, or its volumes.
bool ReferencesSecrets(const object::Value& pod);
bool ReferencesConfigMaps(const object::Value& pod);

// The first sort of objects that it refers to, as messages name it ("secrets (via secret volumes)"); "" if to none.
std::string ReferencedResource(const object::Value& pod);

}  // namespace homeostat::admission
