#include "admission/configuration.h"

#include <algorithm>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "homeostat/object/yaml.h"

namespace homeostat::admission {

using object::Value;

namespace {

constexpr std::string_view kVersion = "apiserver.config.k8s.io/v1", kKind = "AdmissionConfiguration";

Result<object::DocumentPtr> ReadDocument(const std::string& path) {
  TRY_ASSIGN(std::string text, ReadFile(path));
  std::vector<std::string> repeated;
  auto document = object::ParseYamlDocument(text, &repeated);
  if (!document) return Fail(SystemError(path + ": " + std::string(document.error().message())));
  if (!repeated.empty()) return Fail(SystemError(path + ": " + object::StrictYamlMessage(repeated)));
  return object::DocumentPtr(*std::move(document));
}

Result<void> CheckMembers(const Value& object, std::initializer_list<std::string_view> known, const std::string& where) {
  for (const object::Member& member : object.members()) {
    if (std::ranges::find(known, member.name()) == known.end()) {
      return Fail(SystemError(where + ": unknown field " + GoQuote(member.name())));
    }
  }
  return {};
}

}  // namespace

Result<Configurations> Configurations::Read(const std::string& path) {
  Configurations configurations;
  if (path.empty()) return configurations;
  TRY_ASSIGN(object::DocumentPtr document, ReadDocument(path));
  const Value& root = document->root();
  if (root.Get("apiVersion").AsString() != kVersion || root.Get("kind").AsString() != kKind) {
    return Fail(SystemError(path + ": expected kind " + std::string(kKind) + " of " + std::string(kVersion)));
  }
  TRY(CheckMembers(root, {"apiVersion", "kind", "plugins"}, path));
  const std::string folder = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  for (const Value& plugin : root.Get("plugins").items()) {
    TRY(CheckMembers(plugin, {"name", "path", "configuration"}, path));
    Held held{document, plugin.Get("configuration")};
    std::string file(plugin.Get("path").AsString());
    if (!held.configuration && !file.empty()) {
      TRY_ASSIGN(held.document, ReadDocument(file.starts_with('/') ? file : folder + file));
      held.configuration = held.document->root();
    }
    // Of two for one plugin the first counts.
    if (held.configuration) configurations.by_plugin_.emplace(plugin.Get("name").AsString(), std::move(held));
  }
  return configurations;
}

Value Configurations::For(std::string_view plugin) const {
  auto found = by_plugin_.find(plugin);
  return found == by_plugin_.end() ? Value() : found->second.configuration;
}

}  // namespace homeostat::admission
