// Resources: which kinds are served under which URL, and where each is stored. Built-in kinds are added once at start;
// kinds of CustomResourceDefinitions come and go. Loop only.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/schema/defaults.h"
#include "homeostat/schema/kind.h"
#include "kinds/behaviour.h"

namespace homeostat::server {

class Conversion;

// What a kind that is made at run time belongs to.
class KindOwner {
 public:
  virtual ~KindOwner() = default;
  // Makes the types of its kinds, if they are not there yet. Any thread.
  virtual void Load() const = 0;
  virtual const schema::Defaults& defaults() const = 0;
  // Its kind in one of its versions, served or not, with its type; null if there is no such version.
  virtual const schema::Kind* KindIn(std::string_view version) const = 0;
  // Differs whenever what it says of its kinds does.
  virtual std::string_view fingerprint() const = 0;
  // True once other kinds have taken the place of its: trees of its types must not be shared any more.
  bool retired() const { return retired_.load(std::memory_order_relaxed); }
  void Retire() const { retired_.store(true, std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> retired_ = false;
};

// A kind in one served version.
struct Resource {
  const schema::Kind* kind = nullptr;      // of this version
  const schema::Kind* storage = nullptr;   // of the version that entries are read in; the same object where there is one version
  // The version in which writes are checked: the stored one of built-in kinds, the request's own of custom ones.
  const schema::Kind* working = nullptr;
  const kinds::Behaviour* behaviour = nullptr;  // of the working kind
  std::shared_ptr<const KindOwner> owner;  // keeps custom kinds alive; null for built-in ones
  bool custom = false;
  bool terminating = false;                // its definition is being deleted: nothing new is made
  // Set if a webhook converts between versions: then nothing is converted but in views.h, and to all else the kind is stored as
  // it is (storage is the kind itself). The owner keeps it.
  Conversion* conversion = nullptr;
  bool namespaced() const { return kind->namespaced; }
};

class Resources {
 public:
  // Builds the index over kinds that are served by default and whose feature gate is on. A kind whose storage version
  // is not among them is stored in its own version.
  Resources(std::span<const schema::Kind* const> kinds, const std::function<bool(const schema::Kind&)>& is_served);

  // Null if nothing is served there. What these find is loaded: its kinds have their types.
  const Resource* Find(std::string_view group, std::string_view version, std::string_view plural) const;
  // Any served version of the resource, the preferred one first.
  const Resource* FindAny(std::string_view group, std::string_view plural) const;
  const Resource* FindKind(std::string_view group, std::string_view version, std::string_view kind) const;
  // Not loaded: the types of custom kinds may be missing.
  std::vector<const Resource*> All() const;
  // The same of one version of a group, in order of the plural names.
  std::vector<const Resource*> AllOf(std::string_view group, std::string_view version) const;
  // Groups, in discovery's order, with their versions, the preferred one first.
  struct GroupVersions {
    std::string group;
    std::vector<std::string> versions;
    int group_priority = 1000;  // of its APIServices
  };
  const std::vector<GroupVersions>& groups() const;
  bool HasGroupVersion(std::string_view group, std::string_view version) const;

  // Replaces what is there. False, and nothing happens, if a built-in kind has that URL, or that place in the store.
  bool Add(Resource resource);
  void Remove(std::string_view group, std::string_view plural);
  // The served versions of a group that have custom kinds.
  std::vector<std::string> CustomVersions(std::string_view group) const;
  // Told the group of each change to custom kinds, in the moment it is made.
  void OnCustomChange(std::function<void(std::string_view group)> observer) { observer_ = std::move(observer); }
  // Counts up at every change, for documents that are made from the index.
  uint64_t generation() const { return generation_; }

 private:
  void Changed(std::string_view group);
  void Index(const Resource* resource);
  void RebuildGroups() const;
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::unique_ptr<Resource>, std::less<>> by_url_;
  // The versions of each resource, the preferred one first.
  std::map<std::tuple<std::string, std::string>, std::vector<const Resource*>, std::less<>> by_resource_;
  std::map<std::string, const Resource*, std::less<>> built_in_stores_;
  std::vector<const Resource*> ordered_;
  mutable std::vector<GroupVersions> groups_;   // made when asked for
  mutable bool groups_are_stale_ = true;
  std::function<void(std::string_view group)> observer_;
  uint64_t generation_ = 1;
};

// The priority of a group version's own APIService among the versions of its group.
int VersionPriority(std::string_view group, std::string_view version);

// Kubernetes' order of versions: stable before beta before alpha, then higher numbers first, then by name.
bool VersionBefore(const std::string& a, const std::string& b);

// The store's key of an object, /registry/PREFIX/[NAMESPACE/]NAME, and of all objects of a kind (or of one namespace).
std::string StorageKey(const schema::Kind& storage, std::string_view ns, std::string_view name);
std::string StoragePrefix(const schema::Kind& storage, std::string_view ns);

}  // namespace homeostat::server
