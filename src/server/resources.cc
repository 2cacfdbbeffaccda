#include "server/resources.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace homeostat::server {
namespace {

struct VersionRank {
  int stability = 0;
  int major = 0, minor = 0;
};
VersionRank RankOf(std::string_view version) {
  VersionRank rank;
  const char* end = version.data() + version.size();
  if (version.size() < 2 || version[0] != 'v') return rank;
  auto [after, error] = std::from_chars(version.data() + 1, end, rank.major);
  if (error != std::errc()) return rank;
  std::string_view rest(after, static_cast<size_t>(end - after));
  if (rest.empty()) {
    rank.stability = 3;
    return rank;
  }
  size_t prefix = rest.starts_with("beta") ? 4 : rest.starts_with("alpha") ? 5 : 0;
  if (prefix == 0) return {};
  rank.stability = prefix == 4 ? 2 : 1;
  std::from_chars(rest.data() + prefix, rest.data() + rest.size(), rank.minor);
  return rank;
}

// Upstream's priorities of the built-in groups' APIServices (groups.tsv): they order discovery. The group comes first by
// its own, then a version by its; what is not listed is a custom resource's.
struct GroupPriority {
  std::string_view group;
  int priority;
  int version_priority;
};
constexpr GroupPriority kGroupPriorities[] = {
    {"", 18000, 1},
    {"apiregistration.k8s.io", 17900, 15},
    {"apps", 17800, 15},
    {"events.k8s.io", 17750, 15},
    {"authentication.k8s.io", 17700, 15},
    {"authorization.k8s.io", 17600, 15},
    {"autoscaling", 17500, 30},  // v1 has another
    {"batch", 17400, 15},
    {"certificates.k8s.io", 17300, 15},
    {"networking.k8s.io", 17200, 15},
    {"policy", 17100, 15},
    {"rbac.authorization.k8s.io", 17000, 15},
    {"storage.k8s.io", 16800, 15},
    {"admissionregistration.k8s.io", 16700, 15},
    {"apiextensions.k8s.io", 16700, 15},
    {"scheduling.k8s.io", 16600, 15},
    {"coordination.k8s.io", 16500, 15},
    {"node.k8s.io", 16300, 15},
    {"discovery.k8s.io", 16200, 15},
    {"resource.k8s.io", 16200, 21},
    {"flowcontrol.apiserver.k8s.io", 16100, 21},
    {"internal.apiserver.k8s.io", 16000, 9},
    {"storagemigration.k8s.io", 15900, 9},
};
GroupPriority PriorityOf(std::string_view group) {
  for (const GroupPriority& entry : kGroupPriorities) if (entry.group == group) return entry;
  return {group, 1000, 100};
}

const Resource* Loaded(const Resource* resource) {
  if (resource != nullptr && resource->owner) resource->owner->Load();
  return resource;
}

}  // namespace

int VersionPriority(std::string_view group, std::string_view version) {
  if (group == "autoscaling" && version == "v1") return 15;
  return PriorityOf(group).version_priority;
}

bool VersionBefore(const std::string& a, const std::string& b) {
  VersionRank x = RankOf(a), y = RankOf(b);
  auto key = [](const VersionRank& r) { return std::tuple(-r.stability, -r.major, -r.minor); };
  if (key(x) != key(y)) return key(x) < key(y);
  return a < b;
}

Resources::Resources(std::span<const schema::Kind* const> kinds,
                     const std::function<bool(const schema::Kind&)>& is_served) {
  for (const schema::Kind* kind : kinds) {
    if (kind->plural.empty() || !is_served(*kind)) continue;
    Resource resource;
    resource.kind = kind;
    resource.storage = kind;
    for (const schema::Kind* other : kinds) {
      if (other->storage_prefix != kind->storage_prefix || kind->storage_prefix.empty() || other->gvk.kind != kind->gvk.kind ||
          other->storage_version != other->gvk.version) {
        continue;
      }
      // Of two groups that share a store (events), the core one's form is stored.
      bool same_group = other->gvk.group == kind->gvk.group;
      if (other->gvk.group.empty() || (same_group && !resource.storage->gvk.group.empty())) resource.storage = other;
    }
    resource.working = resource.storage;
    resource.behaviour = &kinds::FindBehaviour(resource.storage->gvk.group, resource.storage->gvk.kind);
    Key key(kind->gvk.group, kind->gvk.version, kind->plural);
    ordered_.push_back((by_url_[key] = std::make_unique<Resource>(resource)).get());
    Index(ordered_.back());
    if (!kind->storage_prefix.empty()) built_in_stores_[std::string(kind->storage_prefix)] = ordered_.back();
  }
}

void Resources::Index(const Resource* resource) {
  auto& versions = by_resource_[{std::string(resource->kind->gvk.group), std::string(resource->kind->plural)}];
  auto before = [](const Resource* a, const Resource* b) {
    return VersionBefore(std::string(a->kind->gvk.version), std::string(b->kind->gvk.version));
  };
  versions.insert(std::ranges::lower_bound(versions, resource, before), resource);
}

void Resources::Changed(std::string_view group) {
  ++generation_;
  groups_are_stale_ = true;
  if (observer_) observer_(group);
}

std::vector<std::string> Resources::CustomVersions(std::string_view group) const {
  std::vector<std::string> versions;
  for (auto it = by_url_.lower_bound(std::tuple(group, std::string_view(), std::string_view())); it != by_url_.end(); ++it) {
    if (std::get<0>(it->first) != group) break;
    const std::string& version = std::get<1>(it->first);
    if (it->second->custom && (versions.empty() || versions.back() != version)) versions.push_back(version);
  }
  return versions;
}

const Resource* Resources::Find(std::string_view group, std::string_view version, std::string_view plural) const {
  auto found = by_url_.find(std::tuple(group, version, plural));
  return found == by_url_.end() ? nullptr : Loaded(found->second.get());
}

const Resource* Resources::FindAny(std::string_view group, std::string_view plural) const {
  auto found = by_resource_.find(std::tuple(group, plural));
  return found == by_resource_.end() || found->second.empty() ? nullptr : Loaded(found->second.front());
}

const Resource* Resources::FindKind(std::string_view group, std::string_view version, std::string_view kind) const {
  for (const Resource* resource : ordered_) {
    if (resource->kind->gvk.kind == kind && resource->kind->gvk.version == version && resource->kind->gvk.group == group) {
      return Loaded(resource);
    }
  }
  return nullptr;
}

std::vector<const Resource*> Resources::All() const { return ordered_; }

std::vector<const Resource*> Resources::AllOf(std::string_view group, std::string_view version) const {
  std::vector<const Resource*> found;
  for (auto it = by_url_.lower_bound(std::tuple(group, version, std::string_view())); it != by_url_.end(); ++it) {
    if (std::get<0>(it->first) != group || std::get<1>(it->first) != version) break;
    found.push_back(it->second.get());
  }
  return found;
}

bool Resources::HasGroupVersion(std::string_view group, std::string_view version) const {
  auto first = by_url_.lower_bound(std::tuple(group, version, std::string_view()));
  return first != by_url_.end() && std::get<0>(first->first) == group && std::get<1>(first->first) == version;
}

bool Resources::Add(Resource resource) {
  Key key(resource.kind->gvk.group, resource.kind->gvk.version, resource.kind->plural);
  const std::string& group = std::get<0>(key);
  auto found = by_url_.find(key);
  if (found != by_url_.end() && !found->second->custom) return false;
  if (built_in_stores_.contains(resource.storage->storage_prefix)) return false;
  if (found != by_url_.end()) {
    // In place: who holds a pointer to it sees the new state.
    auto& versions = by_resource_[{std::get<0>(key), std::get<2>(key)}];
    std::erase(versions, found->second.get());
    *found->second = std::move(resource);
    Index(found->second.get());
  } else {
    const Resource* added = (by_url_[key] = std::make_unique<Resource>(std::move(resource))).get();
    ordered_.push_back(added);
    Index(added);
  }
  Changed(group);
  return true;
}

void Resources::Remove(std::string_view group, std::string_view plural) {
  auto found = by_resource_.find(std::tuple(group, plural));
  if (found == by_resource_.end()) return;
  std::vector<const Resource*> gone = found->second;
  std::erase_if(gone, [](const Resource* resource) { return !resource->custom; });
  if (gone.empty()) return;
  by_resource_.erase(found);
  std::erase_if(ordered_, [&](const Resource* resource) { return std::ranges::find(gone, resource) != gone.end(); });
  for (const Resource* resource : gone) {
    std::shared_ptr<const KindOwner> owner = resource->owner;  // the key's texts may be its
    by_url_.erase(Key(group, resource->kind->gvk.version, plural));
  }
  Changed(group);
}

const std::vector<Resources::GroupVersions>& Resources::groups() const {
  if (std::exchange(groups_are_stale_, false)) RebuildGroups();
  return groups_;
}

void Resources::RebuildGroups() const {
  groups_.clear();
  std::map<std::string_view, size_t> places;
  for (const Resource* resource : ordered_) {
    std::string_view group = resource->kind->gvk.group;
    auto [place, is_new] = places.emplace(group, groups_.size());
    if (is_new) groups_.push_back(GroupVersions{std::string(group), {}, PriorityOf(group).priority});
    GroupVersions& entry = groups_[place->second];
    std::string version(resource->kind->gvk.version);
    if (std::ranges::find(entry.versions, version) == entry.versions.end()) entry.versions.push_back(version);
  }
  for (GroupVersions& entry : groups_) std::ranges::sort(entry.versions, VersionBefore);
  std::ranges::stable_sort(groups_, [](const GroupVersions& a, const GroupVersions& b) {
    return a.group_priority != b.group_priority ? a.group_priority > b.group_priority : a.group < b.group;
  });
}

std::string StoragePrefix(const schema::Kind& storage, std::string_view ns) {
  std::string key("/registry/");
  key += storage.storage_prefix;
  key += '/';
  if (storage.namespaced && !ns.empty()) {
    key += ns;
    key += '/';
  }
  return key;
}

std::string StorageKey(const schema::Kind& storage, std::string_view ns, std::string_view name) {
  std::string key = StoragePrefix(storage, ns);
  key += name;
  return key;
}

}  // namespace homeostat::server
