// What a controller still has to see of its own writes before it may act again.
//
// Expectations: how many of its creations, and which of its deletions, the watch has not shown yet. They end by being seen;
// after kDoubtExpectations they are in doubt.
// OwnWrites: which versions it has written. An informer that has not reached them shows the past: acting on it would do the
// same again, however long it takes. What is in doubt (a write without an answer, an expectation that was not met) is settled
// by asking the server for its version now, and waiting until the informer has reached that: then it shows whatever became
// of the write.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controllers/answers.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/informer.h"

namespace homeostat::controllers {

// What waits for its own writes to be shown is woken by them; it looks again after so long in case that they never are.
inline constexpr Duration kRecheck = std::chrono::seconds(1);
// After so long what is expected is in doubt; who waits for it looks again a moment later.
inline constexpr Duration kDoubtExpectations = std::chrono::minutes(5);
inline constexpr Duration kRecheckExpectations = kDoubtExpectations + std::chrono::seconds(1);

class Expectations {
 public:
  // Beside what is awaited for the key already.
  void Expect(const std::string& key, int creations, std::set<std::string> deletions, MonotonicTime now);
  void CreationSeen(const std::string& key);
  void DeletionSeen(const std::string& key, std::string_view uid);
  // Nothing is awaited any more.
  bool Satisfied(const std::string& key) const;
  // Something has been awaited for too long.
  bool InDoubt(const std::string& key, MonotonicTime now) const;
  void Forget(const std::string& key) { entries_.erase(key); }

 private:
  struct Entry {
    int creations = 0;
    std::set<std::string> deletions;
    MonotonicTime since;
  };
  std::unordered_map<std::string, Entry> entries_;
};

// Loop only.
class OwnWrites {
 public:
  // Of an object that this informer will show, written on behalf of that key.
  void Wrote(const std::string& key, const sdk::Informer& informer, std::string_view version);
  // An informer of that kind must show at least this version before the key is looked at again: an alias, for versions that
  // were read and not written.
  void MustReach(const std::string& key, const sdk::Informer& informer, std::string_view version) { Wrote(key, informer, version); }
  // A write for the key, of what this informer will show, may have been done or not.
  void Doubt(const std::string& key, const sdk::Informer& informer);
  // The answer to such a write, whichever it was.
  template <class T>
  void Note(const std::string& key, const sdk::Informer& informer, const Result<sdk::Object<T>>& answer) {
    if (answer) Wrote(key, informer, (*answer)->metadata().resource_version());
    else if (HadNoAnswer(answer.error())) Doubt(key, informer);
  }
  bool InDoubt(const std::string& key) const;
  // Every informer has reached what was written for the key, and nothing is in doubt.
  bool Seen(const std::string& key);
  // The same, after the server was asked about what is in doubt, in that namespace. Keep the writes and their informers meanwhile.
  Task<Result<bool>> IsUpToDate(std::string key, std::string ns, sdk::Client client);
  void Forget(const std::string& key) { entries_.erase(key); }

 private:
  struct Entry {
    const sdk::Informer* informer;
    std::string version;   // empty: none was told
    bool in_doubt = false;
  };
  Entry& EntryOf(const std::string& key, const sdk::Informer& informer);
  std::unordered_map<std::string, std::vector<Entry>> entries_;
};

}  // namespace homeostat::controllers
