// Resources: which kinds are served under which URL, and where each is stored. Built-in kinds are added once at start;
// kinds of CustomResourceDefinitions come and go. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/schema/kind.h"
#include "kinds/behaviour.h"

namespace homeostat::server {

// A kind in one served version.
struct Resource {
  const schema::Kind* kind = nullptr;      // of this version
  const schema::Kind* storage = nullptr;   // of the version that is stored; the same object where there is one version
  const kinds::Behaviour* behaviour = nullptr;  // of the storage kind
  std::shared_ptr<const void> owner;       // keeps custom kinds alive
  bool custom = false;
  bool namespaced() const { return kind->namespaced; }
};

class Resources {
 public:
  // Builds the index over kinds that are served by default and whose feature gate is on. A kind whose storage version
  // is not among them is stored in its own version.
  Resources(std::span<const schema::Kind* const> kinds, const std::function<bool(const schema::Kind&)>& is_served);

  // Null if nothing is served there.
  const Resource* Find(std::string_view group, std::string_view version, std::string_view plural) const;
  // Any served version of the resource, the preferred one first.
  const Resource* FindAny(std::string_view group, std::string_view plural) const;
  const Resource* FindKind(std::string_view group, std::string_view version, std::string_view kind) const;
  std::vector<const Resource*> All() const;
  // Groups, in discovery's order, with their versions, the preferred one first.
  struct GroupVersions {
    std::string group;
    std::vector<std::string> versions;
    int group_priority = 1000, version_priority = 100;  // of its APIService
  };
  const std::vector<GroupVersions>& groups() const { return groups_; }
  bool HasGroupVersion(std::string_view group, std::string_view version) const;

  void Add(Resource resource);
  void Remove(std::string_view group, std::string_view plural);
  // Counts up at every change, for documents that are made from the index.
  uint64_t generation() const { return generation_; }

 private:
  void RebuildGroups();
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::unique_ptr<Resource>, std::less<>> by_url_;
  std::vector<const Resource*> ordered_;
  std::vector<GroupVersions> groups_;
  uint64_t generation_ = 1;
};

// The store's key of an object, /registry/PREFIX/[NAMESPACE/]NAME, and of all objects of a kind (or of one namespace).
std::string StorageKey(const schema::Kind& storage, std::string_view ns, std::string_view name);
std::string StoragePrefix(const schema::Kind& storage, std::string_view ns);

}  // namespace homeostat::server
