// Names and ids that must not repeat, drawn from the runtime's randomness.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "homeostat/base/runtime.h"

namespace homeostat {

// A random UUID (RFC 9562, version 4), lower case: object uids, audit ids.
std::string NewUuid(Runtime& runtime);

// Characters that cannot spell words or be mistaken for each other; the alphabet of Kubernetes' generated names.
std::string RandomSuffix(Runtime& runtime, size_t length = 5);

// metadata.generateName with its suffix. The base is cut to 58 bytes, so that the name stays a valid label value.
std::string GenerateName(Runtime& runtime, std::string_view base);

}  // namespace homeostat
