#include "homeostat/sdk/custom_kinds.h"

#include <algorithm>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/api/meta/v1.h"

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

const schema::Kind& CustomKinds::Intern(const Value& definition, std::string_view version) {
  Value names = definition.Path({"status", "acceptedNames"});
  bool namespaced = definition.Path({"spec", "scope"}).AsString() == "Namespaced";
  auto known = std::make_unique<Known>();
  known->group = definition.Path({"spec", "group"}).AsString();
  known->version = version;
  known->kind = names.Get("kind").AsString();
  known->plural = names.Get("plural").AsString();
  known->singular = names.Get("singular").AsString();
  known->list_kind = names.Get("listKind").AsString();
  std::string key = known->group + "/" + known->version + "/" + known->kind + "/" + known->plural + (namespaced ? "/namespaced" : "");
  auto [place, is_new] = known_.try_emplace(key);
  if (!is_new) return place->second->data;
  schema::Kind& kind = known->data;
  kind.gvk = {known->group, known->version, known->kind};
  kind.plural = known->plural;
  kind.singular = known->singular;
  kind.list_kind = known->list_kind;
  kind.namespaced = namespaced;
  kind.verbs = kVerbs;
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
    for (const Value& version : definition.Path({"spec", "versions"}).items()) {
      if (!version.Get("served").AsBool()) continue;
      const schema::Kind& kind = Intern(definition, version.Get("name").AsString());
      versions.push_back(&kind);
      if (chosen == nullptr || version.Get("storage").AsBool()) chosen = &kind;
    }
  }
  if (versions.empty()) versions_.erase(name);
  else versions_[name] = std::move(versions);
  Replace(name, chosen);
}

}  // namespace homeostat::sdk
