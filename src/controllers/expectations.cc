#include "controllers/expectations.h"

#include <algorithm>

namespace homeostat::controllers {

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
  return !Satisfied(key) && now - entries_.at(key).since > kDoubtExpectations;
}

OwnWrites::Entry& OwnWrites::EntryOf(const std::string& key, const sdk::Informer& informer) {
  std::vector<Entry>& entries = entries_[key];
  auto known = std::ranges::find(entries, &informer, &Entry::informer);
  return known != entries.end() ? *known : entries.emplace_back(Entry{&informer, {}});
}

void OwnWrites::Wrote(const std::string& key, const sdk::Informer& informer, std::string_view version) {
  if (sdk::ReachedVersion(informer.resource_version(), version)) return;
  Entry& entry = EntryOf(key, informer);
  if (entry.version.empty() || sdk::ReachedVersion(version, entry.version)) entry.version = version;
}

void OwnWrites::Doubt(const std::string& key, const sdk::Informer& informer) { EntryOf(key, informer).in_doubt = true; }

bool OwnWrites::InDoubt(const std::string& key) const {
  auto found = entries_.find(key);
  return found != entries_.end() && std::ranges::any_of(found->second, &Entry::in_doubt);
}

bool OwnWrites::Seen(const std::string& key) {
  auto found = entries_.find(key);
  if (found == entries_.end()) return true;
  std::erase_if(found->second, [](const Entry& entry) {
    bool reached = entry.version.empty() || sdk::ReachedVersion(entry.informer->resource_version(), entry.version);
    return reached && !entry.in_doubt;
  });
  if (!found->second.empty()) return false;
  entries_.erase(found);
  return true;
}

Task<Result<bool>> OwnWrites::IsUpToDate(std::string key, std::string ns, sdk::Client client) {
  std::vector<const sdk::Informer*> doubted;
  if (auto found = entries_.find(key); found != entries_.end()) {
    for (const Entry& entry : found->second) if (entry.in_doubt) doubted.push_back(entry.informer);
  }
  for (const sdk::Informer* informer : doubted) {
    // What comes into doubt while it is asked about is asked about again.
    EntryOf(key, *informer).in_doubt = false;
    auto ask = NewestVersion(client, informer->kind(), ns);
    Result<std::string> now = co_await ask;
    if (!now) {
      Doubt(key, *informer);
      co_return Fail(now.error());
    }
    MustReach(key, *informer, *now);
  }
  co_return Seen(key);
}

}  // namespace homeostat::controllers
