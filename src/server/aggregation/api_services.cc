#include "server/aggregation/api_services.h"

#include <algorithm>

namespace homeostat::server {
namespace {

constexpr std::string_view kPrefix = "/registry/apiregistration.k8s.io/apiservices/";
// Above what an APIService may ask for: this group leads every list.
constexpr std::string_view kFirstGroup = "apiregistration.k8s.io";
constexpr int kFirstPriority = 20001;

DiscoveredVersion& VersionIn(DiscoveredGroup& group, std::string_view version) {
  for (DiscoveredVersion& entry : group.versions) if (entry.version == version) return entry;
  return group.versions.emplace_back(DiscoveredVersion{.version = std::string(version)});
}

// The group's place follows from the service with the highest priority; of several, from the first by name.
void Rank(DiscoveredGroup& group, int priority, const std::string& name) {
  if (!group.first_name.empty() && (priority < group.priority || (priority == group.priority && name >= group.first_name))) return;
  group.priority = priority;
  group.first_name = name;
}

}  // namespace

std::string ApiServiceName(std::string_view group, std::string_view version) {
  return std::string(version) + "." + std::string(group);
}

void ApiServices::Start(Observer observer) {
  observer_ = std::move(observer);
  cache_.Observe(std::string(kPrefix), [this](const cache::WatchEvent& event) {
    Update(std::string(event.key().substr(kPrefix.size())), event.current);
  });
  for (const cache::EntryPtr& entry : cache_.List(kPrefix).entries) {
    Update(std::string(entry->key().substr(kPrefix.size())), entry);
  }
}

void ApiServices::Update(const std::string& name, const cache::EntryPtr& entry) {
  std::shared_ptr<const ApiService> next;
  if (entry) {
    auto document = entry->document();
    if (document) next = std::make_shared<const ApiService>(ReadApiService((*document)->root()));
  }
  auto found = services_.find(name);
  std::shared_ptr<const ApiService> before = found == services_.end() ? nullptr : found->second;
  remotes_ += static_cast<size_t>(next && next->spec.service) - static_cast<size_t>(before && before->spec.service);
  // Only the spec, and whether somebody else answers now, show in discovery.
  if (!before || !next || before->spec != next->spec || before->is_available() != next->is_available()) ++changes_;
  if (next) services_[name] = next;
  else if (before) services_.erase(found);
  observer_(name, next);
}

std::shared_ptr<const ApiService> ApiServices::Find(const std::string& name) const {
  auto found = services_.find(name);
  return found == services_.end() ? nullptr : found->second;
}

const std::vector<DiscoveredGroup>& ApiServices::groups() const {
  if (groups_generation_ != generation()) {
    RebuildGroups();
    groups_generation_ = generation();
  }
  return groups_;
}

void ApiServices::RebuildGroups() const {
  groups_.clear();
  std::map<std::string, size_t, std::less<>> places;
  auto group_of = [&](const std::string& name) -> DiscoveredGroup& {
    auto [place, is_new] = places.emplace(name, groups_.size());
    if (is_new) groups_.push_back(DiscoveredGroup{.group = name});
    return groups_[place->second];
  };
  for (const Resources::GroupVersions& own : resources_.groups()) {
    DiscoveredGroup& group = group_of(own.group);
    for (const std::string& name : own.versions) {
      DiscoveredVersion& version = VersionIn(group, name);
      version.served = true;
      version.priority = VersionPriority(own.group, name);
      std::string service_name = ApiServiceName(own.group, name);
      if (!services_.contains(service_name)) Rank(group, own.group_priority, service_name);
    }
  }
  for (const auto& [name, service] : services_) {
    const ApiServiceSpec& spec = service->spec;
    auto place = places.find(spec.group);
    bool ours = place != places.end() && resources_.HasGroupVersion(spec.group, spec.version);
    // One that this server made for kinds that have just gone will go too.
    if (!ours && !spec.service && !service->managed.empty()) continue;
    DiscoveredGroup& group = group_of(spec.group);
    DiscoveredVersion& version = VersionIn(group, spec.version);
    version.priority = spec.version_priority;
    if (spec.service) {
      version.served = true;
      version.remote = service;
    }
    Rank(group, spec.group_priority, name);
  }
  for (DiscoveredGroup& group : groups_) {
    if (group.group == kFirstGroup) group.priority = kFirstPriority;
    std::ranges::sort(group.versions, [](const DiscoveredVersion& a, const DiscoveredVersion& b) {
      return a.priority != b.priority ? a.priority > b.priority : VersionBefore(a.version, b.version);
    });
  }
  std::ranges::sort(groups_, [](const DiscoveredGroup& a, const DiscoveredGroup& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.group < b.group;
  });
}

std::vector<const DiscoveredGroup*> ApiServices::groups_by_name() const {
  std::vector<const DiscoveredGroup*> sorted;
  for (const DiscoveredGroup& group : groups()) sorted.push_back(&group);
  std::ranges::sort(sorted, [](const DiscoveredGroup* a, const DiscoveredGroup* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->first_name < b->first_name;
  });
  return sorted;
}

}  // namespace homeostat::server
