// What strict decoding objects to, and how it says so; the names of types in messages.
#include <algorithm>

#include "homeostat/base/text.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/conform.h"
#include "schema/internal/presence.h"
#include "schema/internal/scalars.h"

namespace homeostat::schema {

void ConformReport::Add(std::string_view what, std::string_view path) {
  constexpr size_t kMost = 100;
  if (!collect || problems.size() >= kMost) return;
  std::string problem = std::string(what) + GoQuote(path);
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(std::move(problem));
}

void ConformReport::SortFrom(size_t first) {
  if (first < problems.size()) std::sort(problems.begin() + static_cast<std::ptrdiff_t>(first), problems.end());
}

std::string ConformReport::StrictMessage() const {
  std::string message;
  if (!yaml_duplicates.empty()) message = object::StrictYamlMessage(yaml_duplicates);
  for (const std::string& problem : problems) message += (message.empty() ? "" : ", ") + problem;
  return "strict decoding error: " + message;
}

std::string GoTypeName(const Type& type) {
  if (!type.go_name.empty()) {
    std::string package(type.go_package);
    if (package.empty() && type.form == Form::kStruct) {
      // io.k8s.api.apps.v1.DeploymentSpec is of package v1.
      std::string_view rest =
          type.name.substr(0, type.name.rfind('.') == std::string_view::npos ? 0 : type.name.rfind('.'));
      package = rest.substr(rest.rfind('.') + 1);
    }
    return package.empty() ? std::string(type.go_name) : package + "." + std::string(type.go_name);
  }
  if (type.form == Form::kList) return "[]" + GoTypeName(internal::ElementType(type));
  if (type.form == Form::kMap) return "map[string]" + GoTypeName(internal::ElementType(type));
  return type.IsScalar() ? std::string(ScalarType(type.form).go_name) : std::string(type.name);
}

}  // namespace homeostat::schema
