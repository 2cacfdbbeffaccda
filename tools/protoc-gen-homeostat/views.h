// Writes the typed views (the .h of a file) and the builders (its _builders.h).
#pragma once

#include <string>

#include "model.h"

namespace homeostat::generator {

std::string WriteViews(const Model& model, const File& file);
std::string WriteBuilders(const Model& model, const File& file);

// What both share: the C++ type that an element is read as, and the order in which classes can be defined.
std::string ElementCppType(const File& file, const Field& field, const char* suffix);
std::vector<const Message*> DefinitionOrder(const File& file, bool through_collections);
std::string Qualified(const File& file, const Message& message, const char* suffix);

}  // namespace homeostat::generator
