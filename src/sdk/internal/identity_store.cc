#include "sdk/internal/identity_store.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "sdk/packed_uid.h"

namespace homeostat::sdk {

using object::Value;

IdentityStore::Identity::Identity(std::string_view key, std::string_view uid, std::string_view version)
    : block_(std::make_unique_for_overwrite<char[]>(sizeof(Sizes) + key.size() + uid.size() + version.size())) {
  const Sizes sizes{static_cast<uint16_t>(key.size()), static_cast<uint16_t>(uid.size()), static_cast<uint16_t>(version.size())};
  std::memcpy(block_.get(), &sizes, sizeof(sizes));
  char* text = block_.get() + sizeof(sizes);
  for (std::string_view part : {key, uid, version}) text = std::copy(part.begin(), part.end(), text);
}

IdentityStore::Identity::Sizes IdentityStore::Identity::sizes() const {
  Sizes sizes;
  std::memcpy(&sizes, block_.get(), sizeof(sizes));
  return sizes;
}

object::DocumentPtr IdentityStore::Show(const Identity& identity) {
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  object::ObjectBuilder metadata(arena), object(arena);
  auto [ns, name] = SplitKey(identity.key());
  metadata.Set("name", Value::String(arena, name));
  if (!ns.empty()) metadata.Set("namespace", Value::String(arena, ns));
  metadata.Set("uid", Value::String(arena, UnpackUid(identity.uid())));
  metadata.Set("resourceVersion", Value::String(arena, identity.version()));
  object.Set("metadata", metadata.Build());
  document->set_root(object.Build());
  return document;
}

void IdentityStore::Put(object::DocumentPtr object, Changes& changes) {
  const Value& root = object->root();
  const std::string key = meta::Key(root), uid = PackUid(meta::Uid(root));
  const std::string_view version = meta::ResourceVersion(root);
  auto known = identities_.find(std::string_view(key));
  if (known != identities_.end() && known->uid() != uid) {
    Remove(key, nullptr, changes);
    known = identities_.end();
  }
  object::DocumentPtr previous;
  if (known != identities_.end()) {
    if (known->version() == version) return;
    previous = Show(*known);
    identities_.erase(known);
  }
  identities_.emplace(key, uid, version);
  changes.push_back({std::move(previous), std::move(object)});
}

void IdentityStore::Remove(const std::string& key, object::DocumentPtr last, Changes& changes) {
  auto known = identities_.find(std::string_view(key));
  if (known == identities_.end()) return;
  changes.push_back({last ? std::move(last) : Show(*known), nullptr});
  identities_.erase(known);
}

void IdentityStore::Replace(std::vector<object::DocumentPtr> list, Changes& changes) {
  std::unordered_set<std::string> listed;
  for (const object::DocumentPtr& object : list) listed.insert(meta::Key(object->root()));
  std::vector<std::string> gone;
  for (const Identity& identity : identities_) {
    std::string key(identity.key());
    if (!listed.contains(key)) gone.push_back(std::move(key));
  }
  std::ranges::sort(gone);
  for (const std::string& key : gone) Remove(key, nullptr, changes);
  for (object::DocumentPtr& object : list) Put(std::move(object), changes);
}

object::DocumentPtr IdentityStore::Get(std::string_view key) const {
  auto found = identities_.find(key);
  return found == identities_.end() ? nullptr : Show(*found);
}

std::vector<object::DocumentPtr> IdentityStore::List(std::string_view ns) const {
  const std::string prefix = ns.empty() ? std::string() : std::string(ns) + "/";
  std::vector<const Identity*> chosen;
  for (const Identity& identity : identities_) {
    if (identity.key().starts_with(prefix)) chosen.push_back(&identity);
  }
  std::ranges::sort(chosen, {}, &Identity::key);
  std::vector<object::DocumentPtr> list;
  for (const Identity* identity : chosen) list.push_back(Show(*identity));
  return list;
}

}  // namespace homeostat::sdk
