#include "registry.h"

#include <algorithm>
#include <tuple>

#include "text.h"

namespace homeostat::generator {

std::string WriteRegistry(const Model& model) {
  std::string includes, kinds;
  std::vector<std::pair<std::string, std::string>> types;  // definition name, address
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> by_kind;
  for (const auto& file : model.files()) {
    includes += "#include \"" + file->base + ".h\"\n";
    for (const auto& message : file->messages) {
      std::string address = "&" + file->space + "::types::k" + message->name;
      if (!message->definition_name.empty()) types.emplace_back(message->definition_name, address);
      if (message->is_kind) kinds += "    &" + file->space + "::kinds::k" + message->name + ",\n";
      if (message->type.type_meta() && file->has_group) by_kind.emplace_back(file->group, file->version, message->name, address);
    }
  }
  std::sort(types.begin(), types.end());
  std::sort(by_kind.begin(), by_kind.end());
  std::string out = "// Generated from api/. Do not edit.\n#include \"api/internal/registry_tables.h\"\n\n" + includes;
  out += "\nnamespace homeostat::api::tables {\nnamespace {\n\nusing namespace std::string_view_literals;\n\n";
  out += "constinit const schema::Kind* const kKinds[] = {\n" + kinds + "};\n\n";
  out += "constinit const schema::Type* const kTypes[] = {\n";
  for (const auto& [name, address] : types) out += "    " + address + ",\n";
  out += "};\n\nconstinit const TypeOfKind kTypesOfKinds[] = {\n";
  for (const auto& [group, version, kind, address] : by_kind) {
    out += "    {{" + Literal(group) + ", " + Literal(version) + ", " + Literal(kind) + "}, " + address + "},\n";
  }
  out += "};\n\n}  // namespace\n\n";
  out += "constinit const std::span<const schema::Kind* const> kAllKinds = kKinds;\n";
  out += "constinit const std::span<const schema::Type* const> kAllTypes = kTypes;\n";
  out += "constinit const std::span<const TypeOfKind> kAllTypesOfKinds = kTypesOfKinds;\n";
  return out + "\n}  // namespace homeostat::api::tables\n";
}

}  // namespace homeostat::generator
