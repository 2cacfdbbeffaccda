#include "homeostat/sdk/object.h"

namespace homeostat::sdk {
namespace meta {
namespace {

object::Value Metadata(const object::Value& object, std::string_view name) { return object.Get("metadata").Get(name); }

}  // namespace

std::string_view Name(const object::Value& object) { return Metadata(object, "name").AsString(); }
std::string_view Namespace(const object::Value& object) { return Metadata(object, "namespace").AsString(); }
std::string_view Uid(const object::Value& object) { return Metadata(object, "uid").AsString(); }
std::string_view ResourceVersion(const object::Value& object) { return Metadata(object, "resourceVersion").AsString(); }
int64_t Generation(const object::Value& object) { return Metadata(object, "generation").AsInt(); }
bool IsDeleting(const object::Value& object) { return static_cast<bool>(Metadata(object, "deletionTimestamp")); }
object::Value Labels(const object::Value& object) { return Metadata(object, "labels"); }
object::Value Annotations(const object::Value& object) { return Metadata(object, "annotations"); }

object::Value ControllerOf(const object::Value& object) {
  for (const object::Value& reference : Metadata(object, "ownerReferences").items()) {
    if (reference.Get("controller").AsBool()) return reference;
  }
  return {};
}

std::string Key(const object::Value& object) {
  object::Value metadata = object.Get("metadata");
  std::string_view ns = metadata.Get("namespace").AsString();
  std::string_view name = metadata.Get("name").AsString();
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) key.append(ns).push_back('/');
  key.append(name);
  return key;
}

}  // namespace meta

std::pair<std::string, std::string> SplitKey(std::string_view key) {
  size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {std::string(), std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

}  // namespace homeostat::sdk
