// ApiServices: the stored APIServices by what they are for, and with them the groups that discovery shows: those of this
// server's own kinds and those that extension servers answer for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cache.h"
#include "server/aggregation/api_service.h"
#include "server/resources.h"

namespace homeostat::server {

struct DiscoveredVersion {
  std::string version;
  int priority = 0;
  bool served = false;                       // by this server, or by an extension server
  std::shared_ptr<const ApiService> remote;  // set: an extension server answers
};
struct DiscoveredGroup {
  std::string group;
  int priority = 0;  // the highest that an APIService of the group asks for
  std::vector<DiscoveredVersion> versions;  // the preferred one first
  std::string first_name;  // of the APIService that decides the group's place in lists of the old form
};

// Loop only. Cache and resources must outlive it.
class ApiServices {
 public:
  // Told of each change: the name, and the service, null if it is gone.
  using Observer = std::function<void(const std::string& name, const std::shared_ptr<const ApiService>& now)>;

  ApiServices(cache::Cache& cache, const Resources& resources) : cache_(cache), resources_(resources) {}

  // Reads what is stored and tells the observer, then of what comes. Call once, when the cache is loaded.
  void Start(Observer observer);

  // Null if there is none.
  std::shared_ptr<const ApiService> Find(const std::string& name) const;
  const std::map<std::string, std::shared_ptr<const ApiService>, std::less<>>& all() const { return services_; }
  // True while an extension server answers for some group version.
  bool any_remote() const { return remotes_ > 0; }

  // In the order of aggregated discovery: by priority, then name; apiregistration.k8s.io before all others.
  const std::vector<DiscoveredGroup>& groups() const;
  // In that of the old form, where equal priorities are ordered by the names of APIServices.
  std::vector<const DiscoveredGroup*> groups_by_name() const;
  // Counts up with the resources and with every change here.
  uint64_t generation() const { return resources_.generation() + changes_; }

 private:
  void Update(const std::string& name, const cache::EntryPtr& entry);
  void RebuildGroups() const;

  cache::Cache& cache_;
  const Resources& resources_;
  Observer observer_;
  std::map<std::string, std::shared_ptr<const ApiService>, std::less<>> services_;
  size_t remotes_ = 0;
  uint64_t changes_ = 0;
  mutable std::vector<DiscoveredGroup> groups_;
  mutable uint64_t groups_generation_ = 0;
};

// "v1.apps" for apps and v1, "v1." for the core group.
std::string ApiServiceName(std::string_view group, std::string_view version);

}  // namespace homeostat::server
