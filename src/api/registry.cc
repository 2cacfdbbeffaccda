#include "homeostat/api/registry.h"

#include <algorithm>
#include <tuple>

#include "api/internal/registry_tables.h"

namespace homeostat::api {
namespace {

auto Key(const schema::GroupVersionKind& gvk) { return std::tie(gvk.group, gvk.version, gvk.kind); }

const schema::Type* FindExactly(const schema::GroupVersionKind& gvk) {
  auto all = tables::kAllTypesOfKinds;
  auto found = std::lower_bound(all.begin(), all.end(), gvk, [](const tables::TypeOfKind& entry, const auto& wanted) {
    return Key(entry.gvk) < Key(wanted);
  });
  return found != all.end() && found->gvk == gvk ? found->type : nullptr;
}

}  // namespace

std::span<const schema::Kind* const> AllKinds() { return tables::kAllKinds; }

std::span<const schema::Type* const> AllTypes() { return tables::kAllTypes; }

const schema::Type* FindType(std::string_view definition_name) {
  auto all = tables::kAllTypes;
  auto found = std::lower_bound(all.begin(), all.end(), definition_name,
                                [](const schema::Type* type, std::string_view name) { return type->name < name; });
  return found != all.end() && (*found)->name == definition_name ? *found : nullptr;
}

const schema::Kind* FindKind(std::string_view group, std::string_view version, std::string_view kind) {
  schema::GroupVersionKind gvk{group, version, kind};
  auto all = tables::kAllKinds;
  auto found = std::find_if(all.begin(), all.end(), [&](const schema::Kind* candidate) { return candidate->gvk == gvk; });
  return found == all.end() ? nullptr : *found;
}

const schema::Type* FindTypeOfKind(std::string_view group, std::string_view version, std::string_view kind) {
  const schema::Type* type = FindExactly({group, version, kind});
  return type != nullptr ? type : FindExactly({"meta.k8s.io", "v1", kind});
}

}  // namespace homeostat::api
