// Which parts of a value apply would replace as a whole.
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::Structure;

namespace {

void Collect(const Structure& structure, const Value& value, const std::string& path, std::vector<std::string>& found) {
  if (value.IsObject() && (structure.parts() & internal::kMapPart) != 0) {
    if (structure.map_atomic()) found.push_back(path);
    for (const object::Member& member : value.members()) {
      Structure::Child child = structure.MapChild(member);
      // Entries of maps, whose names nobody declared, are not looked into.
      if (child.named) Collect(child.structure, member.value, path + PathElement::Field(member.name()).String(), found);
    }
  }
  if (!value.IsList() || (structure.parts() & internal::kListPart) == 0) return;
  if (structure.list_atomic()) found.push_back(path);
  Structure element = structure.ListElement();
  for (size_t i = 0; i < value.size(); ++i) {
    Collect(element, value.At(i), path + PathElement::Index(static_cast<int64_t>(i)).String(), found);
  }
}

}  // namespace

std::vector<std::string> AtomicParts(const schema::Type& type, const Value& value) {
  std::vector<std::string> found;
  Collect(Structure(type), value, "", found);
  return found;
}

}  // namespace homeostat::patch
