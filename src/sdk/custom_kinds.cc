#include "homeostat/sdk/custom_kinds.h"

#include <algorithm>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/api/apiregistration/v1.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::sdk {

using object::Value;

namespace {

constexpr uint32_t kVerbs = schema::kGet | schema::kList | schema::kWatch | schema::kCreate | schema::kUpdate | schema::kPatch |
                            schema::kDelete | schema::kDeleteCollection;

bool IsEstablished(const Value& definition) {
  return std::ranges::any_of(definition.Path({"status", "conditions"}).items(), [](const Value& condition) {
    return condition.Get("type").AsString() == "Established" && condition.Get("status").AsString() == "True";
  });
}

constexpr size_t kMostDiscovery = 16 << 20;
constexpr Duration kDiscoverAgain = std::chrono::seconds(5);

}  // namespace

// A kind and the texts it is made of.
struct CustomKinds::Known {
  std::string group, version, kind, plural, singular, list_kind;
  schema::Kind data;
};

CustomKinds::CustomKinds(InformerFactory& informers)
    : definitions_(informers.For<api::apiextensions::v1::CustomResourceDefinition>()),
      open_(schema::StructuralSchema::Compile(Value(), nullptr,
                                              {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = {}, .go_name = {}})) {
  definitions_.AddHandler([this](const Change& change) {
    Take(change.current ? change.current->root() : change.previous->root(), !change.current);
  });
}
CustomKinds::~CustomKinds() = default;

void CustomKinds::AddHandler(std::function<void(const schema::Kind&, bool)> handler) {
  for (const auto& [name, kind] : served_) handler(*kind, true);
  handlers_.push_back(std::move(handler));
}

std::vector<const schema::Kind*> CustomKinds::Served() const {
  std::vector<const schema::Kind*> kinds;
  for (const auto& [name, kind] : served_) kinds.push_back(kind);
  return kinds;
}

const schema::Kind* CustomKinds::Find(std::string_view group, std::string_view version, std::string_view kind) const {
  for (const auto& [name, versions] : versions_) {
    for (const schema::Kind* one : versions) {
      if (one->gvk == schema::GroupVersionKind{group, version, kind}) return one;
    }
  }
  return nullptr;
}

const schema::Kind& CustomKinds::Intern(std::string_view group, std::string_view version, const Names& names) {
  auto known = std::make_unique<Known>();
  known->group = group;
  known->version = version;
  known->kind = names.kind;
  known->plural = names.plural;
  known->singular = names.singular;
  known->list_kind = names.list_kind;
  std::string key = known->group + "/" + known->version + "/" + known->kind + "/" + known->plural + (names.namespaced ? "/namespaced/" : "/") +
                    std::to_string(names.verbs);
  auto [place, is_new] = known_.try_emplace(key);
  if (!is_new) return place->second->data;
  schema::Kind& kind = known->data;
  kind.gvk = {known->group, known->version, known->kind};
  kind.plural = known->plural;
  kind.singular = known->singular;
  kind.list_kind = known->list_kind;
  kind.namespaced = names.namespaced;
  kind.verbs = names.verbs;
  kind.type = &open_->type();
  place->second = std::move(known);
  return place->second->data;
}

void CustomKinds::Replace(const std::string& name, const schema::Kind* now) {
  const schema::Kind* before = nullptr;
  if (auto found = served_.find(name); found != served_.end()) before = found->second;
  if (before == now) return;
  if (now == nullptr) served_.erase(name);
  else served_[name] = now;
  for (const auto& handler : handlers_) {
    if (before != nullptr) handler(*before, false);
    if (now != nullptr) handler(*now, true);
  }
}

void CustomKinds::Take(const Value& definition, bool gone) {
  std::string name(meta::Name(definition));
  const schema::Kind* chosen = nullptr;
  std::vector<const schema::Kind*> versions;
  if (!gone && IsEstablished(definition)) {
    Value accepted = definition.Path({"status", "acceptedNames"});
    const Names names{accepted.Get("kind").AsString(), accepted.Get("plural").AsString(), accepted.Get("singular").AsString(),
                      accepted.Get("listKind").AsString(), definition.Path({"spec", "scope"}).AsString() == "Namespaced", kVerbs};
    for (const Value& version : definition.Path({"spec", "versions"}).items()) {
      if (!version.Get("served").AsBool()) continue;
      const schema::Kind& kind = Intern(definition.Path({"spec", "group"}).AsString(), version.Get("name").AsString(), names);
      versions.push_back(&kind);
      if (chosen == nullptr || version.Get("storage").AsBool()) chosen = &kind;
    }
  }
  if (versions.empty()) versions_.erase(name);
  else versions_[name] = std::move(versions);
  Replace(name, chosen);
}

// --- Kinds of extension servers

void CustomKinds::FollowExtensions(Runtime& runtime, Client client, InformerFactory& informers) {
  runtime_ = &runtime;
  client_ = std::make_unique<Client>(std::move(client));
  discovering_ = std::make_unique<TaskGroup>(runtime);
  informers.For<api::apiregistration::v1::APIService>().AddHandler([this](const Change& change) {
    TakeService(change.current ? change.current->root() : change.previous->root(), !change.current);
  });
}

void CustomKinds::TakeService(const Value& service, bool gone) {
  std::string name(meta::Name(service));
  std::string version = std::string(service.Path({"spec", "group"}).AsString()) + "/" + std::string(service.Path({"spec", "version"}).AsString());
  unavailable_.erase(version);
  if (gone || !service.Path({"spec", "service"})) {
    if (services_.erase(name) > 0) TakeDiscovered(name, Value());
    return;
  }
  bool available = std::ranges::any_of(service.Path({"status", "conditions"}).items(), [](const Value& condition) {
    return condition.Get("type").AsString() == "Available" && condition.Get("status").AsString() == "True";
  });
  if (!available) unavailable_.insert(std::move(version));
  if (!available || !services_.insert(name).second) return;
  discovering_->Spawn(Discover(name, std::string(service.Path({"spec", "group"}).AsString()), std::string(service.Path({"spec", "version"}).AsString())));
}

Task<void> CustomKinds::Discover(std::string service, std::string group, std::string version) {
  while (services_.contains(service)) {
    http::Request request;
    request.path = "/apis/" + group + "/" + version;
    request.headers.Set("Accept", "application/json");
    auto ask = client_->Raw(std::move(request));
    Result<http::Response> answer = co_await std::move(ask);
    if (answer && answer->code == 200) {
      auto read = http::ReadAll(*std::move(answer), kMostDiscovery);
      Result<Bytes> body = co_await std::move(read);
      auto list = body ? object::ParseJsonDocument(*body) : Result<std::shared_ptr<object::Document>>(Fail(body.error()));
      if (list && services_.contains(service)) TakeDiscovered(service, (*list)->root());
      if (list) co_return;
    }
    auto pause = Sleep(*runtime_, kDiscoverAgain);
    co_await std::move(pause);
  }
}

void CustomKinds::TakeDiscovered(const std::string& service, const Value& list) {
  constexpr std::pair<std::string_view, uint32_t> kNames[] = {
      {"get", schema::kGet}, {"list", schema::kList}, {"watch", schema::kWatch}, {"delete", schema::kDelete},
      {"deletecollection", schema::kDeleteCollection}, {"create", schema::kCreate}, {"update", schema::kUpdate}, {"patch", schema::kPatch}};
  constexpr uint32_t kNeeded = schema::kList | schema::kWatch | schema::kDelete;
  auto [group, version] = schema::ParseApiVersion(list.Get("groupVersion").AsString());
  std::string prefix = service + "/";
  std::map<std::string, const schema::Kind*> found;
  for (const Value& resource : list.Get("resources").items()) {
    Names names{resource.Get("kind").AsString(), resource.Get("name").AsString(), resource.Get("singularName").AsString(), {},
                resource.Get("namespaced").AsBool()};
    for (const Value& verb : resource.Get("verbs").items()) {
      for (auto [name, bit] : kNames) if (verb.AsString() == name) names.verbs |= bit;
    }
    bool usable = !group.empty() && names.plural.find('/') == names.plural.npos && (names.verbs & kNeeded) == kNeeded;
    if (!usable) continue;
    std::string list_kind = std::string(names.kind) + "List";
    names.list_kind = list_kind;
    found[prefix + std::string(names.plural)] = &Intern(group, version, names);
  }
  std::vector<std::string> gone;
  for (const auto& [name, kind] : served_) if (name.starts_with(prefix) && !found.contains(name)) gone.push_back(name);
  for (const std::string& name : gone) {
    versions_.erase(name);
    Replace(name, nullptr);
  }
  for (const auto& [name, kind] : found) {
    versions_[name] = {kind};
    Replace(name, kind);
  }
}

}  // namespace homeostat::sdk
