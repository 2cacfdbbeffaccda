#include "controllers/finalizers.h"

#include <algorithm>
#include <string>

#include "homeostat/object/json.h"

namespace homeostat::controllers {

Bytes DropFinalizerPatch(std::string_view finalizer) {
  std::string patch = R"({"metadata":{"$deleteFromPrimitiveList/finalizers":[)";
  object::AppendJsonString(patch, finalizer);
  return Bytes(patch + "]}}");
}

bool HasFinalizer(const object::Value& object, std::string_view finalizer) {
  object::Value finalizers = object.Path({"metadata", "finalizers"});
  return std::ranges::any_of(finalizers.items(), [&](const object::Value& one) { return one.AsString() == finalizer; });
}

}  // namespace homeostat::controllers
