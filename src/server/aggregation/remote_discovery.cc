#include "server/aggregation/remote_discovery.h"

#include <map>
#include <vector>

#include "homeostat/object/json.h"

namespace homeostat::server {
namespace {

using object::Value;

void AppendText(std::string& out, std::string_view name, std::string_view text) {
  if (out.back() != '{') out += ',';
  object::AppendJsonString(out, name);
  out += ':';
  object::AppendJsonString(out, text);
}

void AppendTexts(std::string& out, std::string_view name, const Value& texts, bool always) {
  if (texts.empty() && !always) return;
  out += ',';
  object::AppendJsonString(out, name);
  out += ":[";
  bool first = true;
  for (const Value& text : texts.items()) {
    if (!first) out += ',';
    first = false;
    object::AppendJsonString(out, text.AsString());
  }
  out += ']';
}

void AppendKind(std::string& out, std::string_view group, std::string_view version, std::string_view kind) {
  out += R"({"group":)";
  object::AppendJsonString(out, group);
  out += R"(,"version":)";
  object::AppendJsonString(out, version);
  out += R"(,"kind":)";
  object::AppendJsonString(out, kind);
  out += '}';
}

// Clients read it without asking whether it is there.
void AppendResponseKind(std::string& out, const Value& kind) {
  out += R"(,"responseKind":)";
  AppendKind(out, kind.Get("group").AsString(), kind.Get("version").AsString(), kind.Get("kind").AsString());
}

void AppendSubresource(std::string& out, const Value& sub) {
  out += '{';
  AppendText(out, "subresource", sub.Get("subresource").AsString());
  AppendResponseKind(out, sub.Get("responseKind"));
  if (Value types = sub.Get("acceptedTypes"); !types.empty()) {
    out += R"(,"acceptedTypes":[)";
    bool first = true;
    for (const Value& type : types.items()) {
      if (!first) out += ',';
      first = false;
      AppendKind(out, type.Get("group").AsString(), type.Get("version").AsString(), type.Get("kind").AsString());
    }
    out += ']';
  }
  AppendTexts(out, "verbs", sub.Get("verbs"), true);
  out += '}';
}

void AppendResource(std::string& out, const Value& resource) {
  out += '{';
  AppendText(out, "resource", resource.Get("resource").AsString());
  AppendResponseKind(out, resource.Get("responseKind"));
  AppendText(out, "scope", resource.Get("scope").AsString());
  AppendText(out, "singularResource", resource.Get("singularResource").AsString());
  AppendTexts(out, "verbs", resource.Get("verbs"), true);
  AppendTexts(out, "shortNames", resource.Get("shortNames"), false);
  AppendTexts(out, "categories", resource.Get("categories"), false);
  if (Value subresources = resource.Get("subresources"); !subresources.empty()) {
    out += R"(,"subresources":[)";
    bool first = true;
    for (const Value& sub : subresources.items()) {
      if (!first) out += ',';
      first = false;
      AppendSubresource(out, sub);
    }
    out += ']';
  }
  out += '}';
}

struct LegacyResource {
  std::string name;
  bool namespaced = false;
  Value entry;                      // absent: only subresources of it are listed
  std::vector<Value> subresources;
};

void AppendLegacySubresource(std::string& out, const Value& entry) {
  std::string_view name = entry.Get("name").AsString();
  out += '{';
  AppendText(out, "subresource", name.substr(name.find('/') + 1));
  out += R"(,"responseKind":)";
  bool typed = !entry.Get("kind").AsString().empty();
  AppendKind(out, typed ? entry.Get("group").AsString() : "", typed ? entry.Get("version").AsString() : "", entry.Get("kind").AsString());
  AppendTexts(out, "verbs", entry.Get("verbs"), true);
  out += '}';
}

void AppendLegacyResource(std::string& out, const LegacyResource& resource) {
  const Value& entry = resource.entry;
  out += '{';
  AppendText(out, "resource", resource.name);
  AppendResponseKind(out, entry);
  AppendText(out, "scope", resource.namespaced ? "Namespaced" : "Cluster");
  AppendText(out, "singularResource", entry.Get("singularName").AsString());
  AppendTexts(out, "verbs", entry.Get("verbs"), true);
  AppendTexts(out, "shortNames", entry.Get("shortNames"), false);
  AppendTexts(out, "categories", entry.Get("categories"), false);
  bool first = true;
  for (const Value& sub : resource.subresources) {
    out += first ? R"(,"subresources":[)" : ",";
    first = false;
    AppendLegacySubresource(out, sub);
  }
  if (!first) out += ']';
  out += '}';
}

}  // namespace

std::string AggregatedResources(const Value& list, std::string_view group, std::string_view version) {
  std::string out = "[";
  for (const Value& item : list.Get("items").items()) {
    if (item.Path({"metadata", "name"}).AsString() != group) continue;
    for (const Value& entry : item.Get("versions").items()) {
      if (entry.Get("version").AsString() != version) continue;
      for (const Value& resource : entry.Get("resources").items()) {
        if (out.size() > 1) out += ',';
        AppendResource(out, resource);
      }
    }
  }
  return out + "]";
}

Result<std::string> LegacyResources(const Value& list) {
  std::vector<LegacyResource> resources;
  std::map<std::string, size_t, std::less<>> places;
  Value entries = list.Get("resources");
  for (const Value& entry : entries.items()) {
    std::string name(entry.Get("name").AsString());
    if (name.find('/') != name.npos) continue;
    places[name] = resources.size();
    resources.push_back({name, entry.Get("namespaced").AsBool(), entry, {}});
  }
  for (const Value& entry : entries.items()) {
    std::string_view name = entry.Get("name").AsString();
    size_t slash = name.find('/');
    if (slash == name.npos) continue;
    bool namespaced = entry.Get("namespaced").AsBool();
    std::string parent(name.substr(0, slash));
    auto [place, is_new] = places.emplace(parent, resources.size());
    if (is_new) resources.push_back({parent, namespaced, Value(), {}});
    LegacyResource& resource = resources[place->second];
    if (resource.namespaced != namespaced) {
      return Fail(InternalError("discovery: " + std::string(name) + " is of another scope than " + parent));
    }
    resource.subresources.push_back(entry);
  }
  std::string out = "[";
  for (const LegacyResource& resource : resources) {
    if (out.size() > 1) out += ',';
    AppendLegacyResource(out, resource);
  }
  return out + "]";
}

}  // namespace homeostat::server
