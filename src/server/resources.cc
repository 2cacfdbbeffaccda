#include "server/resources.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace homeostat::server {
namespace {

// Kubernetes' order of versions: stable before beta before alpha, then higher numbers first, then by name.
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
bool VersionBefore(const std::string& a, const std::string& b) {
  VersionRank x = RankOf(a), y = RankOf(b);
  auto key = [](const VersionRank& r) { return std::tuple(-r.stability, -r.major, -r.minor); };
  if (key(x) != key(y)) return key(x) < key(y);
  return a < b;
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
    {"autoscaling", 17500, 30},
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

}  // namespace

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
    resource.behaviour = &kinds::FindBehaviour(resource.storage->gvk.group, resource.storage->gvk.kind);
    Key key(kind->gvk.group, kind->gvk.version, kind->plural);
    ordered_.push_back((by_url_[key] = std::make_unique<Resource>(resource)).get());
  }
  RebuildGroups();
}

const Resource* Resources::Find(std::string_view group, std::string_view version, std::string_view plural) const {
  auto found = by_url_.find(std::tuple(group, version, plural));
  return found == by_url_.end() ? nullptr : found->second.get();
}

const Resource* Resources::FindAny(std::string_view group, std::string_view plural) const {
  for (const GroupVersions& entry : groups_) {
    if (entry.group != group) continue;
    for (const std::string& version : entry.versions) {
      if (const Resource* resource = Find(group, version, plural)) return resource;
    }
  }
  return nullptr;
}

const Resource* Resources::FindKind(std::string_view group, std::string_view version, std::string_view kind) const {
  for (const Resource* resource : ordered_) {
    if (resource->kind->gvk.kind == kind && resource->kind->gvk.version == version && resource->kind->gvk.group == group) {
      return resource;
    }
  }
  return nullptr;
}

std::vector<const Resource*> Resources::All() const { return ordered_; }

bool Resources::HasGroupVersion(std::string_view group, std::string_view version) const {
  for (const GroupVersions& entry : groups_) {
    if (entry.group == group) return std::ranges::find(entry.versions, version) != entry.versions.end();
  }
  return false;
}

void Resources::Add(Resource resource) {
  Key key(resource.kind->gvk.group, resource.kind->gvk.version, resource.kind->plural);
  auto& slot = by_url_[key];
  if (slot) std::erase(ordered_, slot.get());
  slot = std::make_unique<Resource>(std::move(resource));
  ordered_.push_back(slot.get());
  RebuildGroups();
}

void Resources::Remove(std::string_view group, std::string_view plural) {
  std::erase_if(ordered_, [&](const Resource* r) { return r->kind->gvk.group == group && r->kind->plural == plural; });
  std::erase_if(by_url_, [&](const auto& entry) {
    return std::get<0>(entry.first) == group && std::get<2>(entry.first) == plural;
  });
  RebuildGroups();
}

void Resources::RebuildGroups() {
  ++generation_;
  groups_.clear();
  for (const Resource* resource : ordered_) {
    std::string_view group = resource->kind->gvk.group;
    auto found = std::ranges::find_if(groups_, [&](const GroupVersions& g) { return g.group == group; });
    if (found == groups_.end()) found = groups_.insert(groups_.end(), GroupVersions{std::string(group), {}, PriorityOf(group).priority, PriorityOf(group).version_priority});
    std::string version(resource->kind->gvk.version);
    if (std::ranges::find(found->versions, version) == found->versions.end()) found->versions.push_back(version);
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
