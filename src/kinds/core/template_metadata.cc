#include "kinds/core/template_metadata.h"

#include <algorithm>
#include <array>

namespace homeostat::kinds {

void CheckTemplateMetadata(const Value& metadata, const FieldPath& path, FieldErrors& errors) {
  CheckAnnotations(metadata.Get("annotations"), path.Child("annotations"), errors);
  CheckLabels(metadata.Get("labels"), path.Child("labels"), errors);
  // In the order of Go's struct, and with its names but for the first letter.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kOthers = {{
      {"name", "name"}, {"generateName", "generateName"}, {"namespace", "namespace"}, {"selfLink", "selfLink"}, {"uid", "uID"},
      {"resourceVersion", "resourceVersion"}, {"generation", "generation"}, {"creationTimestamp", "creationTimestamp"},
      {"deletionTimestamp", "deletionTimestamp"}, {"deletionGracePeriodSeconds", "deletionGracePeriodSeconds"},
      {"ownerReferences", "ownerReferences"}, {"finalizers", "finalizers"}, {"managedFields", "managedFields"},
  }};
  for (const auto& [field, shown] : kOthers) {
    if (metadata.Get(field) || errors.CameEmpty(path.Child(field))) errors.Forbidden(path.Child(shown), "cannot be set");
  }
}

}  // namespace homeostat::kinds
