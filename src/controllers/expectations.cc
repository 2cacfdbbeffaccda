#include "controllers/expectations.h"

#include <algorithm>

namespace homeostat::controllers {
namespace {

constexpr Duration kTimeout = std::chrono::minutes(5);

}  // namespace

void Expectations::Expect(const std::string& key, int creations, std::set<std::string> deletions, MonotonicTime now) {
  Entry& entry = entries_[key];
  entry.creations += creations;
  entry.deletions.merge(deletions);
  entry.since = now;
}

void Expectations::CreationSeen(const std::string& key) {
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.creations > 0) --found->second.creations;
}

void Expectations::DeletionSeen(const std::string& key, std::string_view uid) {
  auto found = entries_.find(key);
  if (found != entries_.end()) found->second.deletions.erase(std::string(uid));
}

bool Expectations::Satisfied(const std::string& key) const {
  auto found = entries_.find(key);
  return found == entries_.end() || (found->second.creations == 0 && found->second.deletions.empty());
}

bool Expectations::InDoubt(const std::string& key, MonotonicTime now) const {
  return !Satisfied(key) && now - entries_.at(key).since > kTimeout;
}

void OwnWrites::Wrote(const std::string& key, const sdk::Informer& informer, std::string_view version) {
  if (sdk::ReachedVersion(informer.resource_version(), version)) return;
  std::vector<Entry>& entries = entries_[key];
  auto known = std::ranges::find(entries, &informer, &Entry::informer);
  if (known == entries.end()) {
    entries.push_back({&informer, std::string(version)});
  } else if (sdk::ReachedVersion(version, known->version)) {
    known->version = version;
  }
}

bool OwnWrites::Seen(const std::string& key) {
  auto found = entries_.find(key);
  if (found == entries_.end()) return true;
  std::erase_if(found->second, [](const Entry& entry) { return sdk::ReachedVersion(entry.informer->resource_version(), entry.version); });
  if (!found->second.empty()) return false;
  entries_.erase(found);
  return true;
}

}  // namespace homeostat::controllers
