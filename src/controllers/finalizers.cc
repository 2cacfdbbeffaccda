#include "controllers/finalizers.h"

#include <algorithm>

#include "homeostat/object/json.h"

namespace homeostat::controllers {

void AppendMember(std::string& json, std::string_view name, std::string_view text) {
  object::AppendJsonString(json, name);
  json += ':';
  object::AppendJsonString(json, text);
}

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
