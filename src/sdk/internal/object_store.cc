#include "sdk/internal/object_store.h"

#include <unordered_set>
#include <utility>

#include "homeostat/object/packed.h"

namespace homeostat::sdk {

object::DocumentPtr ObjectStore::Kept(const object::Value& object) const {
  if (managed_fields_) return object::Packed(object);
  object::Arena scratch;
  return object::Packed(object::WithPath(scratch, object, {"metadata", "managedFields"}, object::Value()));
}

void ObjectStore::Enter(const Objects::value_type& entry) {
  std::vector<std::string> values;
  for (Index& index : indexes_) {
    values.clear();
    index.function(entry.second->root(), values);
    for (const std::string& value : values) index.entries[value].insert(&entry);
  }
}

void ObjectStore::Leave(const Objects::value_type& entry) {
  std::vector<std::string> values;
  for (Index& index : indexes_) {
    values.clear();
    index.function(entry.second->root(), values);
    for (const std::string& value : values) {
      auto found = index.entries.find(value);
      if (found == index.entries.end()) continue;
      found->second.erase(&entry);
      if (found->second.empty()) index.entries.erase(found);
    }
  }
}

void ObjectStore::Put(object::DocumentPtr object, Changes& changes) {
  std::string key = meta::Key(object->root());
  auto known = objects_.find(key);
  if (known != objects_.end() && meta::Uid(known->second->root()) != meta::Uid(object->root())) {
    Remove(key, nullptr, changes);
    known = objects_.end();
  }
  if (known == objects_.end()) {
    auto entry = objects_.emplace(std::move(key), Kept(object->root())).first;
    Enter(*entry);
    changes.push_back({nullptr, entry->second});
    return;
  }
  if (meta::ResourceVersion(known->second->root()) == meta::ResourceVersion(object->root())) return;
  object = Kept(object->root());
  Leave(*known);
  changes.push_back({std::exchange(known->second, object), object});
  Enter(*known);
}

void ObjectStore::Remove(const std::string& key, object::DocumentPtr last, Changes& changes) {
  auto known = objects_.find(key);
  if (known == objects_.end()) return;
  Leave(*known);
  changes.push_back({last ? std::move(last) : known->second, nullptr});
  objects_.erase(known);
}

void ObjectStore::Replace(std::vector<object::DocumentPtr> list, Changes& changes) {
  std::unordered_set<std::string> listed;
  for (const object::DocumentPtr& object : list) listed.insert(meta::Key(object->root()));
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects_) {
    if (!listed.contains(key)) gone.push_back(key);
  }
  for (const std::string& key : gone) Remove(key, nullptr, changes);
  for (object::DocumentPtr& object : list) Put(std::move(object), changes);
}

void ObjectStore::AddIndex(std::string name, IndexFunction function) {
  for (const Index& index : indexes_) {
    if (index.name == name) return;
  }
  Index& index = indexes_.emplace_back(Index{std::move(name), std::move(function), {}});
  std::vector<std::string> values;
  for (const Objects::value_type& entry : objects_) {
    values.clear();
    index.function(entry.second->root(), values);
    for (const std::string& value : values) index.entries[value].insert(&entry);
  }
}

object::DocumentPtr ObjectStore::Get(std::string_view key) const {
  auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<object::DocumentPtr> ObjectStore::List(std::string_view ns) const {
  std::vector<object::DocumentPtr> list;
  if (ns.empty()) {
    list.reserve(objects_.size());
    for (const auto& [key, object] : objects_) list.push_back(object);
    return list;
  }
  std::string prefix = std::string(ns) + "/";
  for (auto at = objects_.lower_bound(prefix); at != objects_.end() && at->first.starts_with(prefix); ++at) {
    list.push_back(at->second);
  }
  return list;
}

std::vector<object::DocumentPtr> ObjectStore::ByIndex(std::string_view name, std::string_view value) const {
  std::vector<object::DocumentPtr> list;
  for (const Index& index : indexes_) {
    if (index.name != name) continue;
    auto found = index.entries.find(std::string(value));
    if (found == index.entries.end()) break;
    list.reserve(found->second.size());
    for (const Objects::value_type* entry : found->second) list.push_back(entry->second);
  }
  return list;
}

}  // namespace homeostat::sdk
