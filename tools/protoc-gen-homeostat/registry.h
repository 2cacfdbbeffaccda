// Writes the registry: every kind and type, and how to find them.
#pragma once

#include <string>

#include "model.h"

namespace homeostat::generator {

std::string WriteRegistry(const Model& model);

}  // namespace homeostat::generator
